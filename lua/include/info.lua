-- The side key that tells who the owners are. Needs the local info.

local function decode(text)
  if type(text) ~= 'string' then return nil end
  local ok, about = pcall(cjson.decode, text)
  return ok and type(about) == 'table' and about or nil
end

-- Returns what `info` tells of an owner, or nil.
local function known(of) return decode(redis.pcall('hget', info, of)) end

-- Returns `about` with the number `due` if it tells of a waiter, or nil.
local function as_waiter(about)
  if about then about.due = tonumber(about.due) end
  return about and about.due and about or nil
end

-- Who holds or wants the lock is a courtesy: trouble with its key must not leave the rest half done.
local function tell(of, about, span)
  redis.pcall('hset', info, of, cjson.encode(about))
  local left = redis.pcall('pttl', info)
  if type(left) == 'number' and left < span then redis.pcall('pexpire', info, span) end
end

-- Removes what is told of one who holds the lock no longer; of one who waits for it, nothing.
local function forget_holder(of)
  if as_waiter(known(of)) then return end
  redis.pcall('hdel', info, of)
  if redis.pcall('hget', info, 'holder') == of then redis.pcall('hdel', info, 'holder') end
end
