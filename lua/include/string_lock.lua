-- What the name holds, and whether it is a string lock of the owner's. Needs the locals lock and
-- owner.
local kind = redis.call('type', lock).ok
local is_string = kind == 'string' and redis.call('get', lock) == owner
