-- Releases a hold of a semaphore. With the last hold, releases the owner's permit, and tells the waiters. May be sent
-- again.
--#key lock
--#key info
--#key latch  of this hold
--#key permits
--#arg owner text
--#arg memory ms  how long to remember this request
--#arg keep ms  how long to keep the permit after the release
--#arg standing granted|nested|unproven|reentered  of the hold, see include/releasing.lua
--#arg channel key
--#arg is_shared flag  other processes know the hold
local function holding() return {owner} end
--#include now.lua
--#include info.lua
--#include releasing.lua
--#include publish.lua
--#include twin.lua
--#include semaphore.lua
local ends = not other_use() and redis.call('zscore', permits, owner)
if not ends or tonumber(ends) <= now then
  redis.pcall('hdel', info, owner)
  if ends then
    take_back_expired()
    settle()
  end
  return answer(k_not_held)
end

-- If this hold was not counted, or the count is lost, the permit stays with the outer hold.
local holds = standing ~= 'nested' and count_holds(owner)
local is_last = holds and holds <= 1 or not holds and standing == 'granted'
if not is_last then
  extend(owner, keep)
  if keep > 0 then note_kept(owner, keep) end
  if holds then note_holds(owner, holds - 1) end
  keep_alive()
  return answer(k_still_held)
end
keep = math.max(keep, left_to_keep(owner))
if keep > 0 then
  redis.call('zrem', permits, '')  -- removes nothing, but lets the script write without memory
  redis.call('zadd', permits, 'xx', now + keep, owner)
  note_outlived(owner, keep)
  keep_alive(count_listeners(channel) == 0)
  return answer(k_still_held)
end
redis.call('zrem', permits, owner)
redis.pcall('hdel', info, owner)
give_back(1)
take_back_expired()
settle()
return answer(k_freed)
