-- Redisson puts a name without a brace of its own in braces. So "a" and "{a}" have all keys in common,
-- except the lock itself and rlock's side key. Needs the local lock.

-- Returns the other of two such names, or nil. `braced`: the name as it stands in other keys.
local function twin_of(braced)
  if braced ~= lock then return braced end
  return lock:match('^{([^{]+)}$')
end
