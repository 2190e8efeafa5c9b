--#include shape.lua
-- Returns what uses the name instead of a plain or fair lock, or nil. Needs the local lock.
local function other_kind()
  local kind = redis.call('type', lock).ok
  if kind ~= 'hash' then return kind ~= 'none' and kind or nil end
  local mode = redis.call('hget', lock, 'mode')
  if not mode then return nil end
  return (mode == 'read' or mode == 'write') and is_lock_hash() and 'read-write lock' or 'hash that is no lock'
end
