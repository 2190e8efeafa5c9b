-- Needs include/alone.lua and the local now.
local are_all_seen

-- Returns whether a waiter seems to live, or nil if that is unknown. `entry`: its entry in info, or nil. `score`: its
-- deadline, or nil. `is_heard`: whether somebody listens on its channel.
local function lives(entry, score, is_heard)
  if entry then return now <= entry.due end
  if is_heard or not score or score <= now then return is_heard end
  if are_all_seen == nil then are_all_seen = sees_all() end
  if not are_all_seen then return nil end
  return false
end
