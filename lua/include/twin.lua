-- Redisson puts a name without a brace of its own in braces. So "a" and "{a}" have all keys in common,
-- except the lock itself and rlock's side key. Needs the locals lock and info. Sets the local twin: the
-- other of two such names, or nil.
local twin = info:match('^rlock_info:(.*)')
if not twin then twin = lock:sub(2, -2) end  -- rlock_info_braced:
if twin == lock then twin = nil end
