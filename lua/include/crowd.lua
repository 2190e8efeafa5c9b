-- When a lock becomes free, its waiters ask one after the other (lock/holding/waiting.cpp says when). When
-- they hear that it is taken again, they sleep on. Needs include/publish.lua and the locals channel (on
-- which the owner waits; empty: it does not wait) and taken (the message for the other waiters; empty
-- unless the owner asks because it heard that the lock is free).

-- Tells the other waiters that the lock is taken. Does not if the lease ends so soon (in `left` ms) that
-- they must ask anyway.
local function tell_taken(left)
  if taken ~= '' and (left < 0 or left >= k_short_lease) then publish(channel, taken) end
end
