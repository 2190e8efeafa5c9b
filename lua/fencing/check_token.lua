-- Checks a fencing token, and remembers it if it is the highest so far; may be sent again.
-- KEYS: token: the counter
-- ARGV: the token to check: a whole number, at least 0; abstains: 1 one of several servers, which
--   tells and changes nothing where it has no counter, as it may have lost it; or 0
-- Returns {1, token} accepted; {0, highest} stale: a higher one was drawn or checked before;
--   {2, ''} there is no counter; {4, why} the counter is none.
local token, checked, abstains = KEYS[1], ARGV[1], ARGV[2]
--#include fence.lua

if abstains == '1' and redis.call('type', token).ok == 'none' then return {2, ''} end
local highest, why = read_counter()
if not highest then return {4, why} end
if is_lower(checked, highest) then return {0, highest} end
-- Also where it is the highest already: a replica, which may be behind, has to refuse.
redis.call('set', token, checked)
return {1, checked}
