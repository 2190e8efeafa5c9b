-- Gives one hold of a reader or of the writer back, and wakes who waits where others may have the
-- lock now; may be sent again.
--#key lock
--#key channel
--#key info
--#key latch  of this hold
--#arg owner text
--#arg memory ms  how long to remember this request
--#arg keep ms  how long to keep the lock all the same
--#arg prefix text  what the names of the readers' keys start with
--#arg standing granted|nested|unproven|reentered  of the hold, see include/releasing.lua
--#arg side read|write
--#arg is_shared flag  other processes know of the hold
-- It is freed where the owner has the lock no longer, neither as a reader nor as the writer.
local k_sleeps_on = 30000  -- so long (ms) more than it needs: that is bearable
--#include now.lua
--#include info.lua
--#include publish.lua
--#include read_write.lua

local function holding()
  local sides = {}
  for _, side in ipairs({owner, writer}) do
    if holds_of(side) then sides[#sides + 1] = side end
  end
  return sides
end
--#include releasing.lua

local function keep_info(field)
  local left = redis.call('pttl', lock)
  if note_outlived(field, keep) and left >= 0 then redis.pcall('pexpire', info, left) end
end

-- Where nobody writes, the lock lasts as long as its last reader. What has no expiry gets one only
-- where it `ends` in any case. Returns whether there is no reader, and by how much (ms) sooner the
-- lock ends now.
local function end_with_readers(ends)
  local left, span = redis.call('pttl', lock), span_of_readers()
  if span == 0 then return redis.call('del', lock) == 1, left end
  if span == k_furthest or left == -1 and not ends then return false, 0 end
  redis.call('pexpire', lock, span)
  return false, left - span
end

-- A writer whose run is over has the lock for as long as it is to be kept. Returns by how much (ms)
-- sooner it ends now.
local function end_with_kept_writer()
  local kept = outlived(writer)
  if not kept then return 0 end
  local left, ends = redis.call('pttl', lock), math.max(kept - now, span_of_readers(), 1)
  if left <= ends then return 0 end
  redis.call('pexpire', lock, ends)
  return left - ends
end

local function release_reader(holds)
  local span = span_of(owner, holds)
  local is_last = holds == 1
  if is_last then
    keep = math.max(keep, left_to_keep(owner))
  elseif keep > 0 then
    last_for(keep)  -- also where the outer hold is renewed no longer; first, to note it without memory
    note_kept(owner, keep)
    span = math.max(span, keep)
  end
  if is_last and keep > 0 then
    last_for(keep)
    redis.call('set', hold_key(owner, 1), '1', 'px', keep)
  else
    redis.call('del', hold_key(owner, holds))
  end
  if not is_last then
    redis.call('hincrby', lock, owner, -1)
    -- Whichever hold ends first, the others last as long as the longest.
    local left = redis.call('pttl', lock)
    hold_for(owner, holds - 1, span > 0 and span or left == -1 and memory or math.max(left, 1))
  end
  local is_free, sooner = false, 0
  if mode == 'read' then
    is_free, sooner = end_with_readers(is_last and keep > 0)
  else
    sooner = end_with_kept_writer()
  end
  if is_last and keep > 0 then
    keep_info(owner)
    return answer(k_still_held)
  end
  if is_last then
    -- Not before: a user who lacks a right must leave a dead reader, and not a hash with a mode alone.
    if not is_free then redis.call('hdel', lock, owner) end
    forget_holder(owner)
  end
  -- A writer of Redisson's that waits sleeps until the end that it has seen.
  if is_free or sooner > k_sleeps_on then publish(channel, '0') end
  return answer(is_last and mode == 'read' and k_freed or k_still_held)
end

local function release_writer(holds)
  if holds > 1 then
    last_for(keep)
    if keep > 0 then note_kept(writer, keep) end
    redis.call('hincrby', lock, writer, -1)
    return answer(k_still_held)
  end
  keep = math.max(keep, left_to_keep(writer))
  if keep > 0 then
    local span = span_of(owner, holds_of(owner) or 0)
    if span == k_furthest then
      last_for(keep)
    else
      redis.call('pexpire', lock, math.max(keep, span))
    end
    keep_info(writer)
    return answer(k_still_held)
  end
  -- The writer may read on: then others may read as well. Its field goes then, as a reader's.
  if not end_with_readers() then
    redis.call('hdel', lock, writer)
    redis.call('hset', lock, 'mode', 'read')
  end
  forget_holder(writer)
  -- Redisson's message of a writer, which wakes all threads that sleep. The other is for a thread
  -- that does not sleep yet, and for those who know only that.
  publish(channel, '1')
  publish(channel, '0')
  return answer(holds_of(owner) and k_still_held or k_freed)
end

local reads = side == 'read'
local holds = holds_of(reads and owner or writer)
if not holds then
  forget_holder(reads and owner or writer)
  return answer(k_not_held)
end
if reads then return release_reader(math.max(holds, 1)) end
return release_writer(holds)
