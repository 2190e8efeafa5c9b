-- One of several servers that keep a lock together. Needs the local restart_delay: how long (ms) it
-- must have been up so that it cannot have forgotten a lock that is still held; nil where it is the
-- only one.

-- Returns which run of this server it is, or an empty string, and how long (ms) it has been up at
-- the least, if that is too short.
local function server_run()
  if not restart_delay then return '' end
  local facts = redis.call('info', 'server')
  -- Whole seconds, each end of which may be cut off; below 0 where the clock was set back.
  local up = math.max(tonumber(facts:match('uptime_in_seconds:(%-?%d+)')) - 1, 0) * 1000
  return facts:match('run_id:(%x+)'), up < restart_delay and up or nil
end
