-- Takes a read lock for an owner that is not a reader yet. May be sent again. Readers share the lock, and the
-- writer may read, too.
--#key lock
--#key info
--#key latch  of this hold
--#arg lease ms
--#arg owner text
--#arg about_json text  a description of the owner, or empty
--#arg prefix text  the start of the names of the readers' keys
-- For its replies see include/taking.lua.
--#include now.lua
--#include twin.lua
-- First the common case: there is no key yet.
if redis.pcall('exists', latch, lock, info, twin or latch) == 0 then
  redis.call('set', prefix .. owner .. ':rwlock_timeout:1', '1', 'px', lease)
  redis.call('hset', lock, 'mode', 'read', owner, 1)
  local kind, holder = 'read', owner
  --#include making.lua
  return {k_granted, 1, 0, ''}
end

if redis.call('exists', latch) == 1 then return {k_ended} end
--#include info.lua
--#include taking.lua
--#include read_write.lua
local other = other_kind()
if other then return {k_in_use, other} end

if mode == 'write' and redis.call('hexists', lock, writer) == 0 then
  --#include replica.lua
  return refusal or (held_by(first_holder(), twin_mark()))
end
-- An earlier sending of this request may have taken the lock. Then do not count it again. First set the hold's own
-- key, and try whether an expiry can be set: a user without these rights must not leave a lock without an expiry.
local holds = holds_of(owner)
hold_for(owner, math.max(holds or 0, 1), lease)
last_for(lease)
if not mode then
  redis.call('hset', lock, 'mode', 'read', owner, 1)
  redis.call('pexpire', lock, lease)
elseif not holds then
  redis.call('hset', lock, owner, 1)
end
if about_json ~= '' then tell_of_holder(owner, about_owner('read'), holds) end
return {k_granted, holds_of(owner) or 1, twin_mark(), ''}
