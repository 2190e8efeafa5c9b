-- What the scripts that give a hold back have in common: each may be sent again. Needs the locals
-- latch (of this hold), remember (how long to remember the answer, ms), standing (of the hold:
-- unproven: only the latch tells whether the owner has it here; nested: nothing was counted for it;
-- reentered: it was counted beside others; or empty), hold (its identifier, if other processes know
-- of it, or empty) and holding (returns as whom the owner has the lock), and include/info.lua.
local seen = redis.call('get', latch)
if seen and seen ~= 'entered' then return {tonumber(seen)} end
if hold ~= '' then
  for _, of in ipairs(holding()) do
    if has_ended(of, hold) then return {0} end
  end
end
local function answer(result)
  redis.pcall('set', latch, result, 'px', remember)
  if result == 0 and hold ~= '' then
    for _, of in ipairs(holding()) do
      note_ended(of, hold, math.max(redis.call('pttl', lock), remember))
    end
  end
  return {result}
end
if standing == 'unproven' and not seen then return answer(2) end
