-- Takes a reentrant lock for an owner who does not hold it yet; may be sent again.
-- KEYS: lock, info, latch of this hold
-- ARGV: lease (ms), owner, host, pid, user, command
-- Returns {1, count} granted; {0, pttl, owner, host, pid, command, since, now} held by that owner
--   (pttl -1: no expiry; host.. since empty where unknown; no owner among several fields);
--   {2} this hold has ended; {3, type} the name is in use by another kind of lock.
local lock, info, owner = KEYS[1], KEYS[2], ARGV[2]
local lease = tonumber(ARGV[1])
if redis.call('exists', KEYS[3]) == 1 then return {2} end

local kind = redis.call('type', lock).ok
if kind ~= 'none' and kind ~= 'hash' then return {3, kind} end
if kind == 'hash' and redis.call('hexists', lock, 'mode') == 1 then return {3, 'read-write lock'} end

local time = redis.call('time')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- An earlier sending of this request may have taken the lock: then it is not counted again.
if kind == 'hash' and redis.call('hexists', lock, owner) == 0 then
  local holder = ''
  if redis.call('hlen', lock) == 1 then holder = redis.call('hkeys', lock)[1] end
  local known = {}
  local text = redis.pcall('hget', info, holder)
  if type(text) == 'string' then
    local ok, decoded = pcall(cjson.decode, text)
    if ok and type(decoded) == 'table' then known = decoded end
  end
  local function text(name) return type(known[name]) == 'string' and known[name] or '' end
  local function number(name)
    local value = tonumber(known[name])
    return value and string.format('%.0f', value) or ''
  end
  return {0, redis.call('pttl', lock), holder, text('host'), number('pid'), text('command'),
          number('since'), string.format('%.0f', now)}
end

if kind == 'none' then redis.call('hset', lock, owner, 1) end
if redis.call('pttl', lock) < lease then redis.call('pexpire', lock, lease) end

-- Who holds it is a courtesy: trouble with this key must not leave the lock half taken.
redis.pcall('hset', info, owner, cjson.encode({
  host = ARGV[3], pid = tonumber(ARGV[4]), user = ARGV[5], command = ARGV[6],
  since = now, seen = now}))
local info_ttl = redis.pcall('pttl', info)
if type(info_ttl) == 'number' and info_ttl < lease then redis.pcall('pexpire', info, lease) end
return {1, tonumber(redis.call('hget', lock, owner))}
