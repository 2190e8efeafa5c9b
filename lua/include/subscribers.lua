-- Returns how many listen on these channels, or nil where that cannot be told. Needs include/publish.lua.
-- Of rlock's, which listen to the server and to the shard, each counts once; Redisson's listen to one.
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
