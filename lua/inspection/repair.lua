-- Removes what is provably garbage around a lock, or only looks for it; may be sent again.
--#key lock
--#key channel
--#key info
--#key queue
--#key scores
--#keys latches  that were seen without an expiry
--#arg task look|repair
--#arg permits key  of a semaphore
--#arg semaphore_channel key
-- Returns {what, how many, the first of them} for each sort of garbage that it has found:
--   "dead_waiter", "member_without_score", "score_without_member"; "leaked_latch" and
--   "lasting_info", which get an expiry; "ended_permit", which is given back.
local repairs = task == 'repair'
--#include now.lua
--#include info.lua
--#include publish.lua
--#include alone.lua
--#include queue.lua

local k_time_to_forget = 60000  -- no request is under way for so long
local k_most_inside = 1000      -- that are taken from between others: that takes time

local fixes, sorts = {}, {}
local function note(what, subject)
  if not sorts[what] then
    sorts[what] = {what, 0, subject}
    fixes[#fixes + 1] = sorts[what]
  end
  sorts[what][2] = sorts[what][2] + 1
end

-- Returns why this waiter is garbage, or nil. Redisson's own rule for others than ours is that the
-- deadline has passed. Whoever listens lives all the same: after an outage all of ours are late, and
-- a server that has evicted the deadlines has left nobody one.
local elsewhere  -- somebody may listen where this server cannot see it
local function garbage(waiter, score, text)
  local entry = as_waiter(decode(text))
  local late = entry and now - entry.due > k_longest_silence
  if entry then return late and not listens(waiter) and 'dead_waiter' or nil end
  score = score and tonumber(score)
  if score and score > now or listens(waiter) then return nil end
  if not score then return 'member_without_score' end
  if elsewhere == nil then
    elsewhere = redis.pcall('pubsub', 'numsub', channel).err or not is_alone()
  end
  if elsewhere and now - score < k_peer_wait then return nil end
  return 'dead_waiter'
end

-- What is at the head goes in one step, what is further inside one by one.
local stays, heads, inside = {}, 0, {}
local function look_at(members)
  local found = redis.pcall('zmscore', scores, unpack(members))
  local entries = redis.pcall('hmget', info, unpack(members))
  if found.err or entries.err then return false end
  for i, member in ipairs(members) do
    local what = not stays[member] and garbage(member, found[i], entries[i])
    if not what then
      stays[member] = true
    else
      note(what, member)
      if next(stays) then inside[#inside + 1] = member else heads = heads + 1 end
      if repairs then forget(member) end
    end
    if #inside == k_most_inside then return false end
  end
  return true
end

local members = is_list() and redis.call('lrange', queue, 0, -1) or {}
for from = 1, #members, 1000 do
  if not look_at({unpack(members, from, math.min(from + 999, #members))}) then break end
end
if repairs and heads > 0 then
  redis.call('ltrim', queue, heads, -1)
  for from = 1, heads, 1000 do
    redis.pcall('zrem', scores, unpack(members, from, math.min(from + 999, heads)))
  end
end
if repairs then
  for _, member in ipairs(inside) do
    redis.call('lrem', queue, 0, member)
    redis.pcall('zrem', scores, member)
  end
end

local queued = {}
for _, member in ipairs(members) do queued[member] = true end
local is_zset = redis.call('type', scores).ok == 'zset'
for _, member in ipairs(is_zset and redis.call('zrange', scores, 0, -1) or {}) do
  if not queued[member] then
    note('score_without_member', member)
    if repairs then redis.call('zrem', scores, member) end
  end
end

-- Gives the permits of a semaphore back that have ended.
local function mend_semaphore(channel)
--#include twin.lua
--#include semaphore.lua
  if redis.pcall('type', permits).ok ~= 'zset' or other_use() then return end
  for _, permit in ipairs(redis.call('zrange', permits, '-inf', now, 'byscore')) do
    note('ended_permit', shown(permit))
  end
  if repairs and sorts['ended_permit'] then
    take_back_expired()
    settle()
  end
end
mend_semaphore(semaphore_channel)

local function end_lasting(what, key, expected)
  if redis.call('pttl', key) == -1 and redis.call('type', key).ok == expected then
    note(what, key)
    if repairs then redis.call('pexpire', key, k_time_to_forget) end
  end
end
end_lasting('lasting_info', info, 'hash')
for _, latch in ipairs(latches) do end_lasting('leaked_latch', latch, 'string') end

-- Whoever is first now may have missed his call; the time that he has left to come goes on.
if repairs and #fixes > 0 and redis.call('exists', lock) == 0 and is_list() then
  local head = redis.call('lindex', queue, 0)
  if head and was_called(head) then
    publish(channel .. ':' .. head, '0')
  elseif head then
    call(head)
  end
end
return fixes
