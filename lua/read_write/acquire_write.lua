-- Takes a write lock, which excludes all others, for an owner who does not have it yet; may be sent
-- again.
-- KEYS: lock, info, latch of this hold, and token if one is to be drawn
-- ARGV: lease (ms), owner, what to tell of him (JSON, or nothing), 1 to draw a fencing token, empty,
--   what the names of the readers' keys start with
-- Returns as acquire.lua.
local lock, info, token, owner, prefix = KEYS[1], KEYS[2], KEYS[4], ARGV[2], ARGV[6]
local lease = tonumber(ARGV[1])
if redis.call('exists', KEYS[3]) == 1 then return {2} end
--#include now.lua
--#include info.lua
--#include twin.lua
--#include taking.lua
--#include fence.lua
--#include read_write.lua
local other = other_kind()
if other then return {3, other} end

-- An earlier sending of this request may have taken the lock: then it is not counted again.
local is_ours = mode and redis.call('hexists', lock, writer) == 1
-- Readers who are all dead keep nobody out, although the hash is there, whose TTL others had set.
local is_left = mode == 'read' and span_of_readers() == 0
if mode and not is_ours and not is_left then
  local answer = held_by(first_holder())
  answer[6] = twin_mark()
  return answer
end
if not is_ours then ask_for_memory() end
last_for(lease)
local drawn, refusal = fence(writer, is_ours, ARGV[4])
if refusal then return refusal end
if is_left then redis.call('del', lock) end
if not is_ours then
  redis.call('hset', lock, 'mode', 'write', writer, 1)
  redis.call('pexpire', lock, lease)
end
if drawn or ARGV[3] ~= '' then tell_of_holder(writer, about_owner('write', drawn), is_ours) end
return {1, is_ours and tonumber(redis.call('hget', lock, writer)) or 1, twin_mark(), drawn or ''}
