-- Checks a fencing token. Changes nothing.
--#key token  the counter
--#arg checked digits  the token to check, at least 0
--#reply 0 stale highest  a higher one was drawn
--#reply 1 accepted highest  it is the highest
--#reply 2 no_counter  no token was drawn, or the server has lost its counter
--#reply 3 not_drawn highest  it is higher than any that was drawn
--#reply 4 no_token why  the counter key is not a counter
--#include token_counter.lua
local info = token  -- what replica.lua asks about: a replica may know of no newer token
--#include replica.lua
if refusal then return refusal end

if redis.call('type', token).ok == 'none' then return {k_no_counter} end
local highest, why = read_counter()
if not highest then return {k_no_token, why} end
if is_lower(checked, highest) then return {k_stale, highest} end
return {is_lower(highest, checked) and k_not_drawn or k_accepted, highest}
