-- Sets the locals kind (the type of the lock's key) and is_string (whether it is the owner's string lock).
-- Needs the locals lock and owner.
local kind = redis.call('type', lock).ok
local is_string = kind == 'string' and redis.call('get', lock) == owner

-- Returns the owner's hold count in the hash, or nil. A field without a colon, or with a value that is not a
-- number, is an application's.
local function count_holds()
  local is_owner = kind == 'hash' and owner:find(':', 1, true)
  local count = is_owner and redis.call('hget', lock, owner)
  return count and tonumber(count:match('^%d+$')) or nil
end
