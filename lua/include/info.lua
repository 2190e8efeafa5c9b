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

-- Sets a field of the side key, which then lasts for so long (ms) at the least. What could not end
-- is not written: so the right to set the end is tried before there is a key. Returns nothing, or
-- the server's error.
local function put(field, text, span)
  local left = redis.pcall('pttl', info)
  if type(left) == 'table' then return left end
  local is_new = left == -2
  if left < span then
    local reply = redis.pcall('pexpire', info, span)
    if type(reply) == 'table' then return reply end
  end
  local reply = redis.pcall('hset', info, field, text)
  if type(reply) == 'table' then return reply end
  if is_new then redis.pcall('pexpire', info, span) end
end

-- Who holds or wants the lock is a courtesy: trouble with its key must not leave the rest half done.
-- Returns as put.
local function tell(of, about, span) return put(of, cjson.encode(about), span) end

-- Notes when an owner was seen, for so long (ms). Needs include/now.lua.
local function note_seen(of, span)
  local about = known(of)
  if not about then return end
  about.seen = now
  tell(of, about, span)
end

-- From now on what the owner holds ends by its TTL, in so long (ms): not with his process.
local function note_outlived(of, span)
  local about = known(of)
  if not about then return end
  about.process = nil
  tell(of, about, span)
end

-- Several processes may know of a hold, and each of them may give it back: so that it is given back
-- once, its end is noted as long as the owner has the lock.
local k_most_ended = 1000

local function has_ended(of, hold)
  local about = known(of)
  local ended = about and type(about.ended) == 'table' and about.ended or {}
  for _, one in ipairs(ended) do
    if one == hold then return true end
  end
  return false
end

local function note_ended(of, hold, span)
  local about = known(of) or {}
  if type(about.ended) ~= 'table' then about.ended = {} end
  about.ended[#about.ended + 1] = hold
  if #about.ended > k_most_ended then table.remove(about.ended, 1) end
  tell(of, about, span)
end

-- The lock is to be kept for so long (ms) whoever gives it back last. Needs include/now.lua.
local function note_kept(of, span)
  local about = known(of) or {}
  about.kept = math.max(tonumber(about.kept) or 0, now + span)
  tell(of, about, span)
end

-- Returns for how long (ms) more it is to be kept.
local function left_to_keep(of)
  local about = known(of)
  return math.max((about and tonumber(about.kept) or 0) - now, 0)
end

-- Removes what is told of one who holds the lock no longer; of one who waits for it, nothing.
local function forget_holder(of)
  if as_waiter(known(of)) then return end
  redis.pcall('hdel', info, of)
  if redis.pcall('hget', info, 'holder') == of then redis.pcall('hdel', info, 'holder') end
end
