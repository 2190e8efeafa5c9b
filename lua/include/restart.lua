-- For one of several servers that keep a lock. Needs the local restart_delay: the time (ms) after a start in
-- which the server may have forgotten a lock that is still held. nil: there is only one server.

-- Returns the server's run (empty: only one server), and, if it started too recently, how long (ms) it has
-- been up at least.
local function server_run()
  if not restart_delay then return '' end
  local facts = redis.call('info', 'server')
  -- The uptime is in whole seconds, and may be a second too long. It is negative if the clock was set back.
  local up = math.max(tonumber(facts:match('uptime_in_seconds:(%-?%d+)')) - 1, 0) * 1000
  return facts:match('run_id:(%x+)'), up < restart_delay and up or nil
end
