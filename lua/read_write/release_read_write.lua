-- Releases a hold of a reader or of the writer. Wakes the waiters if others may have the lock now. May be sent
-- again.
--#key lock
--#key channel
--#key info
--#key latch  of this hold
--#arg owner text
--#arg memory ms  how long to remember this request
--#arg keep ms  how long to keep the lock after the release
--#arg prefix text  the start of the names of the readers' keys
--#arg standing granted|nested|unproven|reentered  of the hold, see include/releasing.lua
--#arg side read|write
--#arg is_shared flag  other processes know the hold
-- The reply is freed if the owner no longer holds the lock, neither as a reader nor as the writer.
local k_sleeps_on = 30000  -- ms that a Redisson writer may sleep too long
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

-- If nobody writes, the lock lasts as long as its last reader. A lock without an expiry gets one only if it `ends`
-- in any case. Returns whether there is no reader, and by how many ms sooner the lock ends now.
local function end_with_readers(ends)
  local left, span = redis.call('pttl', lock), span_of_readers()
  if span == 0 then return redis.call('del', lock) == 1, left end
  if span == k_furthest or left == -1 and not ends then return false, 0 end
  redis.call('pexpire', lock, span)
  return false, left - span
end

-- If the writer's run is over, the lock lasts for as long as it is kept, or its last reader lives. Returns by how
-- many ms sooner the lock ends now.
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
    last_for(keep)  -- also if nobody renews the outer hold; first, because it lets the script write without memory
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
    -- The remaining holds last as long as the longest hold, whichever hold ended.
    local left = redis.call('pttl', lock)
    hold_for(owner, holds - 1, span > 0 and span or left == -1 and memory or math.max(left, 1))
  end
  local is_free, sooner = false
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
    -- Not earlier: if the user lacks a right, a dead reader must stay, and not a hash with only a mode.
    if not is_free then redis.call('hdel', lock, owner) end
    forget_holder(owner)
  end
  -- A waiting Redisson writer sleeps until the end that it has seen.
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
  -- The writer may read on. Then other readers may join, and only the writer's field goes.
  if not end_with_readers() then
    redis.call('hdel', lock, writer)
    redis.call('hset', lock, 'mode', 'read')
  end
  forget_holder(writer)
  -- '1' is Redisson's message of a writer, and wakes all threads that sleep. '0' is for a thread that does not
  -- sleep yet, and for clients that know only '0'.
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
