-- The queue of a fair lock, in Redisson's layout: a list of owners, and a sorted set with a deadline
-- for each. Needs the locals lock, channel, queue, scores and now (ms), include/info.lua,
-- include/publish.lua and include/alone.lua.
--
-- Redisson drops a head whose deadline has passed. rlock drops a head only while the lock is free, and only
-- if the head is dead:
-- - An rlock waiter is dead when it has not asked again by its `due` time in info, or was called and did not
--   come.
-- - A Redisson waiter on whose channel nobody listens is dead when its deadline has passed or is far ahead, or
--   when it was called and did not come.
-- - A Redisson waiter on whose channel somebody listens is dead when it was called and did not come, and its
--   deadline has passed or k_patience is over.
-- - A Redisson waiter without a deadline is dead.
-- When a called head did not come, the Redisson waiters directly behind it go, too, if nobody listened on their
-- channels at the time of that call.
--
-- Redisson's arithmetic: a waiter adds its wait to the deadline of the waiter before it. Each of Redisson's scripts
-- that takes a waiter away subtracts its wait from the deadlines behind it, rlock's too. The deadline of an rlock
-- waiter is the sum of:
--   base   the end of the lease, or its `due` time if that is later. Each request sets it anew.
--   ahead  the waits of all Redisson waiters before it. It is the deadline less the base: Redisson's scripts keep it
--          up to date, and no request has to count.
-- So an rlock waiter adds nothing to the deadlines behind it, and its coming and going changes none.

local k_patience = 15000         -- for a called waiter with a listener: its thread may be dead all the same
local k_most_dropped = 100000    -- in one script
local k_queue_ttl = 300000       -- if all waiters are rlock's, because they extend it
local k_least_wait = 1000        -- of a Redisson waiter: what is taken from its deadline leaves this and the lease
local k_most_shortened = 500     -- deadlines to change in one script, because it blocks the server

local function is_list() return redis.call('type', queue).ok == 'list' end

local function score_of(waiter)
  local score = redis.pcall('zscore', scores, waiter)
  return type(score) == 'string' and tonumber(score) or nil
end

-- Returns the waiters on whose channels somebody listens, as a set.
local function listening(waiters)
  local channels, set = {}, {}
  for i, waiter in ipairs(waiters) do channels[i] = channel .. ':' .. waiter end
  for _, command in ipairs({'numsub', 'shardnumsub'}) do
    local reply = redis.pcall('pubsub', command, unpack(channels))
    for i = 2, reply.err and 0 or #reply, 2 do
      if reply[i] > 0 then set[waiters[i / 2]] = true end
    end
  end
  return set
end

local function listens(waiter) return listening({waiter})[waiter] or false end

-- Returns the last call, or nil: the called owner, the time, and the deaf waiters (a set, see deaf_from). A call in
-- the future proves nothing: the clock was set back since.
local function last_call()
  local called = known('called')
  local at = called and tonumber(called.at)
  if not at or at > now then return nil end
  local deaf = {}
  for _, waiter in ipairs(type(called.deaf) == 'table' and called.deaf or {}) do deaf[waiter] = true end
  return {owner = called.owner, at = at, deaf = deaf}
end

-- Returns whether this waiter was the last to be called.
local function was_called(waiter)
  local called = last_call()
  return called ~= nil and called.owner == waiter
end

-- Returns whether a waiter is dead. After an outage, all rlock waiters are late, and come one after the other.
-- So only a waiter that was itself in time (`in_time`) may judge others by `due`. `base`: the moment from
-- which the deadline counts.
local function is_dead(waiter, score, text, in_time, called, base)
  local since = called and now - called.at or 0
  local is_late = since > (in_time and k_time_to_come or k_longest_silence)
  local stays_away = is_late and called.owner == waiter
  local entry = waiter_entry(decode(text))
  if entry then return stays_away or in_time and now > entry.due end
  score = score and tonumber(score)
  if not score then return true end
  if listens(waiter) then return stays_away and (score <= now or since > k_patience) end
  return stays_away or is_late and called.deaf[waiter] or score <= now or score - base > 2 * k_far
