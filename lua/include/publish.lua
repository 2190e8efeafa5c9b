--#publishes
-- Tells the listeners of a channel. In a cluster, some listen to what is published to all nodes, and some to what is published in the channel's shard
-- (Redisson since 3.22 where the server is Redis 7 or later). `publisher`: redis.call, to fail where
-- the user may not; else nothing.
local function publish(to, text, publisher)
  if is_sharded then redis.pcall('spublish', to, text) end
  return (publisher or redis.pcall)('publish', to, text)
end
