-- Returns the kind of lock that an owner holds under a name. Changes nothing.
--#key lock
--#arg owner text
--#arg permits key  of a semaphore; the user may have no right to it
--#reply 0 other  all other kinds are released and renewed in the same way
--#reply 1 read
--#reply 2 write
--#reply 3 semaphore
--#read-only
local kind = redis.call('type', lock).ok
if kind == 'hash' and redis.call('hexists', lock, 'mode') == 1 then
  local writes = owner:find(':write$') or redis.call('hexists', lock, owner .. ':write') == 1
  return writes and k_write or k_read
end
local is_permit = kind ~= 'hash' and type(redis.pcall('zscore', permits, owner)) == 'string'
return is_permit and k_semaphore or k_other
