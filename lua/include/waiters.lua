-- Needs the local channel, on which the owner waits; empty: it does not wait.

-- Returns how many clients listen, for the reply busy. 0: unknown.
local function count_waiters()
  local reply = channel ~= '' and redis.pcall('pubsub', 'numsub', channel)
  return reply and not reply.err and reply[2] or 0
end