end

local function forget(waiter)
  if was_called(waiter) then redis.pcall('hdel', info, 'called') end
  redis.pcall('hdel', info, waiter)
end

-- Returns how many waiters are rlock's: all entries of info, without the holder, and without the last holder
-- of a fair lock, which may have been killed.
local function count_ours()
  local all = redis.pcall('hlen', info)
  if type(all) ~= 'number' then return 0 end
  local count = all - redis.call('hexists', info, 'called')
  local last = redis.call('hget', info, 'holder')
  if last then count = count - 1 - redis.call('hexists', info, last) end
  if redis.call('type', lock).ok == 'hash' and redis.call('hlen', lock) == 1 then
    local holder = redis.call('hkeys', lock)[1]
    if holder ~= last then count = count - redis.call('hexists', info, holder) end
  end
  return count
end

-- Sets the expiry of queue and deadlines. If all waiters are rlock's, it is short, because these waiters extend it.
-- Redisson waiters do not, so then it is far longer than any real wait. A waiter without an entry in info may also be
-- a dead rlock waiter whose entry was evicted.
local function set_queue_end(all_ours)
  for _, key in ipairs({queue, scores}) do
    redis.pcall('pexpire', key, all_ours and k_queue_ttl or k_idle)
  end
end

-- Takes `by` (ms) from the deadlines from position `first` (0: the head) on, as Redisson does when a waiter gives up,
-- but leaves each the lease.
local function shorten_deadlines(by, first)
  local members = by > 0 and is_list() and redis.call('lrange', queue, first, first + k_most_shortened - 1) or {}
  local left = redis.pcall('pttl', lock)
  local least = now + k_least_wait + (type(left) == 'number' and math.max(left, 0) or 0)
  for _, member in ipairs(members) do
    local score = score_of(member)
    if score and score > least then redis.call('zincrby', scores, math.max(-by, least - score), member) end
  end
end

-- Call it when a waiter is gone: sets the expiry of queue and deadlines, and removes dead entries from info.
local function tidy_up()
  local ours, length = count_ours(), is_list() and redis.call('llen', queue) or 0
  if ours == length then return end
  if ours < length then return set_queue_end(false) end
  local present = {}
  for _, member in ipairs(length > 0 and redis.call('lrange', queue, 0, -1) or {}) do present[member] = true end
  -- Delete entries of killed holders, and of dead waiters that others dropped. A living one comes back.
  for _, field in ipairs(redis.call('hkeys', info)) do
    if not present[field] and field ~= 'holder' and redis.call('hexists', lock, field) == 0 then
      local entry = waiter_entry(known(field))
      if not entry or entry.due < now then redis.call('hdel', info, field) end
    end
  end
  set_queue_end(count_ours() >= length)
end

-- Returns how long (ms) a dead rlock waiter with this `entry` (or nil) may keep its place.
local function wait_of(entry) return entry and tonumber(entry.wait) or k_our_wait end

