-- What the scripts that take a lock have in common. Needs the locals lock, owner, lease (ms) and
-- now (ms), their arguments 3 to 6 (host, pid, user, command), and include/info.lua.

-- Returns what to tell of the owner who takes a lock of this kind.
local function about_owner(kind)
  return {host = ARGV[3], pid = tonumber(ARGV[4]), user = ARGV[5], command = ARGV[6], kind = kind,
          since = now, seen = now}
end

-- Makes the owner the holder; nothing is counted twice. Returns the hold count.
local function hold(about)
  if redis.call('hexists', lock, owner) == 0 then redis.call('hset', lock, owner, 1) end
  if redis.call('pttl', lock) < lease then redis.call('pexpire', lock, lease) end
  tell(owner, about, lease)
  return tonumber(redis.call('hget', lock, owner))
end

-- Returns {0, pttl, owner, host, pid, command, since, now} of the holder, and his kind.
local function busy()
  local holder = ''
  if redis.call('hlen', lock) == 1 then holder = redis.call('hkeys', lock)[1] end
  local about = known(holder) or {}
  local function text(name) return type(about[name]) == 'string' and about[name] or '' end
  local function number(name)
    local value = tonumber(about[name])
    return value and string.format('%.0f', value) or ''
  end
  return {0, redis.call('pttl', lock), holder, text('host'), number('pid'), text('command'),
          number('since'), string.format('%.0f', now)}, text('kind')
end
