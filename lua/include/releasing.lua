-- For the scripts that release a hold. Each may be sent again: the latch remembers the answer, and bars a
-- late request to take the lock. Needs include/info.lua and the locals
-- - latch (of this hold), memory (how long to remember the answer, ms);
-- - standing of the hold. granted: the first one. unproven: only the latch, or a note, proves that this
--   server counted it. nested: nothing was counted for it. reentered: it was counted beside others;
-- - is_shared (whether other processes know the hold), holding (returns the owner's fields in the lock).
-- Their replies:
--#reply 0 still_held  other holds are left, or the lock is kept until its expiry
--#reply 1 freed  the owner no longer holds the lock. Others may
--#reply 2 not_held  the owner did not hold the lock
local hold = latch:match('.*:(.*)')
local seen = redis.call('get', latch)
if seen and seen ~= 'entered' then return {tonumber(seen)} end
local is_proven = standing ~= 'unproven' or seen
local is_entered = standing == 'reentered' or standing == 'nested'  -- beside the owner's first hold
for _, of in ipairs(holding()) do
  local noted = note_of(of, hold)
  if noted == 'ended' then return {k_still_held} end
  is_entered = is_entered or noted == 'entered'
  is_proven = is_proven or is_entered
end
local function answer(result)
  if result == k_not_held then
    --#include replica.lua
    if refusal then return refusal end
  end
  redis.pcall('set', latch, result, 'px', memory)
  if result == k_still_held then
    local left = redis.call('pttl', lock)
    local span = (is_shared or left < 0) and math.max(left, memory) or left
    for _, of in ipairs(holding()) do
      -- The process in the owner's entry ends with the first hold.
      note(of, is_shared and 'ended' or 'past', hold, span, not is_entered)
    end
  end
  return {result}
end
if not is_proven then return answer(k_not_held) end
