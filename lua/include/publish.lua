--#publishes
-- Publishes a message. In a cluster, some clients listen to messages for all nodes, and some to messages for
-- the channel's shard (Redisson since 3.22, if the server is Redis 7 or later). `publisher`: redis.call,
-- to fail if the user has no right to publish. nil: ignore that.
local function publish(to, text, publisher)
  if is_sharded then redis.pcall('spublish', to, text) end
  return (publisher or redis.pcall)('publish', to, text)
end
