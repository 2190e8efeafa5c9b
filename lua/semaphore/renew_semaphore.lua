-- Extends the lease of an owner that still has its permit. Never shortens it.
--#key permits  the only one, see renew.lua
--#arg lease ms  0 only asks
--#arg owner text
--#arg info key
--#arg lock key
--#include renewing.lua
local channel = ''
--#include now.lua
--#include info.lua
--#include prolong_info.lua
--#include publish.lua
--#include twin.lua
--#include semaphore.lua
if not has_permit(owner) then
  --#include replica.lua
  return refusal or k_not_held
end
if lease > 0 then
  extend(owner, lease)
  prolong_info(owner, lease)
  keep_alive()
end
return k_renewed
