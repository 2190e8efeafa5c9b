-- Reads everything that the server stores about a lock, at one moment. Changes nothing.
--#key lock
--#key info
--#key queue
--#key scores
--#key token
--#arg channel key
--#arg prefix text  the start of the names of the readers' keys
--#arg most count  how many entries lock, info, queue and scores may have together. Negative: any number. 0: do not
--   read them
--#arg permits key  of a semaphore; the user may have no right to it
--#arg rw_channel key
--#arg semaphore_channel key
--#arg is_cluster flag
--#parts now type ttl content queue scores token queue_type scores_type info_type info listeners
--#parts elsewhere dead_readers token_type token_ttl permits permits_out has_permits listening replication keyspace
-- Returns these parts, or 'LONG' if there are more entries than `most`. now: ms. content: {field, value...}, or
-- {value} of a string. queue: {member...}. scores: {member, score...}. token: may be nil. info: {owner, JSON...}.
-- listeners: how many listen on the channel of each of the first waiters (empty: unknown). elsewhere: 1 if there may
-- be listeners that this server does not see. dead_readers: readers whose keys are all gone. permits: {permit, its
-- end...} of a semaphore, at most k_most_holders. permits_out: their number. has_permits: 1 if the key of the permits
-- exists. listening: how many listen on each of the three channels; nil if the user is not allowed to ask. replication,
-- keyspace: these parts of INFO, or nil if the user is not allowed to ask. keyspace also only if the database is empty.
--#read-only
local function type_of(key) return redis.call('type', key).ok end
--#include now.lua
-- At the same moment as the clock, because reading a long queue takes a while.
local ttl = redis.call('pttl', lock)
--#include alone.lua
--#include twin.lua

-- Returns how many listen on the channel of each of the first waiters, and whether there may be listeners that this
-- server does not see.
local function count_listeners()
  local first = redis.call('lrange', queue, 0, k_most_at_once - 1)
  if not first[1] then return {}, false end
  local channels, listeners = {}, {}
  for i, member in ipairs(first) do channels[i] = channel .. ':' .. member end
  local counts = redis.pcall('pubsub', 'numsub', unpack(channels))
  for i = 2, #counts, 2 do listeners[#listeners + 1] = counts[i] end
  if is_alone() then return listeners, false end
  local in_shard = redis.pcall('pubsub', 'shardnumsub', unpack(channels))
  for i = 2, #in_shard, 2 do listeners[i / 2] = (listeners[i / 2] or 0) + in_shard[i] end
  return listeners, true
end

-- Returns how many listen on each channel of releases, or false if the user is not allowed to ask.
local function count_listening()
  local counts = {}
  for _, command in ipairs({'numsub', is_cluster and 'shardnumsub' or nil}) do
    local reply = redis.pcall('pubsub', command, channel, rw_channel, semaphore_channel)
    if reply.err and command == 'numsub' then return false end
    -- rlock clients listen in both ways, Redisson clients in one.
    for i = 1, reply.err and 0 or 3 do counts[i] = math.max(counts[i] or 0, reply[2 * i]) end
  end
  return counts
end

-- Returns the readers whose keys are all gone. Skips locks with very many readers.
local function dead_readers()
  local dead = {}
  if redis.call('hget', lock, 'mode') ~= 'read' then return dead end
  if redis.call('hlen', lock) > 1001 then return dead end
  local content = redis.call('hgetall', lock)
  for i = 1, #content, 2 do
    local count = tonumber(content[i + 1])
    if content[i] ~= 'mode' and count and count >= 1 and count <= 100 then
      local holds = {}
      for k = 1, count do holds[k] = prefix .. content[i] .. ':rwlock_timeout:' .. k end
      if redis.pcall('exists', unpack(holds)) == 0 then dead[#dead + 1] = content[i] end
    end
  end
  return dead
end

-- Returns the answer to a command about a key, or false if the key has another type.
local function ask(kind, command, key) return type_of(key) == kind and redis.call(command, key) end

local kind = type_of(lock)
local size = (ask('hash', 'hlen', lock) or 0) + (ask('hash', 'hlen', info) or 0) +
             (ask('list', 'llen', queue) or 0) + (ask('zset', 'zcard', scores) or 0)
if most > 0 and size > most then return 'LONG' end

local content, members, deadlines, known, dead = {}, {}, {}, {}, {}
if most ~= 0 then
  if kind == 'hash' then content = redis.call('hgetall', lock) end
  if type_of(queue) == 'list' then members = redis.call('lrange', queue, 0, -1) end
  if type_of(scores) == 'zset' then deadlines = redis.call('zrange', scores, 0, -1, 'withscores') end
  if type_of(info) == 'hash' then known = redis.call('hgetall', info) end
end
if kind == 'hash' then dead = dead_readers() end
if kind == 'string' then content = {redis.call('get', lock)} end
local ends, count_out = {}, 0
local has_out = (kind == 'string' or kind == 'none') and redis.pcall('type', permits).ok == 'zset'
if has_out and kind == 'none' then
  -- The permits may belong to the twin.
  has_out = not twin or redis.pcall('type', twin).ok ~= 'string'
end
if has_out then
  ends = redis.call('zrange', permits, 0, k_most_holders - 1, 'withscores')
  count_out = redis.call('zcard', permits)
end
local listeners, elsewhere = {}, false
if type_of(queue) == 'list' then listeners, elsewhere = count_listeners() end

--#include server_info.lua
local replication = ask_server('replication')
-- Clients listen at the master of a replica.
if replication and replication:find('role:slave', 1, true) then elsewhere = true end
local keyspace = kind == 'none' and redis.pcall('dbsize') == 0 and ask_server('keyspace')

return {string.format('%.0f', now), kind, ttl, content, members, deadlines,
        ask('string', 'get', token), type_of(queue), type_of(scores), type_of(info), known, listeners,
        elsewhere and 1 or 0, dead, type_of(token), redis.call('pttl', token),
        ends, count_out, has_out and 1 or 0, count_listening(), replication, keyspace}
