-- Checks a fencing token, and remembers it if it is the highest so far; may be sent again.
--#key token  the counter
--#arg checked digits  the token to check, at least 0
--#arg abstains flag  one of several servers, which tells and changes nothing where it has no counter, as
--   it may have lost it
--#reply 0 stale highest  a higher one was drawn or checked before
--#reply 1 accepted highest
--#reply 2 no_counter
--#reply 4 no_token why  the counter is none
--#include fence.lua

if abstains and redis.call('type', token).ok == 'none' then return {k_no_counter} end
local highest, why = read_counter()
if not highest then return {k_no_token, why} end
if is_lower(checked, highest) then return {k_stale, highest} end
-- Also where it is the highest already: a replica, which may be behind, has to refuse.
redis.call('set', token, checked)
return {k_accepted, checked}
