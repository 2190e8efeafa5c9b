-- Takes a write lock, which excludes all other owners, for an owner that does not hold it yet. May be sent again.
--#key lock
--#key info
--#key latch  of this hold
--#key token?  if fencing is not off
--#arg lease ms
--#arg owner text
--#arg about_json text  a description of the owner, or empty
--#arg fencing off|draw|peek
--#arg prefix text  the start of the names of the readers' keys
-- For its replies see include/taking.lua.
--#include now.lua
--#include twin.lua
-- First the common case: there is no key yet.
if fencing == 'off' and redis.pcall('exists', latch, lock, info, twin or latch) == 0 then
  local kind, holder = 'write', owner .. ':write'
  redis.call('hset', lock, 'mode', 'write', holder, 1)  -- fails on a server that is out of memory
  --#include making.lua
  return {k_granted, 1, 0, ''}
end

if redis.call('exists', latch) == 1 then return {k_ended} end
--#include info.lua
--#include taking.lua
--#include fence.lua
--#include read_write.lua
local other = other_kind()
if other then return {k_in_use, other} end

-- An earlier sending of this request may have taken the lock. Then do not count it again.
local is_ours = mode and redis.call('hexists', lock, writer) == 1
-- If all readers are dead, they keep nobody out, although the hash is still there.
local is_left = mode == 'read' and span_of_readers() == 0
if mode and not is_ours and not is_left then
  --#include replica.lua
  return refusal or (held_by(first_holder(), twin_mark()))
end
if not is_ours then ask_for_memory() end
last_for(lease)
local drawn, refusal = fence(writer, is_ours, fencing)
if refusal then return refusal end
if is_left then redis.call('del', lock) end
if not is_ours then
  redis.call('hset', lock, 'mode', 'write', writer, 1)
  redis.call('pexpire', lock, lease)
end
if drawn or about_json ~= '' then tell_of_holder(writer, about_owner('write', drawn), is_ours) end
return {k_granted, is_ours and tonumber(redis.call('hget', lock, writer)) or 1, twin_mark(), drawn or ''}
