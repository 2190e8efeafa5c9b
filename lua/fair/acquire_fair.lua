-- Takes a fair lock for an owner that does not hold it yet, or queues the owner. May be sent again.
--#key lock
--#key info
--#key latch  of this hold
--#key queue
--#key scores
--#key token?  if fencing is not off
--#arg lease ms
--#arg owner text
--#arg about_json text  a description of the owner, or empty
--#arg fencing off|draw|peek
--#arg channel key
--#arg wait ms  how long a dead owner may stay in the queue; 0: do not queue the owner
-- For its replies see include/taking.lua.
--#include now.lua
--#include twin.lua
-- First the common case: the lock is free, the owner is the head or there is no queue, all waiters are rlock's,
-- and nothing needs repair. Then no other waiter changes.
local is_uncontended = fencing == 'off' and lease >= k_short_lease
is_uncontended = is_uncontended and redis.pcall('exists', latch, lock, twin or latch) == 0
local near = is_uncontended and redis.pcall('lrange', queue, 0, 1) or {err = ''}
if not near.err and (near[1] or owner) == owner then
  -- This finds only names of members: inside a JSON text, a quote has a backslash before it.
  local function number_of(name, text) return text and tonumber(text:match('"' .. name .. '":(%d+)')) end
  local function lives(text) return (number_of('due', text) or 0) >= now end
  local mine, called, last, behind = unpack(redis.pcall('hmget', info, owner, 'called', 'holder', near[2] or ''))
  local length, left = redis.pcall('llen', queue), redis.pcall('pttl', info)
  is_uncontended = type(left) == 'number' and not last and (not near[1] or lives(mine)) and (not near[2] or lives(behind))
  is_uncontended = is_uncontended and (not called or now - (number_of('at', called) or 0) <= k_time_to_come)
  if is_uncontended and redis.pcall('zcard', scores) == length and
     redis.pcall('hlen', info) == length + (called and 1 or 0) then
    redis.call('set', latch, 'entered', 'xx', 'px', lease)  -- as ask_for_memory
    redis.call('pexpire', lock, lease)                      -- as try_to_end, also for the side key
    if not near[1] or redis.call('zrem', scores, owner) == 1 then
      if near[1] then redis.call('lpop', queue) end
      redis.call('hset', lock, owner, 1)
      redis.call('pexpire', lock, lease)
      local kind = 'fair'
      --#include telling.lua
      redis.pcall('hset', info, owner, told, 'holder', owner)
      if left < lease then redis.pcall('pexpire', info, lease) end
      if called then redis.pcall('hdel', info, 'called') end
      return {k_granted, 1, 0, ''}
    end
  end
end

if redis.call('exists', latch) == 1 then return {k_ended} end
--#include info.lua
--#include kind.lua
--#include taking.lua
--#include publish.lua
--#include alone.lua
--#include queue.lua
--#include fence.lua

local k_most_swept = 10  -- dead waiters to drop in one script, because it blocks the server

-- Drops members without a score at one end of the queue (`at`: 0 or -1). Redisson's script can fail on them.
local function drop_scoreless(at, pop)
  for _ = 1, k_most_dropped do
    local member = redis.call('lindex', queue, at)
    if not member or score_of(member) or waiter_entry(known(member)) then return end
    redis.call(pop, queue)
  end
end

-- Removes deadlines without a member in the queue. Looks only at both ends: only there do they do harm, and
-- each look takes time.
local function drop_orphans()
  local length = redis.call('llen', queue)
  if redis.call('zcard', scores) <= length then return end
  if length == 0 then return redis.call('del', scores) end
  for _, command in ipairs({'zrange', 'zrevrange'}) do
    for _, member in ipairs(redis.call(command, scores, 0, 9)) do
      if not redis.call('lpos', queue, member) then redis.call('zrem', scores, member) end
    end
  end
end

-- Runs a command that adds to the queue or to the scores. A new key gets its expiry at once, because a later
-- step may fail.
local function add(key, ...)
  local is_new = redis.call('exists', key) == 0
  if is_new then try_to_end(key) end
  local reply = redis.call(...)
  if is_new then redis.call('pexpire', key, k_queue_ttl) end
  return reply
end

-- Puts the owner back after another client has dropped it: before the first waiter that came later. Returns
-- its position.
local function put_back(came)
  local members = redis.call('lrange', queue, 0, k_near - 1)
  for i, member in ipairs(members) do
    local entry = waiter_entry(known(member))
    if entry and (tonumber(entry.came) or 0) > came then
      redis.call('linsert', queue, 'before', member, owner)
      return i - 1
    end
  end
  return add(queue, 'rpush', queue, owner) - 1
end

