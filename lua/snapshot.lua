-- Reads all that Redis holds about a lock, at one instant; changes nothing.
-- KEYS: lock, info, queue, timeout (the queue's scores), token
-- Returns {now (ms), type of lock, pttl, {field, value...} or {value} of a string,
--   {queue member...}, {member, score...}, token or nil, type of queue, type of timeout,
--   {{owner, host, user, command, pid, since, seen}...}}; numbers of info as text, empty if unknown.
local lock, info, queue, scores, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local function type_of(key) return redis.call('type', key).ok end
local time = redis.call('time')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))

local kind, content = type_of(lock), {}
if kind == 'hash' then content = redis.call('hgetall', lock) end
if kind == 'string' then content = {redis.call('get', lock)} end

local members, deadlines, known = {}, {}, {}
if type_of(queue) == 'list' then members = redis.call('lrange', queue, 0, -1) end
if type_of(scores) == 'zset' then deadlines = redis.call('zrange', scores, 0, -1, 'withscores') end

if type_of(info) == 'hash' then
  local pairs_of_info = redis.call('hgetall', info)
  for i = 1, #pairs_of_info, 2 do
    local ok, about = pcall(cjson.decode, pairs_of_info[i + 1])
    if ok and type(about) == 'table' then
      local function text(name) return type(about[name]) == 'string' and about[name] or '' end
      local function number(name)
        local value = tonumber(about[name])
        return value and string.format('%.0f', value) or ''
      end
      known[#known + 1] = {pairs_of_info[i], text('host'), text('user'), text('command'),
                           number('pid'), number('since'), number('seen')}
    end
  end
end

local fence = false
if type_of(token) == 'string' then fence = redis.call('get', token) end
return {now, kind, redis.call('pttl', lock), content, members, deadlines, fence,
        type_of(queue), type_of(scores), known}
