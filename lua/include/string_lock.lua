-- What the name holds, and whether it is a string lock of the owner's. Needs the locals lock and
-- owner.
local kind = redis.call('type', lock).ok
local is_string = kind == 'string' and redis.call('get', lock) == owner

-- Returns whether it is another run's of the same value. `outer`: the latch of the hold that the caller
-- shares; empty where nobody else can have its value.
local function is_others(outer)
  return is_string and outer ~= '' and redis.call('get', outer) ~= 'entered'
end

-- Returns how often the owner has the lock as a hash, or nil. A field without a colon, or whose value is
-- no number, is an application's.
local function count_holds()
  local is_owner = kind == 'hash' and owner:find(':', 1, true)
  local count = is_owner and redis.call('hget', lock, owner)
  return count and tonumber(count:match('^%d+$')) or nil
end
