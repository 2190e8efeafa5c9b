-- The queue of a fair lock, in Redisson's layout: a list of owners, and a sorted set with a deadline
-- for each. Needs the locals lock, channel, queue, scores and now (ms), and include/info.lua.
--
-- Redisson drops whoever is at the head with a deadline that has passed. Here the head is dropped
-- only while the lock is free, and only if it is dead: a waiter of rlock's is when it has not asked
-- again by the time that it said (`due` in info); another when its deadline has passed and nobody
-- listens on its channel; and each when it was called and did not come.

local k_peer_wait = 300000  -- what each of Redisson's waiters adds to the deadlines behind it
local k_far = 3600000       -- no deadline of a head is so far ahead, unless a clock was wrong
local k_time_to_come = 8000
local k_longest_silence = 60000  -- of rlock's waiters, at least
local k_most_dropped = 10000  -- in one script
local k_queue_ttl = 300000    -- where all waiters are rlock's, who extend it

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

local function is_dead(waiter)
  local at = called_at(waiter)
  local stays_away = at and now - at > k_time_to_come
  local entry = known(waiter)
  if entry and tonumber(entry.due) then return stays_away or now > tonumber(entry.due) end
  local score = score_of(waiter)
  if not score then return true end
  if listens(waiter) then return stays_away and score <= now end
  return stays_away or score <= now or score - now > k_far
end

-- Returns the first waiter that lives, or nil, and whether there was too much to sweep. The lock
-- must be free.
local function live_head()
  if not is_list() then return nil, false end
  for _ = 1, k_most_dropped do
    local head = redis.call('lindex', queue, 0)
    if not head then
      redis.pcall('del', scores)
      return nil, false
    end
    if not is_dead(head) then return head, false end
    redis.call('lpop', queue)
    redis.pcall('zrem', scores, head)
    redis.pcall('hdel', info, head)
  end
  return redis.call('lindex', queue, 0) or nil, true
end

-- Tells a waiter that the lock is free.
local function call(waiter)
  tell('called', {owner = waiter, at = now}, k_longest_silence)
  redis.pcall('publish', channel .. ':' .. waiter, '0')
end

-- Wakes who is waiting for a lock that has just become free: the head of the queue, and a plain
-- waiter.
local function wake()
  local head = live_head()
  if head then call(head) end
  redis.pcall('publish', channel, '0')
end

-- Returns how many waiters are rlock's: all that info tells of, except the holder.
local function count_ours()
  local all = redis.pcall('hlen', info)
  if type(all) ~= 'number' then return 0 end
  local count = all - redis.call('hexists', info, 'called')
  if redis.call('type', lock).ok == 'hash' and redis.call('hlen', lock) == 1 then
    count = count - redis.call('hexists', info, redis.call('hkeys', lock)[1])
  end
  return count
end

-- The waiters from `first` (0 is the head) on no longer have a waiter of ours before them, who had
-- added `wait` (ms) to their deadlines. Ours refresh theirs themselves, so that nothing has to be
-- done where all are ours.
local function shorten_deadlines(wait, first)
  local ours = count_ours()
  if not is_list() or ours == redis.call('llen', queue) then return end
  local members = redis.call('lrange', queue, 0, -1)
  local present = {}
  for from = 1, #members, 1000 do
    local some = {unpack(members, from, math.min(from + 999, #members))}
    local entries = redis.pcall('hmget', info, unpack(some))
    for i, member in ipairs(some) do
      local is_ours = not entries.err and entries[i]
      present[member] = true
      if not is_ours and from + i - 2 >= first and score_of(member) then
        redis.call('zincrby', scores, -wait, member)
      end
    end
  end
  if ours > #members then  -- some were dropped by others
    for _, field in ipairs(redis.call('hkeys', info)) do
      if not present[field] and redis.call('hexists', lock, field) == 0 then
        redis.call('hdel', info, field)
      end
    end
  end
end

-- Takes a waiter of ours out of the queue.
local function leave(waiter, wait)
  if is_list() then
    local place = redis.call('lpos', queue, waiter)
    redis.call('lrem', queue, 0, waiter)
    redis.pcall('hdel', info, waiter)
    if place and score_of(waiter) then shorten_deadlines(wait, place) end
  else
    redis.pcall('hdel', info, waiter)
  end
  redis.pcall('zrem', scores, waiter)
end
