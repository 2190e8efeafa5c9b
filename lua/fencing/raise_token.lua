-- Raises the counter to a token that the owner has drawn on another server, if the owner holds the lock on this
-- server. May be sent again.
--#key lock
--#key info
--#key token
--#arg owner text
--#arg raised digits  the token, at least 0
--#reply 0 not_held  the owner does not hold the lock
--#reply 1 raised  or it was high enough
--#reply 4 no_token why  the counter key is not a counter
--#include info.lua
--#include fence.lua
--#include string_lock.lua
if not is_string and (kind ~= 'hash' or redis.call('hexists', lock, owner) == 0) then return {k_not_held} end

local value, why = read_counter()
if not value then return {k_no_token, why} end
if is_lower(value, raised) then redis.call('set', token, raised) end
-- Note the token as a grant does, for re-entries. The lease stays as it is.
local about = known(owner)
if about then
  about.token = raised
  tell(owner, about, 1)
end
return {k_raised}
