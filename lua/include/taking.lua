-- What the scripts that take a lock have in common. Needs the locals lock, owner, lease (ms) and
-- now (ms), their argument 3 (what to tell of the owner: JSON, or nothing), and include/info.lua.

-- Returns what to tell of the owner who takes a lock of this kind, with this token or none.
local function about_owner(kind, drawn)
  local about = decode(ARGV[3]) or {}
  about.kind, about.since, about.seen, about.token = kind, now, now, drawn
  return about
end

-- Makes the owner the holder, and tells about him if there is something to tell; nothing is counted twice. Returns the hold count.
local function hold(about)
  if redis.call('hexists', lock, owner) == 0 then redis.call('hset', lock, owner, 1) end
  if redis.call('pttl', lock) < lease then redis.call('pexpire', lock, lease) end
  if about then tell(owner, about, lease) end
  return tonumber(redis.call('hget', lock, owner))
end

-- Returns {0, pttl, owner, what is told of him, now} of the holder, and his kind.
local function held_by(holder)
  local told = redis.pcall('hget', info, holder)
  local about = decode(told) or {}
  return {0, redis.call('pttl', lock), holder, type(told) == 'string' and told or '',
          string.format('%.0f', now)}, about.kind
end

-- The same, of whoever holds a hash.
local function busy()
  local holder = ''
  if redis.call('hlen', lock) == 1 then holder = redis.call('hkeys', lock)[1] end
  return held_by(holder)
end
