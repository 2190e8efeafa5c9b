-- Gives one hold of a semaphore back, and with the last one the owner's permit, and tells who waits;
-- may be sent again.
-- KEYS: lock, info, latch of this hold, permits
-- ARGV: owner, how long to remember this request (ms), how long to keep the permit all the same (ms),
--   the standing of the hold, channel, and 1 if other processes know of the hold, see
--   include/releasing.lua
-- Returns {1} the permit is given back, {0} the owner still has it (or it ends by itself), {2} he did
--   not have it. The latch remembers the answer, and bars a late acquire.
local lock, info, latch, permits = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local owner, remember, keep, channel = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[5]
local standing, is_shared = ARGV[4], ARGV[6] == '1'
local function holding() return {owner} end
--#include now.lua
--#include info.lua
--#include releasing.lua
--#include publish.lua
--#include twin.lua
--#include semaphore.lua
if other_use() or not redis.call('zscore', permits, owner) then
  redis.pcall('hdel', info, owner)
  return answer(2)
end

-- Where it was not counted, or the count is lost, the permit is that of the outer hold.
local holds = standing ~= 'nested' and count_holds(owner)
local is_last = holds and holds <= 1 or not holds and standing == ''
if not is_last then
  extend(owner, keep)
  if keep > 0 then note_kept(owner, keep) end
  if holds then note_holds(owner, holds - 1) end
  keep_alive()
  return answer(0)
end
keep = math.max(keep, left_to_keep(owner))
if keep > 0 then
  redis.call('zrem', permits, '')  -- of nobody: it opens the script for writing without memory
  redis.call('zadd', permits, 'xx', now + keep, owner)
  note_outlived(owner, keep)
  keep_alive(count_listeners() == 0)
  return answer(0)
end
redis.call('zrem', permits, owner)
redis.pcall('hdel', info, owner)
give_back(1)
take_back_expired()
settle()
return answer(1)