-- Drops dead heads. Returns the first living waiter, or nil, and whether more dead waiters may be left, because
-- about `most` were dropped. The lock must be free. If the user is not allowed to read the queue, there is none.
-- `base`: of the deadlines behind, if known.
local function live_head(in_time, most, base)
  most = most or k_most_dropped
  if not is_list() then return nil, false end
  local called = last_call()
  local dropped, size, last = 0, 1, now
  while true do
    local heads = redis.pcall('lrange', queue, 0, size - 1)
    if heads.err then return nil, false end
    if #heads == 0 then
      redis.pcall('del', scores)
      redis.pcall('hdel', info, 'called')
      return nil, false
    end
    local found = redis.pcall('zmscore', scores, unpack(heads))
    local entries = redis.pcall('hmget', info, unpack(heads))
    if found.err then return heads[1], false end
    local dead = 0
    for i, head in ipairs(heads) do
      if not is_dead(head, found[i], entries[i], in_time, called, last) then break end
      dead = i
      if not entries[i] then last = math.max(found[i] and tonumber(found[i]) or now, now) end
    end
    if dead > 0 then
      -- A user that is not allowed to drop dead waiters waits behind them, until another client drops them.
      if redis.pcall('ltrim', queue, dead, -1).err then return heads[1], false end
      -- The last call stays, because its deaf waiters may be next. Whoever lives at the head is called anew.
      for i = 1, dead do
        if entries[i] then redis.pcall('hdel', info, heads[i]) end
      end
      redis.pcall('zrem', scores, unpack(heads, 1, dead))
      local left = redis.pcall('llen', queue)
      set_queue_end(type(left) == 'number' and count_ours() >= left)
    end
    dropped = dropped + dead
    local lives = heads[dead + 1]
    if lives or dropped >= most and is_list() then
      -- The deadlines behind count from the deadline of the last Redisson waiter that was dropped.
      if last > now and base then shorten_deadlines(last - base, 0) end
      return lives or redis.pcall('lindex', queue, 0) or nil, not lives
    end
    size = math.min(size * 10, k_most_at_once, most)
  end
end

-- Returns the deaf waiters: those near the head on whose channels nobody listens. Returns nil if the head is
-- not one of them, or if this server does not see all listeners, or the user is not allowed to ask.
local function deaf_from(head)
  if listens(head) or not sees_all() then return nil end
  local near, deaf = redis.pcall('lrange', queue, 0, k_near - 1), {}
  if near.err or #near == 0 then return nil end
  local set = listening(near)
  for _, waiter in ipairs(near) do
    if not set[waiter] then deaf[#deaf + 1] = waiter end
  end
  return deaf
end

-- Calls a waiter: tells it that the lock is free, and notes that.
local function call(waiter)
  tell('called', {owner = waiter, at = now, deaf = deaf_from(waiter)}, k_longest_silence)
  publish(channel .. ':' .. waiter, '0')
end

-- Calls the head if the lock is free, because the head may have missed its call. Its remaining time to come goes on.
local function call_head()
  local head = redis.call('exists', lock) == 0 and is_list() and redis.call('lindex', queue, 0)
  if not head then return end
  if was_called(head) then publish(channel .. ':' .. head, '0') else call(head) end
end

-- The lock has just become free: calls the head of the queue, and tells the plain waiters.
local function wake()
  local head = live_head(false)
  if head then call(head) end
  publish(channel, '0')
end

-- Call it when the queue has moved up from position `first` (0: the head) on, while the lock is held for `left`
-- ms more. The new head must hear of a lease that ends soon. The first rlock waiter behind Redisson waiters
-- must hear that it is the first: nobody tells it when one of them takes the lock.
local function tell_next(left, first)
  local near = redis.pcall('lrange', queue, 0, 9)
  if near.err or #near == 0 then return end
  local entries = redis.pcall('hmget', info, unpack(near))
  if first == 0 and left >= 0 and left < k_short_lease then publish(channel .. ':' .. near[1], '0') end
  for i = 1, waiter_entry(decode(entries[1])) and 0 or #near do
    if entries[i] then
      if i > first then publish(channel .. ':' .. near[i], '0') end
      return
    end
  end
end

-- Removes a waiter from the queue. `wait` (ms): what it had added to the deadlines behind it.
local function leave(waiter, wait)
  local place = is_list() and redis.call('lpos', queue, waiter)
  if place then redis.call('lrem', queue, 0, waiter) end
  local was_queued = redis.pcall('zrem', scores, waiter) == 1
  forget(waiter)
  if place and was_queued then
    shorten_deadlines(wait, place)
    tidy_up()
  end
  local left = redis.call('pttl', lock)
  if left ~= -2 then
    if place then tell_next(left, place) end
    return
  end
  local head = live_head(false)
  if head and not was_called(head) then call(head) end
end
