-- Returns how many clients listen on these channels, or nil if that is unknown. An rlock client listens both
-- for all nodes and in the shard, and counts once. A Redisson client listens in one way. Needs
-- include/publish.lua.
local function count_listeners(...)
  local most = 0
  for _, command in ipairs({'numsub', is_sharded and 'shardnumsub' or nil}) do
    local reply = redis.pcall('pubsub', command, ...)
    if reply.err then return nil end
    local count = 0
    for i = 2, #reply, 2 do count = count + reply[i] end
    most = math.max(most, count)
  end
  return most
end
