-- One step of a search for locks. Call it again until its walks have ended. Changes nothing. Several walks go
-- through all keys of the server. A step takes each walk about `count` keys further, so that it never blocks the
-- server for long. The script declares no keys, because it finds keys in any cluster slot.
--#arg count count
--#arg pattern text  a glob for lock names
--#arg simple text  a glob for the names of string locks; empty: none
--#arg counts flag  whether to look for strings that look like locks, if there is no such glob
--#args cursors  from the step before; none at first
--#parts cursors matching beside unread total run alike replication keyspace
-- Returns these parts. cursors: the cursor of each walk ('': ended). matching: names that match their pattern.
-- beside: names found by other keys of a lock (queue, side key, permits), whatever the name. unread: how many keys
-- it could not look at. total: how many keys the server has. run: of the server. total and run are nil if the user
-- is not allowed to ask. A name can come more than once, and need not be a lock. alike: strings whose names match
-- `pattern` and whose values look like those of locks. replication, keyspace: these parts of INFO at the first step; nil
-- if the user is not allowed to ask. keyspace also only if the database is empty.
--#read-only
local k_longest_count = 10     -- digits of a hold count
local k_braced = 'rlock_info_braced:'  -- the side keys of names such as {a}

local unread = 0
local function skip()
  unread = unread + 1
  return false
end

local function exists(key) return redis.pcall('exists', key) == 1 end
local function starts_with(text, start) return text:sub(1, #start) == start end

-- Returns whether a key is too large for a lock, so that it is not read.
local function is_huge(key)
  local kind = redis.pcall('type', key).ok
  return kind == 'hash' and redis.call('hlen', key) > k_most_holders or
         kind == 'string' and redis.call('strlen', key) > k_longest_value
end

local hex4 = ('%x'):rep(4)
local k_uuid = ('%x'):rep(8) .. ('%-' .. hex4):rep(3) .. '%-' .. ('%x'):rep(12)
local k_owner = '^' .. k_uuid .. ':.'

-- Returns whether a field of a hash fits a lock: an owner with its hold count, or the mode.
local function is_of_lock(key, field)
  if field ~= 'mode' and not field:find(k_owner) then return false end
  if redis.call('hstrlen', key, field) > k_longest_count then return false end
  local value = redis.call('hget', key, field)
  if field == 'mode' then return value == 'read' or value == 'write' end
  return value:find('^%d+$') ~= nil
end

-- Returns whether a hash looks like a lock, by some of its fields. A lock with other fields is found only by its
-- other keys.
local function is_lock(key)
  if starts_with(key, 'rlock_info:') or starts_with(key, k_braced) then return false end
  local fields = redis.pcall('hrandfield', key, 16)
  if fields.err then return skip() end
  for _, field in ipairs(fields) do
    if not is_of_lock(key, field) then return false end
  end
  return not is_huge(key)
end

-- Returns whether a string belongs to another lock.
local function is_of_other(key)
  return starts_with(key, 'redisson_unlock_latch:') or starts_with(key, 'redisson_lock_token:') or
    key:find(':rwlock_timeout:%d+$') ~= nil
end

-- Returns whether a string counts as a lock: every string does, unless it belongs to another lock.
local function is_string_lock(key)
  if is_of_other(key) then return false end
  local length = redis.pcall('strlen', key)
  return type(length) == 'number' and length <= k_longest_value or skip()
end

-- Returns the name of the lock to which a key belongs, or nil. `rest`: the end of the key's name. Redisson puts a
-- name without a brace in braces: so "{a}" is the lock "a", unless only "{a}" exists.
local function lock_beside(rest)
  local inner = rest:match('^{([^{]*)}$')
  if not inner then return rest:find('{', 1, true) and rest or nil end
  if inner == '' or exists(rest) and not exists(inner) then return rest end
  return inner
end

-- The value of redis-py, which sets no expiry as a rule: a UUID of version 1 without hyphens.
local k_of_redis_py = '^' .. ('%x'):rep(12) .. '1' .. ('%x'):rep(3) .. '[89ab]' .. ('%x'):rep(15) .. '$'
local k_of_shedlock = '^ADDED:%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d[%.%d]*Z@.'  -- a time and a host
local k_longest_alike = 300    -- bytes
-- Returns whether a string has a value like redis-py's, or an expiry and a value like those of redis-py, node-redlock,
-- redsync and ShedLock, or a UUID.
local function is_alike(key)
  if is_of_other(key) then return false end
  local length = redis.pcall('strlen', key)
  if type(length) ~= 'number' or length < 24 or length > k_longest_alike then return false end
  local value = redis.pcall('get', key)
  if type(value) ~= 'string' then return false end
  if redis.pcall('pttl', key) == -1 then return value:find(k_of_redis_py) ~= nil end
  if length == 32 then return value:find('^%x+$') ~= nil end
  if length == 24 then return value:find('^[%w+/]+==$') ~= nil end
  return value:find('^' .. k_uuid .. '$') ~= nil or value:find(k_of_shedlock) ~= nil
end

local matching, beside, alike = {}, {}, {}
local function add(to, name)
  if #name > 0 and #name <= k_longest_name then to[#to + 1] = name end
end

local function look_beside(key)
  for _, start in ipairs({'redisson_lock_queue:', 'redisson_lock_timeout:', 'rlock_info:', k_braced}) do
    if starts_with(key, start) then
      local rest = key:sub(#start + 1)
      local name = start == k_braced and rest or lock_beside(rest)
      if name and is_huge(name) then
        skip()
      elseif name then
        add(beside, name)
      end
    end
  end
end

-- A Redisson semaphore is a number, so it is found only by its permits in use.
local function look_at_permits(key)
  local name = lock_beside(key:sub(1, -#':timeout' - 1))
  if not name or redis.pcall('type', name).ok ~= 'string' then return end
  if redis.pcall('strlen', name) <= k_longest_count then add(beside, name) end
end

-- If `look` returns true, the key itself is a lock.
local walks = {{look = is_lock, match = pattern, 'type', 'hash'},
               {look = look_beside, match = 'r*'},
               {look = look_at_permits, match = '*:timeout', 'type', 'zset'}}
if simple ~= '' then
  walks[4] = {look = is_string_lock, match = simple, 'type', 'string'}
elseif counts then
  local function look_alike(key)
    if is_alike(key) then add(alike, key) end
  end
  walks[4] = {look = look_alike, match = pattern, 'type', 'string'}
end

local next_cursors = {}
for i, walk in ipairs(walks) do
  local cursor = cursors[i] or '0'
  if cursor ~= '' then
    local reply = redis.call('scan', cursor, 'match', walk.match, 'count', count, unpack(walk))
    for _, key in ipairs(reply[2]) do
      if walk.look(key) then add(matching, key) end
    end
    cursor = reply[1] == '0' and '' or reply[1]
  end
  next_cursors[i] = cursor
end

local size = redis.pcall('dbsize')
local about = redis.pcall('info', 'server')
local run = type(about) == 'string' and about:match('run_id:(%x+)')
--#include server_info.lua
local replication = not cursors[1] and ask_server('replication')
local keyspace = not cursors[1] and size == 0 and ask_server('keyspace')
return {next_cursors, matching, beside, unread, type(size) == 'number' and size, run or false, alike, replication,
        keyspace}
