-- Reads all that Redis holds about a lock, at one instant; changes nothing.
-- KEYS: lock, info, queue, timeout (the queue's scores), token
-- ARGV: channel
-- Returns {now (ms), type of lock, pttl, {field, value...} or {value} of a string,
--   {queue member...}, {member, score...}, token or nil, type of queue, type of timeout, type of
--   info, {owner, JSON...} of info, {listeners...} on the channel of each of the first waiters (as
--   far as the server tells), 1 if there may be listeners elsewhere}.
--#read-only
local lock, info, queue, scores, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local function type_of(key) return redis.call('type', key).ok end
--#include now.lua

local kind, content = type_of(lock), {}
if kind == 'hash' then content = redis.call('hgetall', lock) end
if kind == 'string' then content = {redis.call('get', lock)} end

local members, deadlines, known = {}, {}, {}
if type_of(queue) == 'list' then members = redis.call('lrange', queue, 0, -1) end
if type_of(scores) == 'zset' then deadlines = redis.call('zrange', scores, 0, -1, 'withscores') end
if type_of(info) == 'hash' then known = redis.call('hgetall', info) end

local listeners, elsewhere = {}, 0
if members[1] then
  local channels = {}
  for i = 1, math.min(#members, 1000) do channels[i] = ARGV[1] .. ':' .. members[i] end
  local counts = redis.pcall('pubsub', 'numsub', unpack(channels))
  for i = 2, #counts, 2 do listeners[#listeners + 1] = counts[i] end
  -- Redisson can listen on a replica, or on a shard's channel.
  local replication = redis.pcall('info', 'replication')
  local alone = type(replication) == 'string' and replication:find('connected_slaves:0', 1, true)
  local cluster = redis.pcall('info', 'cluster')
  alone = alone and type(cluster) == 'string' and cluster:find('cluster_enabled:0', 1, true)
  elsewhere = alone and 0 or 1
end

local fence = false
if type_of(token) == 'string' then fence = redis.call('get', token) end
return {string.format('%.0f', now), kind, redis.call('pttl', lock), content, members, deadlines,
        fence, type_of(queue), type_of(scores), type_of(info), known, listeners, elsewhere}
