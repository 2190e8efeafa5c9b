-- What the scripts that give a hold back have in common: each may be sent again. Needs the locals
-- latch (of this hold), memory (how long to remember the answer, ms), standing (of the hold: granted;
-- unproven: only the latch, or a note, tells whether the owner has it here; nested: nothing was counted
-- for it; reentered: it was counted beside others), is_shared (whether other processes know of it,
-- too) and holding (returns as whom the owner has the lock), and include/info.lua. The latch remembers
-- the answer, and bars a late request to take the lock. Their replies:
--#reply 0 still_held  or kept until its TTL ends
--#reply 1 freed  by the owner, if not by others
--#reply 2 not_held  by the owner
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
  local reply = redis.pcall('set', latch, result, 'px', memory)
  -- A replica may lack what its master has.
  if result == k_not_held and reply.err and reply.err:find('READONLY', 1, true) then return reply end
  if result == k_still_held then
    local left = redis.call('pttl', lock)
    local span = (is_shared or left < 0) and math.max(left, memory) or left
    for _, of in ipairs(holding()) do
      -- With the first hold, the process ends of which the owner tells.
      note(of, is_shared and 'ended' or 'past', hold, span, not is_entered)
    end
  end
  return {result}
end
if not is_proven then return answer(k_not_held) end
