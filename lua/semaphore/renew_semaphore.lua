-- Extends the lease of an owner that still has its permit. Shortens it only if it is longer than any of the owner's
-- holds has asked for.
--#key permits  the only one, see renew.lua
--#arg lease ms  0 only asks
--#arg owner text
--#arg info key
--#arg lock key
--#include renewing.lua
--#include now.lua
--#include info.lua
--#include prolong_info.lua
--#include semaphore.lua
--#include longest.lua
local is_held = has_permit(owner)
if not is_held or lease == 0 then
  --#include replica.lua
  return refusal or (is_held and k_renewed or k_not_held)
end
extend(owner, lease)
local left = redis.call('zscore', permits, owner) - now
local most
if left > lease then
  local longest = longest_of(owner, lease, count_holds(owner) or 1)
  if longest < left then
    redis.call('zadd', permits, 'xx', now + longest, owner)
    most = redis.call('zrange', permits, -1, -1, 'withscores')[2] - now
  end
end
prolong_info(owner, lease, most)
keep_alive()
return k_renewed
