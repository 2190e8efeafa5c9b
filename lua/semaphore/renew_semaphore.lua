-- Extends the lease of an owner who still has his permit of a semaphore; never shortens it. Lease 0
-- only asks.
-- KEYS: permits: not more, see renew.lua
-- ARGV: lease (ms), owner, info, lock
-- Returns 1 he has it, 0 he has not.
local permits, owner, info, lock = KEYS[1], ARGV[2], ARGV[3], ARGV[4]
local lease = tonumber(ARGV[1])
local channel = ''
--#include now.lua
--#include info.lua
--#include publish.lua
--#include twin.lua
--#include semaphore.lua
if not has_permit(owner) then return 0 end
if lease > 0 then
  extend(owner, lease)
  note_seen(owner, lease)
  keep_alive()
end
return 1
