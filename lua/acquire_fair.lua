-- Takes a fair lock for an owner who does not hold it yet, or queues him; may be sent again.
-- KEYS: lock, info, latch of this hold, queue, scores, and token if one is to be drawn
-- ARGV: lease (ms), owner, what to tell of him (JSON, or nothing), 1 to draw a fencing token,
--   nothing, channel, wait: how long the owner may keep his place when dead (ms); 0 does not queue him
-- Returns as acquire.lua, and with {0, ...} after marks: place in the queue (0 is the head; -1: not
--   queued; -2: there is more to sweep, ask again at once), after how many ms to ask again.
local lock, info, queue, scores, token = KEYS[1], KEYS[2], KEYS[4], KEYS[5], KEYS[#KEYS]
local owner, channel = ARGV[2], ARGV[6]
local lease, wait = tonumber(ARGV[1]), tonumber(ARGV[7])
if redis.call('exists', KEYS[3]) == 1 then return {2} end
--#include now.lua
--#include info.lua
--#include kind.lua
--#include twin.lua
--#include taking.lua
--#include publish.lua
--#include queue.lua
--#include fence.lua

-- Makes order at an end of the queue (0 or -1): Redisson's script can fail on a member without score.
local function drop_scoreless(at, pop)
  for _ = 1, k_most_dropped do
    local member = redis.call('lindex', queue, at)
    if not member or score_of(member) or as_waiter(known(member)) then return end
    redis.call(pop, queue)
  end
end

-- Removes scores whose owner is not in the queue, and who would wait for ever if he lived. Only
-- those at the ends can do harm, and looking for one takes time.
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

-- Adds to the queue or to the scores. One that is new gets its end in the same step: what follows
-- may fail.
local function add(key, ...)
  local is_new = redis.call('exists', key) == 0
  if is_new then try_to_end(key) end
  local reply = redis.call(...)
  if is_new then redis.call('pexpire', key, k_queue_ttl) end
  return reply
end

-- Puts a waiter back whom somebody else has dropped: before the first who came later.
local function put_back(came)
  local members = redis.call('lrange', queue, 0, 99)
  for i, member in ipairs(members) do
    local entry = as_waiter(known(member))
    if entry and (tonumber(entry.came) or 0) > came then
      redis.call('linsert', queue, 'before', member, owner)
      return i - 1
    end
  end
  return add(queue, 'rpush', queue, owner) - 1
end

-- Returns the owner's place, after queueing him if he was not. `before`: what was told of him as a
-- waiter, or nil.
local function take_place(about, before)
  about.came = string.format('%.0f', time[1] * 1000000 + time[2])
  if before then about.since, about.came = before.since, before.came end
  -- The order of the scores tells from which end to look.
  local rank = redis.call('zrank', scores, owner)
  if rank or before then
    local end_to_start = rank and rank * 2 > redis.call('llen', queue)
    local place = redis.call('lpos', queue, owner, 'rank', end_to_start and -1 or 1)
    if place then return place end
  end
  drop_scoreless(0, 'lpop')
  drop_scoreless(-1, 'rpop')
  if before then return put_back(tonumber(about.came) or 0) end
  return add(queue, 'rpush', queue, owner) - 1
end

-- Returns Redisson's deadline for this place: what is left of the lease, and the waits of all who
-- are before it and of its own.
local function deadline(place)
  local score = now + math.max(redis.call('pttl', lock), 0) + wait
  if place == 0 then return score end
  local near = math.min(place, 100)
  local ahead = redis.call('lrange', queue, 0, near - 1)
  local entries = redis.pcall('hmget', info, unpack(ahead))
  for i = 1, near do score = score + (entries[i] and k_our_wait or k_peer_wait) end
  local theirs = math.max(redis.call('llen', queue) - count_ours(), 0)
  theirs = math.min(theirs, place - near)
  score = score + theirs * k_peer_wait + (place - near - theirs) * k_our_wait
  -- The waiter before may have a longer wait of its own.
  local before = score_of(redis.call('lindex', queue, place - 1))
  if before and before - score < k_far then score = math.max(score, before + wait) end
  return score
end

-- Says that the owner lives. Returns after how many ms he is to ask again: the further back, the
-- later.
local function refresh(about, place)
  local ask_after = math.min(5000 + 10 * place, 30000)
  about.due = now + math.max(wait - 6500, ask_after * 1.2 + 2500)
  if wait ~= k_our_wait then about.wait = wait end
  tell(owner, about, math.max(lease, k_longest_silence))
  add(scores, 'zadd', scores, deadline(place), owner)
  local all_ours = count_ours() >= redis.call('llen', queue)
  for _, key in ipairs({queue, scores}) do
    if all_ours then
      redis.call('pexpire', key, k_queue_ttl)
    else
      redis.call('persist', key)  -- as Redisson knows it
    end
  end
  return ask_after
end

local left = redis.call('pttl', lock)
local is_free = left == -2
local kind = not is_free and other_kind()
if kind then return {3, kind} end
for key, expected in pairs({[queue] = 'list', [scores] = 'zset'}) do
  kind = redis.call('type', key).ok
  if kind ~= 'none' and kind ~= expected then return {3, kind .. ' in place of its queue'} end
end

local me = about_owner('fair')
local before = as_waiter(known(owner))
local head, has_more = nil, false
if is_free then head, has_more = live_head(before and before.due >= now) end
local holds = not is_free and redis.call('hexists', lock, owner) == 1
if (is_free and (head or owner) == owner) or holds then
  extend_lock(left)
  local drawn, refusal = fence(owner, holds, ARGV[4])
  if refusal then return refusal end
  me.token = drawn
  if head == owner then redis.call('lpop', queue) end
  local was_queued = redis.call('zrem', scores, owner) == 1
  redis.pcall('hdel', info, 'called')
  local count, untold = hold(holds, me)
  local last = redis.pcall('hget', info, 'holder')
  if type(last) == 'string' and last ~= owner then redis.pcall('hdel', info, last) end
  if not untold then redis.pcall('hset', info, 'holder', owner) end
  shorten_deadlines(was_queued and wait or 0, 0)
  drop_orphans()
  return {1, count, twin_mark(), drawn or ''}
end
if not is_free then
  redis.pcall('hdel', info, 'called')  -- whoever was called came too late
elseif head and not has_more and not called_at(head) then
  call(head)  -- nobody else has told him
end

local place, ask_after = has_more and -2 or -1, 0
if wait > 0 and not has_more then
  -- Without an entry in the side key, a waiter looks like a service's waiter, whose queue never ends.
  local untold = not before and tell(owner, me, lease)
  if untold and not misused_info() then return untold end
  place = take_place(me, before)
  ask_after = refresh(me, place)
end
local answer, holders_kind = busy()
answer[6] = (holders_kind == 'reentrant' and 1 or 0) + twin_mark()
answer[7], answer[8] = place, ask_after
return answer
