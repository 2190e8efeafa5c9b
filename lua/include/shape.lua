-- Needs the local lock, which is a hash.
local k_most_looked_at = 100  -- fields, because each request for a held read/write lock looks at them

-- Returns whether the hash looks like a lock: each field is an owner with its hold count, or `mode`.
local function is_lock_hash()
  local count = redis.call('hlen', lock)
  if count > k_most_holders then return false end
  local fields = redis.call('hkeys', lock)
  local is_empty = true
  for i = 1, math.min(count, k_most_looked_at) do
    if fields[i] ~= 'mode' then
      is_empty = false
      if not fields[i]:find(':', 1, true) or not redis.call('hget', lock, fields[i]):find('^%d+$') then return false end
    end
  end
  return not is_empty
end
