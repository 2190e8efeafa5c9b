-- One of several servers that keep a lock together. Its argument 5: how long (ms) it must have been
-- up so that it cannot have forgotten a lock that is still held; empty where it is the only one.

-- Returns which run of this server it is, or an empty string, and how long (ms) it has been up at
-- the least, if that is too short.
local function server_run()
  if ARGV[5] == '' then return '' end
  local facts = redis.call('info', 'server')
  -- Whole seconds, each end of which may be cut off; below 0 where the clock was set back.
  local up = math.max(tonumber(facts:match('uptime_in_seconds:(%-?%d+)')) - 1, 0) * 1000
  return facts:match('run_id:(%x+)'), up < tonumber(ARGV[5]) and up or nil
end
