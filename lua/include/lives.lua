-- Needs include/alone.lua and the local now.

-- Returns whether a waiter seems to live, or nil if that is unknown. `entry`: its entry in info, or nil. `score`: its
-- deadline, or nil. `is_heard`: whether somebody listens on its channel.
local function lives(entry, score, is_heard)
  if entry then return now <= entry.due end
  if is_heard or not score or score <= now then return is_heard end
  if not sees_all() then return nil end
  return false
end
