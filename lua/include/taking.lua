-- What the scripts that take a lock have in common. Needs the locals lock, owner, lease (ms) and
-- now (ms), and include/info.lua.

-- Returns what else the name is in use for, or nil.
local function other_kind()
  local kind = redis.call('type', lock).ok
  if kind == 'hash' then
    return redis.call('hexists', lock, 'mode') == 1 and 'read-write lock' or nil
  end
  if kind ~= 'none' then return kind end
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
