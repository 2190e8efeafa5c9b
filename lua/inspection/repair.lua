-- Removes what is provably garbage around a lock, or only looks for it. Waiters: see repair_queue.lua. May be sent again.
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
--#args orphans  that had a deadline and were not in the queue
--#parts code count first
-- Returns fixes, see include/fixes.lua. It removes score_without_member. It sets an expiry for leaked_latch and
-- lasting_info. It gives ended_permit back. For bad_token, token_too_high and token_behind, it sets the counter of tokens
-- to the highest token of a holder, or to the server's clock if there is none.
local repairs = task == 'repair'
--#include now.lua
--#include info.lua
--#include publish.lua
--#include alone.lua
--#include queue.lua
--#include token_counter.lua
--#include fixes.lua

local k_time_to_forget = 60000  -- longer than any request is under way

for _, owner in ipairs(orphans) do
  if score_of(owner) and not (is_list() and redis.call('lpos', queue, owner)) then
    note_fix('score_without_member', owner)
    if repairs then redis.call('zrem', scores, owner) end
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

if repairs and #fixes > 0 then call_head() end
return fixes
