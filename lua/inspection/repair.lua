-- Removes what is provably garbage around a lock, or only looks for it. May be sent again.
--#key lock
--#key channel
--#key info
--#key queue
--#key scores
--#keys latches  that had no expiry
--#arg task look|repair
--#arg token key  the counter; the user may have no right to it
--#arg permits key  of a semaphore
--#arg semaphore_channel key
--#parts code count first
-- Returns these parts for each sort of garbage: its code, how many there are, the first of them. It removes
-- dead_waiter, member_without_score and score_without_member. It sets an expiry for leaked_latch and lasting_info. It
-- gives ended_permit back. For bad_token, token_too_high and token_behind, it sets the counter of tokens to the highest
-- token of a holder, or to the server's clock if there is none.
local repairs = task == 'repair'
--#include now.lua
--#include info.lua
--#include publish.lua
--#include alone.lua
--#include queue.lua
--#include token_counter.lua

local k_time_to_forget = 60000  -- longer than any request is under way
local k_most_inside = 1000      -- waiters to remove from between others, because each takes time

local fixes, sorts = {}, {}
local function note_fix(what, subject)
  if not sorts[what] then
    sorts[what] = {what, 0, subject}
    fixes[#fixes + 1] = sorts[what]
  end
  sorts[what][2] = sorts[what][2] + 1
end

-- Returns why this waiter is garbage, or nil. By Redisson's rule, a Redisson waiter is dead when its deadline has
-- passed. But a listening waiter is alive. After an outage every rlock waiter is late, and after the clock was set
-- back it is too early. A server that evicted the deadlines has left no waiter a deadline.
local function garbage(waiter, score, text)
  local entry = waiter_entry(decode(text))
  if entry then
    local left = entry.due - now
    local is_late = left < -k_longest_silence or left > math.max(wait_of(entry), k_longest_silence)
    return is_late and not listens(waiter) and 'dead_waiter' or nil
  end
  score = score and tonumber(score)
  if score and score > now or listens(waiter) then return nil end
  if not score then return 'member_without_score' end
  if now - score < k_peer_wait and not sees_all() then return nil end
  return 'dead_waiter'
end

-- Garbage at the head goes in one step, garbage further back one by one.
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
      note_fix(what, member)
      if next(stays) then inside[#inside + 1] = member else heads = heads + 1 end
      if repairs then forget(member) end
    end
    if #inside == k_most_inside then return false end
  end
  return true
end

local members = is_list() and redis.call('lrange', queue, 0, -1) or {}
for from = 1, #members, k_most_at_once do
  if not look_at({unpack(members, from, math.min(from + k_most_at_once - 1, #members))}) then break end
end
if repairs and heads > 0 then
  redis.call('ltrim', queue, heads, -1)
  for from = 1, heads, k_most_at_once do
    redis.pcall('zrem', scores, unpack(members, from, math.min(from + k_most_at_once - 1, heads)))
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
    note_fix('score_without_member', member)
    if repairs then redis.call('zrem', scores, member) end
  end
end

-- Makes ended permits of a semaphore available again.
local function mend_semaphore(channel)
--#include twin.lua
--#include semaphore.lua
  if redis.pcall('type', permits).ok ~= 'zset' or other_use() then return end
  for _, permit in ipairs(redis.call('zrange', permits, '-inf', now, 'byscore')) do
    note_fix('ended_permit', shown(permit))
  end
  if repairs and sorts['ended_permit'] then
    take_back_expired()
    settle()
  end
end
mend_semaphore(semaphore_channel)

local function end_lasting(what, key, expected)
  if redis.call('pttl', key) == -1 and redis.call('type', key).ok == expected then
    note_fix(what, key)
    if repairs then redis.call('pexpire', key, k_time_to_forget) end
  end
end
end_lasting('lasting_info', info, 'hash')
for _, latch in ipairs(latches) do end_lasting('leaked_latch', latch, 'string') end

-- Returns the highest token of a holder, or nil.
local function highest_held()
  local kind = redis.call('type', lock).ok
  local count = kind == 'hash' and redis.call('hlen', lock) or 0
  local owners = kind == 'string' and {redis.call('get', lock)} or
                 count > 0 and count <= k_most_holders and redis.call('hkeys', lock) or {}
  local highest
  for _, owner in ipairs(owners) do
    local drawn = (known(owner) or {}).token
    drawn = type(drawn) == 'string' and #drawn <= 19 and drawn:match('^[1-9]%d*$')
    if drawn and is_lower(highest or '0', drawn) and not is_lower(k_last_token, drawn) then highest = drawn end
  end
  return highest
end

-- Mends the counter of tokens, so that one can be drawn, the holder's is accepted, and no older one.
local function mend_counter()
  local there = redis.pcall('type', token).ok
  if there ~= 'string' and there ~= 'none' then return end
  local value, held = read_counter(), highest_held()
  local what
  if not value then
    what = 'bad_token'
  elseif is_lower(('%.0f'):format(k_highest_token), value) then
    what = 'token_too_high'
  elseif held and is_lower(value, held) then
    what = 'token_behind'
  end
  -- If a holder has drawn a token that is too high, the tokens must go on from there.
  if not what or value and value == held then return end
  note_fix(what, token)
  if repairs then redis.call('set', token, held or clock()) end
end
mend_counter()

-- The new head may have missed its call. Its remaining time to come goes on.
if repairs and #fixes > 0 and redis.call('exists', lock) == 0 and is_list() then
  local head = redis.call('lindex', queue, 0)
  if head and was_called(head) then
    publish(channel .. ':' .. head, '0')
  elseif head then
    call(head)
  end
end
return fixes
