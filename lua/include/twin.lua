-- Redisson puts a name without a brace of its own in braces. So "a" and "{a}" have all keys in common,
-- except the lock itself and rlock's side key. Needs the locals lock and info.

-- Returns the other of two such names, or nil.
local function twin_name()
  local k_prefix = 'rlock_info:'
  if info:sub(1, #k_prefix) ~= k_prefix then return lock:sub(2, -2) end  -- rlock_info_braced:
  local braced = info:sub(#k_prefix + 1)
  return braced ~= lock and braced or nil
end
