-- Where many wait for one lock, they ask one after the other when it becomes free (lock/holding/waiting.cpp
-- says when), and sleep on when they hear that it is taken again. Needs include/publish.lua and the locals
-- channel (on which the owner waits; empty where he does not wait) and taken (the message for the others;
-- empty unless he asks because he heard that the lock is free).

-- Tells the others, unless the lease ends in `left` ms, before they would ask anyway.
local function tell_taken(left)
  if taken ~= '' and (left < 0 or left >= k_short_lease) then publish(channel, taken) end
end

-- Returns how many listen: for the reply busy.
local function count_waiters()
  local reply = channel ~= '' and redis.pcall('pubsub', 'numsub', channel)
  return reply and not reply.err and reply[2] or 0
end
