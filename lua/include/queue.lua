-- The queue of a fair lock, in Redisson's layout: a list of owners, and a sorted set with a deadline
-- for each. Needs the locals lock, channel, queue, scores and now (ms), include/info.lua and
-- include/publish.lua.
--
-- Redisson drops whoever is at the head with a deadline that has passed. Here the head is dropped
-- only while the lock is free, and only if it is dead: a waiter of rlock's is when it has not asked
-- again by the time that it said (`due` in info); another when its deadline has passed and nobody
-- listens on its channel; and each when it was called and did not come.

local k_our_wait = 15000    -- what a waiter of rlock's adds to the deadlines behind it
local k_peer_wait = 300000  -- and one of Redisson's
local k_far = 3600000       -- no deadline of a head is so far ahead, unless a clock was wrong
local k_time_to_come = 8000
local k_patience = 15000         -- with one that listens: a thread may have left its subscription
local k_longest_silence = 60000  -- of rlock's waiters, at least
local k_most_dropped = 100000    -- in one script
local k_queue_ttl = 300000       -- where all waiters are rlock's, who extend it

local function is_list() return redis.call('type', queue).ok == 'list' end

local function score_of(waiter)
  local score = redis.pcall('zscore', scores, waiter)
  return type(score) == 'string' and tonumber(score) or nil
end

local function listens(waiter)
  for _, command in ipairs({'numsub', 'shardnumsub'}) do
    local reply = redis.pcall('pubsub', command, channel .. ':' .. waiter)
    if not reply.err and reply[2] > 0 then return true end
  end
  return false
end

-- Returns when this waiter was told that the lock is free, or nil.
local function called_at(waiter)
  local called = known('called')
  return called and called.owner == waiter and tonumber(called.at) or nil
end

-- Returns whether a waiter is dead. After an outage all of rlock's are late, and come one after the
-- other: only who was in time himself (`in_time`) may judge by that.
local function is_dead(waiter, score, text, in_time)
  local at = called_at(waiter)
  local stays_away = at and now - at > (in_time and k_time_to_come or k_longest_silence)
  local entry = as_waiter(decode(text))
  if entry then return stays_away or in_time and now > entry.due end
  score = score and tonumber(score)
  if not score then return true end
  if listens(waiter) then return stays_away and (score <= now or now - at > k_patience) end
  return stays_away or score <= now or score - now > k_far
end

local function forget(waiter)
  if called_at(waiter) then redis.pcall('hdel', info, 'called') end
  redis.pcall('hdel', info, waiter)
end

-- Returns the first waiter that lives, or nil, and whether there was too much to sweep. The lock
-- must be free. Without the right to look, there is no queue.
local function live_head(in_time)
  if not is_list() then return nil, false end
  local dropped, size = 0, 1
  while dropped < k_most_dropped do
    local heads = redis.pcall('lrange', queue, 0, size - 1)
    if heads.err then return nil, false end
    if #heads == 0 then
      redis.pcall('del', scores)
      return nil, false
    end
    local found = redis.pcall('zmscore', scores, unpack(heads))
    local entries = redis.pcall('hmget', info, unpack(heads))
    if found.err then return heads[1], false end
    local dead = 0
    for i, head in ipairs(heads) do
      if not is_dead(head, found[i], entries[i], in_time) then break end
      dead = i
      if entries[i] then forget(head) end
    end
    if dead > 0 then
      redis.pcall('ltrim', queue, dead, -1)
      redis.pcall('zrem', scores, unpack(heads, 1, dead))
      redis.pcall('persist', queue)  -- Redisson's may be all that are left
      redis.pcall('persist', scores)
    end
    if dead < #heads then return heads[dead + 1], false end
    dropped = dropped + dead
    size = math.min(size * 10, 1000)
  end
  return redis.pcall('lindex', queue, 0) or nil, true
end

-- Tells a waiter that the lock is free.
local function call(waiter)
  tell('called', {owner = waiter, at = now}, k_longest_silence)
  publish(channel .. ':' .. waiter, '0')
end

-- Wakes who is waiting for a lock that has just become free: the head of the queue, and a plain
-- waiter.
local function wake()
  local head = live_head(false)
  if head then call(head) end
  publish(channel, '0')
end

-- Returns how many waiters are rlock's: all that info tells of, except the holder, and the last
-- holder of a fair lock, who may have been killed.
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

-- The waiters from `first` (0 is the head) on no longer have a waiter of ours before them, who had
-- added `wait` (ms) to their deadlines. Ours refresh theirs themselves, so that nothing has to be
-- done where all are ours. Makes order in info.
local function shorten_deadlines(wait, first)
  local ours = count_ours()
  local members = {}
  if is_list() then
    if ours == redis.call('llen', queue) then return end
    members = redis.call('lrange', queue, 0, -1)
  elseif ours == 0 then
    return
  end
  local present = {}
  for from = 1, #members, 1000 do
    local some = {unpack(members, from, math.min(from + 999, #members))}
    local entries = redis.pcall('hmget', info, unpack(some))
    for i, member in ipairs(some) do
      present[member] = true
      if not entries[i] and from + i - 2 >= first and wait > 0 and score_of(member) then
        redis.call('zincrby', scores, -wait, member)
      end
    end
  end
  redis.pcall('persist', queue)  -- as Redisson's waiters know it
  redis.pcall('persist', scores)
  if ours <= #members then return end
  -- Holders that were killed, and waiters that others dropped; of these, who lives comes back.
  for _, field in ipairs(redis.call('hkeys', info)) do
    if not present[field] and field ~= 'holder' and redis.call('hexists', lock, field) == 0 then
      local entry = as_waiter(known(field))
      if not entry or entry.due < now then redis.call('hdel', info, field) end
    end
  end
end

-- Takes a waiter of ours out of the queue.
local function leave(waiter, wait)
  local place = is_list() and redis.call('lpos', queue, waiter)
  if place then redis.call('lrem', queue, 0, waiter) end
  local was_queued = redis.pcall('zrem', scores, waiter) == 1
  forget(waiter)
  if place and was_queued then shorten_deadlines(wait, place) end
  if redis.call('exists', lock) == 1 then return end
  local head = live_head(false)
  if head and not called_at(head) then call(head) end
end
