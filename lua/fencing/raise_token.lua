-- Raises the counter of fencing tokens to a token that the owner has drawn elsewhere, if it holds
-- the lock here; may be sent again.
--#key lock
--#key info
--#key token
--#arg owner text
--#arg raised digits  the token, at least 0
--#reply 0 not_held  by the owner
--#reply 1 raised  or no lower before
--#reply 4 no_token why  the counter is none
--#include info.lua
--#include fence.lua
--#include string_lock.lua
if not is_string and (kind ~= 'hash' or redis.call('hexists', lock, owner) == 0) then return {k_not_held} end

local value, why = read_counter()
if not value then return {k_no_token, why} end
if is_lower(value, raised) then redis.call('set', token, raised) end
-- As the grant has noted it: who re-enters has the same. The lease is as it was.
local about = known(owner)
if about then
  about.token = raised
  tell(owner, about, 1)
end
return {k_raised}
