-- For one of several servers that keep a lock. Needs the locals latch and restart_delay: the time (ms) after a start in
-- which the server may have forgotten a lock that is still held. nil: there is only one server.

local k_longest_met = 30 * k_idle

-- Returns how long (ms) this run of the server has been met at least. For a server whose clock was set back since it
-- started: its uptime tells nothing. A key beside the latches remembers the first request for this lock in this run.
local function met_for(run)
  local met, span = latch:match('^.*:') .. run, restart_delay + k_longest_met
  local left = redis.call('pttl', met)
  if left > 0 and left <= span then return span - left end
  redis.call('set', met, '0', 'px', span)
  return 0
end

-- Returns the server's run (empty: only one server), and, if it started too recently, how long (ms) it has
-- been up at least.
local function server_run()
  if not restart_delay then return '' end
  local facts = redis.call('info', 'server')
  local run, seconds = facts:match('run_id:(%x+)'), tonumber(facts:match('uptime_in_seconds:(%-?%d+)'))
  -- The uptime is in whole seconds, and may be a second too long.
  local up = seconds < 0 and restart_delay > 0 and met_for(run) or math.max(seconds - 1, 0) * 1000
  return run, up < restart_delay and up or nil
end
