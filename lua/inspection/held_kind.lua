-- Tells as what kind of lock an owner holds a name; changes nothing.
--#key lock
--#arg owner text
--#arg permits key  of a semaphore (who uses none may have no right to it)
-- Returns 'read', 'write' or 'semaphore', each of which is released in a way of its own; 'other'.
--#read-only
local kind = redis.call('type', lock).ok
if kind == 'hash' and redis.call('hexists', lock, 'mode') == 1 then
  local writes = owner:find(':write$') or redis.call('hexists', lock, owner .. ':write') == 1
  return writes and 'write' or 'read'
end
local is_permit = kind ~= 'hash' and type(redis.pcall('zscore', permits, owner)) == 'string'
return is_permit and 'semaphore' or 'other'
