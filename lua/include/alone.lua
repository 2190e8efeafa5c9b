-- Returns whether this server sees all listeners. Redisson can also listen on a replica, or on a shard's
-- channel.
local function is_alone()
  local replication = redis.pcall('info', 'replication')
  local cluster = redis.pcall('info', 'cluster')
  return type(replication) == 'string' and type(cluster) == 'string' and
    replication:find('connected_slaves:0', 1, true) ~= nil and
    cluster:find('cluster_enabled:0', 1, true) ~= nil
end

-- Returns whether it does, and the user may ask who listens. Asks once.
local all_seen
local function sees_all()
  if all_seen == nil then all_seen = not redis.pcall('pubsub', 'numsub').err and is_alone() end
  return all_seen
end