-- Returns the position of the owner, or nothing. `came`: when it joined (microseconds), or nil. Searches a long
-- queue from the nearer end.
local function find_place(came)
  local place = redis.call('lpos', queue, owner, 'maxlen', 1000)
  if place then return place end
  local head, tail = known(redis.call('lindex', queue, 0)), known(redis.call('lindex', queue, -1))
  local first, last = head and tonumber(head.came), tail and tonumber(tail.came)
  local is_near_head = came and first and last and came - first < last - came
  return redis.call('lpos', queue, owner, 'rank', is_near_head and 1 or -1)
end

-- Queues the owner if it does not queue yet. Returns its position. `before`: its entry as a waiter, or nil.
local function take_place(about, before)
  about.came = clock()
  if before then about.since, about.came = before.since, before.came end
  if before or score_of(owner) then
    local place = find_place(before and tonumber(before.came))
    if place then return place end
  end
  drop_scoreless(0, 'lpop')
  drop_scoreless(-1, 'rpop')
  if before then return put_back(tonumber(about.came) or 0) end
  return add(queue, 'rpush', queue, owner) - 1
end

-- Looks at the k_near waiters before `place`. Returns the nearest rlock waiter and its entry, or nil, and whether
-- Redisson waiters are before the place, and no living rlock waiter.
local function look_back(place)
  local nearest, entry, has_peers
  local last, size = place - 1, 1
  while last >= 0 and last >= place - k_near do
    local first = math.max(last + 1 - size, 0)
    local members = redis.call('lrange', queue, first, last)
    local entries = redis.pcall('hmget', info, unpack(members))
    for i = #members, 1, -1 do
      local found = waiter_entry(decode(entries[i]))
      if found and not nearest then nearest, entry = members[i], found end
      if found and found.due >= now then return nearest, entry, false end
      has_peers = has_peers or not found
    end
    last, size = first - 1, 10
  end
  return nearest, entry, last < 0 and has_peers
end

-- Returns the moment from which the deadlines of the Redisson waiters directly behind an rlock waiter count.
-- `entry`: its entry. See refresh.
local function tail_of(entry) return tonumber(entry.tail) or tonumber(entry.base) end

-- Returns the sum of the waits (ms) of the Redisson waiters before `place`, and how much of it Redisson's own
-- deadlines show at this moment. `ends`: when the lease ends. `nearest`, `entry`: the nearest rlock waiter before it.
-- `own`, `shown`: the two of the last request; own as Redisson's scripts have changed it since, or nil.
local function sum_ahead(place, ends, nearest, entry, own, shown)
  own = own and math.max(own, 0)
  -- At the head, what is left comes from a Redisson client whose clock is ahead. It would drop earlier deadlines.
  -- Or Redisson has dropped dead waiters: but their deadlines had passed, or almost, and showed nothing of it.
  if place == 0 then
    own = math.min(own or 0, shown)
    if own < k_longest_silence then own = 0 end
    return own, own
  end
  local function plausible(sum)
    return sum <= 2 * k_far + place * k_peer_wait and math.max(sum, 0) or place * k_peer_wait
  end
  local before = redis.call('lindex', queue, place - 1)
  local score = score_of(before) or ends
  if entry and tonumber(entry.base) then
    local its_own = (score_of(nearest) or entry.base) - entry.base
    local sum = plausible(before == nearest and its_own or score - tail_of(entry))
    local ahead = math.min(own or sum, sum)
    return ahead, math.min(ahead, math.max((tonumber(entry.lead) or 0) + sum - its_own, 0))
  end
  local ahead = plausible(own or score - ends)
  local head = redis.call('lindex', queue, 0)
  local first = score_of(head)
  if not entry and place <= k_near and first and first - ends <= k_peer_wait + k_longest_silence then
    -- All waiters before it are Redisson's. The head waits for 300 s at most, or that is unknown. A little more is the
    -- rest of the last lease if the lock is free.
    local most = score - first + k_peer_wait
    ahead = first <= now and listens(head) and math.min(most, place * k_peer_wait) or math.min(ahead, most)
  end
  return ahead, math.min(ahead, plausible(score - now))
end

-- Returns after how many ms the owner must ask again: the further back, the later. While the lock is free, the
-- first rlock waiter asks soon, to see who has taken it. Then it asks less and less often, until the head's
-- time to come ends.
local function time_to_ask(place, is_first, is_free)
  local usual = math.min(k_longest_sleep + 10 * place, 30000)
  local called = is_first and is_free and last_call()
  if not called then return usual end
  local since = now - called.at
  local left = (since <= k_time_to_come and k_time_to_come or k_patience) + 1 - since
  return left > 0 and math.min(math.max(3 * since, 200), left, usual) or usual
end

