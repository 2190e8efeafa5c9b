-- One step of a search for locks, called again until its walks have ended; changes nothing.
-- The walks go over all keys of the server side by side. A step takes each of them about `count`
-- keys further, so that it does not hold up the server, however many keys there are. It names no
-- keys: what is found lies in any cluster slot.
--#arg count count
--#arg pattern text  a glob, of names
--#arg simple text  a glob, of the names of string locks; empty: none
--#args cursors  as the step before returned them, none at first
--#parts cursors matching beside unread total run
-- Returns these parts. cursors: {cursor of each walk, '' when it has ended}. matching: {name...} that
-- match their pattern. beside: {name...} found by a queue or by rlock's side key, whatever their name.
-- unread: how many keys could not be looked at. total: how many keys the server has. run: what a
-- restart of the server changes. These two are nil if that is secret. A name may come more than once,
-- and be that of no lock.
--#read-only
local k_longest_count = 10     -- digits of a hold count
local k_braced = 'rlock_info_braced:'  -- of the side keys of names that are in braces as a whole

local unread = 0
local function skip()
  unread = unread + 1
  return false
end

local function exists(key) return redis.pcall('exists', key) == 1 end
local function starts_with(text, start) return text:sub(1, #start) == start end

-- Returns whether a key holds more than a lock would: that is not read.
local function is_huge(key)
  local kind = redis.pcall('type', key).ok
  return kind == 'hash' and redis.call('hlen', key) > k_most_holders or
         kind == 'string' and redis.call('strlen', key) > k_longest_value
end

local hex4 = ('%x'):rep(4)
local k_uuid = ('%x'):rep(8) .. ('%-' .. hex4):rep(3) .. '%-' .. ('%x'):rep(12)
local k_owner = '^' .. k_uuid .. ':.'

-- Returns whether a field of a hash is one of a lock: an owner and its hold count, or the mode.
local function is_of_lock(key, field)
  if field ~= 'mode' and not field:find(k_owner) then return false end
  if redis.call('hstrlen', key, field) > k_longest_count then return false end
  local value = redis.call('hget', key, field)
  if field == 'mode' then return value == 'read' or value == 'write' end
  return value:find('^%d+$') ~= nil
end

-- Returns whether a hash is a lock, by its fields. A lock with garbage among them is found by what
-- lies beside it.
local function is_lock(key)
  if starts_with(key, 'rlock_info:') or starts_with(key, k_braced) then return false end
  local fields = redis.pcall('hrandfield', key, 16)
  if fields.err then return skip() end
  for _, field in ipairs(fields) do
    if not is_of_lock(key, field) then return false end
  end
  return not is_huge(key)
end

-- Returns whether a string is a lock: every one is, except for what belongs to another lock.
local function is_string_lock(key)
  if starts_with(key, 'redisson_unlock_latch:') or starts_with(key, 'redisson_lock_token:') or
     key:find(':rwlock_timeout:%d+$') then
    return false
  end
  local length = redis.pcall('strlen', key)
  return type(length) == 'number' and length <= k_longest_value or skip()
end

-- Returns the lock beside which a key lies whose name ends in `rest`, or nil. By Redisson's rule a
-- name without a brace of its own is put in braces: "{a}" is the lock "a", unless there is only "{a}".
local function lock_beside(rest)
  local inner = rest:match('^{([^{]*)}$')
  if not inner then return rest:find('{', 1, true) and rest or nil end
  if inner == '' or exists(rest) and not exists(inner) then return rest end
  return inner
end

local matching, beside = {}, {}
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

-- Redisson's semaphores have numbers for keys: one is found by its permits that are out.
local function look_at_permits(key)
  local name = lock_beside(key:sub(1, -#':timeout' - 1))
  if not name or redis.pcall('type', name).ok ~= 'string' then return end
  if redis.pcall('strlen', name) <= k_longest_count then add(beside, name) end
end

-- Where `look` returns true, the key itself is a lock.
local walks = {{look = is_lock, match = pattern, 'type', 'hash'},
               {look = look_beside, match = 'r*'},
               {look = look_at_permits, match = '*:timeout', 'type', 'zset'}}
if simple ~= '' then walks[4] = {look = is_string_lock, match = simple, 'type', 'string'} end

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
return {next_cursors, matching, beside, unread, type(size) == 'number' and size, run or false}
