-- Returns the rights that locks need and the user lacks. Changes nothing. Gets the keys as arguments, because the
-- user may lack the right to name them as keys.
--#arg channel key
--#arg read_write_channel key
--#arg semaphore_channel key
--#arg lock key
--#arg token key
--#args others  keys: info, queue, scores, a latch
-- Returns pairs of a use and a missing right: a command, a key, or channels (&PATTERN). The uses: locks (of any
--   kind), read_write, fair, tokens, semaphores, inspection (list and doctor). {} if the server cannot tell
--   (before Redis 7). If the user is not allowed to use the lock's key at all, only that key.
--#read-only
local lacking = {}
if not redis.acl_check_cmd then return lacking end

local function lacks(use, right)
  lacking[#lacking + 1] = use
  lacking[#lacking + 1] = right
end

-- Returns whether the user may run a command. The command must be complete.
local function may(command)
  local known, allowed = pcall(redis.acl_check_cmd, unpack(command))
  return not known or allowed
end

local k_keys = {KEY = lock, TOKEN = token}
local function check_all(use, commands)
  for _, command in ipairs(commands) do
    local words = {}
    for word in command:gmatch('%S+') do words[#words + 1] = k_keys[word] or word end
    local shown = words[1] == 'client' and words[1] .. '|' .. words[2] or words[1]
    if not may(words) then lacks(use, shown) end
  end
end

local of_keys = {
  'type KEY', 'exists KEY', 'del KEY', 'get KEY', 'set KEY v', 'pttl KEY', 'pexpire KEY 1',
  'hget KEY f', 'hset KEY f v', 'hdel KEY f', 'hexists KEY f', 'hincrby KEY f 1', 'hlen KEY',
  'hkeys KEY', 'hgetall KEY', 'lrange KEY 0 1', 'zrange KEY 0 1', 'evalsha s 1 KEY', 'eval s 1 KEY'}
check_all('locks', of_keys)
if #lacking == 2 * #of_keys then return {'locks', lock} end
for _, key in ipairs(others) do
  -- If a command is allowed for the lock's key but not for this one, the user lacks the key.
  for _, command in ipairs({'del', 'type'}) do
    if may({command, lock}) and not may({command, key}) then
      lacks('locks', key)
      break
    end
  end
end
check_all('locks', {'time', 'client setname x'})
-- If a command is allowed for none of the channels, the user lacks the command. Both commands need the same
-- channels.
local of_channels = {{'locks', channel}, {'read_write', read_write_channel}, {'semaphores', semaphore_channel}}
local refused = {}
for _, command in ipairs({{'publish', channel, '0'}, {'subscribe', channel}}) do
  local of_this = {}
  for _, one in ipairs(of_channels) do
    command[2] = one[2]
    if not may(command) then of_this[#of_this + 1] = one end
  end
  if #of_this == #of_channels then lacks('locks', command[1]) else refused[#refused + 1] = of_this end
end
for _, one in ipairs(refused[1] or {}) do lacks(one[1], '&' .. one[2]:match('^[^:]*:') .. '*') end
check_all('fair', {
  'llen KEY', 'lindex KEY 0', 'lpos KEY v', 'lpop KEY', 'rpop KEY', 'rpush KEY v', 'lrem KEY 0 v',
  'linsert KEY before v w', 'hmget KEY f', 'zadd KEY 1 v', 'zrem KEY v', 'zscore KEY v',
  'zmscore KEY v', 'zcard KEY', 'zincrby KEY 1 v', 'zrevrange KEY 0 1', 'ltrim KEY 0 1',
  'persist KEY'})
check_all('tokens', {'incr TOKEN'})
check_all('semaphores', {'zadd KEY 1 v', 'zrem KEY v', 'zscore KEY v', 'zcard KEY', 'persist KEY'})
check_all('inspection', {'scan 0', 'strlen KEY', 'hstrlen KEY f', 'hrandfield KEY'})
return lacking
