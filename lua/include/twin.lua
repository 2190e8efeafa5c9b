-- Redisson puts a name without a brace of its own in braces. So "a" and "{a}" share all keys, except the lock
-- itself and rlock's side key. Sets the local twin: the other of two such names, or nil. Needs the locals
-- lock and info.
local twin = info:match('^rlock_info:(.*)')
if not twin then twin = lock:sub(2, -2) end  -- rlock_info_braced:
if twin == lock then twin = nil end