-- Notes that the owner lives, and sets its deadline. Returns after how many ms it must ask again, and the head
-- that it must overhear (or '').
local function refresh(about, place, before, is_free)
  local length = redis.call('llen', queue)
  local nearest, entry, is_first = look_back(place)
  local ask_after = time_to_ask(place, is_first, is_free)
  local until_due = math.max(math.ceil(ask_after * 1.2) + 2500, k_our_wait - 6500)
  about.due = now + math.max(wait - 6500, until_due)
  if wait ~= k_our_wait then about.wait = wait end
  local ends = now + math.max(redis.call('pttl', lock), 0)
  about.base = math.max(ends, now + until_due)
  -- The deadlines before it still count from the end of the last lease.
  if is_free and before and tonumber(before.base) then about.base = math.max(about.base, before.base) end
  local score, had = score_of(owner), before and tonumber(before.base)
  local own = score and had and score - had or nil
  local ahead, shown = sum_ahead(place, ends, nearest, entry, own, before and tonumber(before.lead) or 0)
  if shown > 0 then about.lead = shown end
  -- The Redisson waiters directly behind it count from the base that it had when the first of them came, less what
  -- it has since found to be too much in its sum.
  if place < length - 1 then about.tail = own and tail_of(before) + own - ahead or entry and tail_of(entry) or nil end
  tell(owner, about, math.max(lease, k_longest_silence))
  add(scores, 'zadd', scores, about.base + ahead, owner)
  -- A new Redisson waiter waits until the last deadline, and forever if that has passed: that of a dead rlock waiter.
  if place < length - 1 then
    local last = redis.call('lindex', queue, -1)
    local its_own = waiter_entry(known(last)) and score_of(last)
    local least = now + until_due + ahead
    if its_own and its_own < least then redis.call('zadd', scores, least, last) end
  end
  set_queue_end(count_ours() >= length)
  return ask_after, is_first and redis.call('lindex', queue, 0) or ''
end

local left = redis.call('pttl', lock)
local is_free = left == -2
local kind = not is_free and other_kind()
if kind then return {k_in_use, kind} end
for key, expected in pairs({[queue] = 'list', [scores] = 'zset'}) do
  kind = redis.call('type', key).ok
  if kind ~= 'none' and kind ~= expected then return {k_in_use, kind .. ' in place of its queue'} end
end

local me = about_owner('fair')
local before = waiter_entry(known(owner))
local head, has_more = nil, false
-- A time too far ahead proves nothing: the clock was set back.
local in_time = before and before.due >= now and before.due - now <= math.max(wait, k_longest_silence)
if is_free then head, has_more = live_head(in_time, k_most_swept, before and tonumber(before.base)) end
local holds = not is_free and redis.call('hexists', lock, owner) == 1
if (is_free and (head or owner) == owner) or holds then
  extend_lock(left)
  local drawn, refusal = fence(owner, holds, fencing)
  if refusal then return refusal end
  me.token = drawn
  if head == owner then redis.call('lpop', queue) end
  redis.call('zrem', scores, owner)
  redis.pcall('hdel', info, 'called')
  local count, untold = become_holder(holds, me)
  local last = redis.pcall('hget', info, 'holder')
  if type(last) == 'string' and last ~= owner then redis.pcall('hdel', info, last) end
  if not untold then redis.pcall('hset', info, 'holder', owner) end
  tidy_up()
  if head == owner then tell_next(lease, 0) end
  drop_orphans()
  return {k_granted, count, twin_mark(), drawn or ''}
end
if not is_free then
  redis.pcall('hdel', info, 'called')  -- the called waiter came too late
elseif head and not has_more and not was_called(head) then
  call(head)  -- nobody else has called it
end

local place, ask_after, overheard = has_more and -2 or -1, 0, ''
if wait > 0 and not has_more then
  -- A waiter without an entry in the side key looks like a Redisson waiter, and its queue would get no expiry.
  -- If the owner came too late, live_head has just deleted its entry.
  local is_told = before and (not is_free or redis.pcall('hexists', info, owner) == 1)
  -- If the owner was the last holder, its entry would not count as a waiter's.
  if not is_told and redis.pcall('hget', info, 'holder') == owner then redis.pcall('hdel', info, 'holder') end
  local untold = not is_told and tell(owner, me, lease)
  if untold and not misused_info() then return untold end
  place = take_place(me, before)
  ask_after, overheard = refresh(me, place, before, is_free)
end
--#include replica.lua
if refusal then return refusal end
local answer, holders_kind = busy_hash()
answer[k_busy_marks], answer[k_busy_waiters] = (holders_kind == 'reentrant' and 1 or 0) + twin_mark(), 0
answer[k_busy_place], answer[k_busy_ask_after], answer[k_busy_overheard] = place, ask_after, overheard
return answer
