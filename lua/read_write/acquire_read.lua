-- Takes a read lock for an owner who does not have it yet; may be sent again. Readers share the
-- lock, and the writer may read, too.
-- KEYS: lock, info, latch of this hold
-- ARGV: lease (ms), owner, what to tell of him (JSON, or nothing), 0, empty, what the names of the
--   readers' keys start with
-- Returns as acquire.lua.
local lock, info, owner, prefix = KEYS[1], KEYS[2], ARGV[2], ARGV[6]
local lease = tonumber(ARGV[1])
if redis.call('exists', KEYS[3]) == 1 then return {2} end
--#include now.lua
--#include info.lua
--#include twin.lua
--#include taking.lua
--#include read_write.lua
local other = other_kind()
if other then return {3, other} end

if mode == 'write' and redis.call('hexists', lock, writer) == 0 then
  local answer = held_by(first_holder())
  answer[6] = twin_mark()
  return answer
end
-- An earlier sending of this request may have taken the lock: then it is not counted again. The
-- hold's own key comes first, then the right to set an end: a user who may not do either must not
-- leave a lock without a TTL.
local holds = holds_of(owner)
hold_for(owner, math.max(holds or 0, 1), lease)
last_for(lease)
if not mode then
  redis.call('hset', lock, 'mode', 'read', owner, 1)
  redis.call('pexpire', lock, lease)
elseif not holds then
  redis.call('hset', lock, owner, 1)
end
if ARGV[3] ~= '' then tell_of_holder(owner, about_owner('read'), holds) end
return {1, holds_of(owner) or 1, twin_mark(), ''}
