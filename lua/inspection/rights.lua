-- Tells which of the rights that locks need the user lacks; changes nothing. It names no keys: the
-- user may lack the right to do so.
--#arg channel key
--#arg lock key
--#args others  keys: info, queue, scores, a latch
-- Returns the commands that the user may not run, and the keys that he may not use; {} where the
--   server cannot tell (before Redis 7). If he may use no key of the lock, only these keys.
--#read-only
local lacking = {}
if not redis.acl_check_cmd then return lacking end

-- Returns whether the user may run a command, which must be complete.
local function may(command)
  local known, allowed = pcall(redis.acl_check_cmd, unpack(command))
  return not known or allowed
end

local function check(text)
  local words = {}
  for word in text:gmatch('%S+') do words[#words + 1] = word end
  local shown = (words[1] == 'client') and words[1] .. '|' .. words[2] or words[1]
  for i, word in ipairs(words) do
    if word == 'KEY' then words[i] = lock end
    if word == 'CHANNEL' then words[i] = channel end
  end
  if not may(words) then lacking[#lacking + 1] = shown end
end

local of_keys = {
  'type KEY', 'exists KEY', 'del KEY', 'get KEY', 'set KEY v', 'pttl KEY', 'pexpire KEY 1',
  'hget KEY f', 'hset KEY f v', 'hdel KEY f', 'hexists KEY f', 'hincrby KEY f 1', 'hlen KEY',
  'hkeys KEY', 'hgetall KEY', 'lrange KEY 0 1', 'zrange KEY 0 1', 'llen KEY', 'lindex KEY 0',
  'lpos KEY v', 'lpop KEY', 'rpop KEY', 'rpush KEY v', 'lrem KEY 0 v', 'linsert KEY before v w',
  'hmget KEY f', 'zadd KEY 1 v', 'zrem KEY v', 'zscore KEY v', 'zmscore KEY v',
  'zcard KEY', 'zincrby KEY 1 v', 'zrevrange KEY 0 1', 'ltrim KEY 0 1', 'persist KEY',
  'evalsha s 1 KEY', 'eval s 1 KEY'}
for _, command in ipairs(of_keys) do check(command) end
if #lacking == #of_keys then return {lock} end
for _, key in ipairs(others) do
  -- What the user may do to the lock's key but not to this one is a matter of the key.
  for _, command in ipairs({'del', 'type'}) do
    if may({command, lock}) and not may({command, key}) then
      lacking[#lacking + 1] = key
      break
    end
  end
end
for _, command in ipairs({'time', 'publish CHANNEL 0', 'subscribe CHANNEL', 'client setname x'}) do
  check(command)
end
return lacking
