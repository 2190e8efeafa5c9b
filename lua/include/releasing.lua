-- What the scripts that give a hold back have in common: each may be sent again. Needs the locals
-- latch (of this hold), remember (how long to remember the answer, ms), standing (of the hold:
-- unproven: only the latch, or a note, tells whether the owner has it here; nested: nothing was
-- counted for it; reentered: it was counted beside others; or empty), is_shared (whether other
-- processes know of it, too) and holding (returns as whom the owner has the lock), and
-- include/info.lua.
local hold = latch:match('[^:]+$')
local seen = redis.call('get', latch)
if seen and seen ~= 'entered' then return {tonumber(seen)} end
local is_proven = standing ~= 'unproven' or seen
for _, of in ipairs(holding()) do
  local noted = note_of(of, hold)
  if noted == 'ended' then return {0} end
  is_proven = is_proven or noted == 'entered'
end
local function answer(result)
  redis.pcall('set', latch, result, 'px', remember)
  if result == 0 then
    local left = redis.call('pttl', lock)
    local span = (is_shared or left < 0) and math.max(left, remember) or left
    for _, of in ipairs(holding()) do note(of, is_shared and 'ended' or 'past', hold, span) end
  end
  return {result}
end
if not is_proven then return answer(2) end
