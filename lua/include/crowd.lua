-- Where many wait for one lock, they ask one after the other when it becomes free, and sleep on when
-- they hear that it is taken again. Needs the locals channel (on which the owner waits; empty where he
-- does not wait) and is_called (he asks because he heard that the lock is free), and
-- include/publish.lua.

-- Tells the others that nothing is left to be had.
local function tell_taken(text)
  if is_called then publish(channel, text) end
end

-- Returns how many wait: for the reply busy.
local function count_waiters()
  local reply = channel ~= '' and redis.pcall('pubsub', 'numsub', channel)
  return reply and not reply.err and reply[2] or 0
end
