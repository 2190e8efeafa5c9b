-- For one of several servers that keep a lock. Needs include/now.lua, and the locals latch and restart_delay: the time
-- (ms) after a start in which the server may have forgotten a lock that is still held. nil: there is only one server.

-- Returns how long (ms) this run of the server has been met at least. For a server whose clock was set back to `ahead`
-- ms before its start: its uptime tells nothing until then. A key beside the latches remembers the moment of the first
-- request for this lock in this run.
local function met_for(run, ahead)
  local met = latch:match('^.*:') .. run
  local since = tonumber(redis.call('get', met) or nil)
  if since and since <= now then return now - since end
  redis.call('set', met, string.format('%.0f', now), 'px', ahead + restart_delay)
  return 0
end

-- Returns the server's run (empty: only one server), and, if it started too recently, how long (ms) it has
-- been up at least.
local function server_run()
  if not restart_delay then return '' end
  local facts = redis.call('info', 'server')
  local run, seconds = facts:match('run_id:(%x+)'), tonumber(facts:match('uptime_in_seconds:(%-?%d+)'))
  -- The uptime is in whole seconds, and may be a second too long.
  local up = seconds < 0 and restart_delay > 0 and met_for(run, -1000 * seconds) or math.max(seconds - 1, 0) * 1000
  return run, up < restart_delay and up or nil
end
