-- Raises the counter of fencing tokens to a token that the owner has drawn elsewhere, if he holds
-- the lock here; may be sent again.
-- KEYS: lock, info, token
-- ARGV: owner, the token: a whole number, at least 0
-- Returns {1} raised, or no lower before; {0} he does not hold the lock; {4, why} the counter is
--   none.
local lock, info, token, owner, raised = KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2]
--#include info.lua
--#include fence.lua
--#include string_lock.lua
if not is_string and (kind ~= 'hash' or redis.call('hexists', lock, owner) == 0) then return {0} end

local value, why = read_counter()
if not value then return {4, why} end
if is_lower(value, raised) then redis.call('set', token, raised) end
-- As the grant has noted it: who re-enters has the same. The lease is as it was.
local about = known(owner)
if about then
  about.token = raised
  tell(owner, about, 1)
end
return {1}
