-- Checks a fencing token, and remembers it if it is the highest so far. May be sent again.
--#key token  the counter
--#arg checked digits  the token to check, at least 0
--#arg abstains flag  if there is no counter: answer no_counter, and change nothing. For one of several servers,
--   which may have lost its counter
--#reply 0 stale highest  a higher one was drawn or checked before
--#reply 1 accepted highest
--#reply 2 no_counter
--#reply 4 no_token why  the counter key is not a counter
--#include fence.lua

if abstains and redis.call('type', token).ok == 'none' then return {k_no_counter} end
local highest, why = read_counter()
if not highest then return {k_no_token, why} end
if is_lower(checked, highest) then return {k_stale, highest} end
-- Write it even if it is already the highest, so that a replica refuses: it may be behind its master.
redis.call('set', token, checked)
return {k_accepted, checked}
