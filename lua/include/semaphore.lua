-- A semaphore in the layout of Redisson's RPermitExpirableSemaphore. The lock's key is a string: the number
-- of available permits. A sorted set has the permits in use, by their end (ms). The total is the sum of
-- both. Needs the locals lock, info, permits, channel and now (ms), include/info.lua, include/publish.lua
-- and include/twin.lua.
--
-- A semaphore that rlock created has its total in the side key's field `permits`. Its keys expire, and are
-- deleted with the last permit. rlock leaves a semaphore of another client as it is.

local k_most_apart = 1000   -- ms between the commands of one script
local k_unheard_idle = 5000  -- ms, instead of k_idle if nobody listens

-- Returns whether the number ends as long after a permit as rlock's does (keep_alive): then rlock created the
-- semaphore, and the side key was evicted.
local function ends_as_ours()
  local left = redis.pcall('pttl', lock)
  if type(left) ~= 'number' or left < 0 then return false end
  for _, idle in ipairs({k_idle, k_unheard_idle}) do
    local ends = now + left - idle
    local from, to = string.format('%.0f', ends - k_most_apart), string.format('%.0f', ends + k_most_apart)
    if redis.pcall('zrange', permits, from, to, 'byscore', 'limit', 0, 1)[1] then return true end
  end
  return false
end

local is_noted = redis.pcall('hexists', info, 'permits') == 1
local is_ours = is_noted or ends_as_ours()

-- Returns a message if the permits in use may be the twin's, or nil. Both names share one set, and nothing
-- shows to which name a permit belongs.
local function twin_use()
  local value = twin and redis.pcall('get', twin)
  if type(value) ~= 'string' or not value:find('^%-?%d+$') then return nil end
  return 'the semaphore ' .. twin .. ", which has the same permits in Redisson's format: choose another name"
end

-- Returns what uses the name instead of a semaphore, or nil. A number with an expiry, and no other key
-- beside it, counts as a string lock, unless it is the total that was asked for (`most`, or nil): then it is a
-- semaphore whose side key was evicted. A string lock with the value 1 is usual, but never lasts that long.
local function other_use(most)
  local kind, set = redis.call('type', lock).ok, redis.call('type', permits).ok
  if kind ~= 'none' and kind ~= 'string' then return kind end
  if set ~= 'none' and set ~= 'zset' then return set .. ' in place of its permits' end
  if kind == 'none' then return set == 'zset' and twin_use() or nil end
  local value = redis.call('get', lock)
  if #value > 15 or not value:find('^%-?%d+$') then return kind end
  local left = set == 'none' and redis.call('pttl', lock) or -1
  local is_total = tonumber(value) == most and (most > 1 or left > k_far)
  return left >= 0 and not is_total and not is_ours and (most and 'number' or kind) or nil
end

local function available() return tonumber(redis.call('get', lock)) or 0 end
local function count_out() return redis.call('zcard', permits) end

-- Returns whether an owner has a permit that has not ended. An ended permit stays in the set for a while.
local function has_permit(of)
  local ends = redis.call('type', permits).ok == 'zset' and redis.call('zscore', permits, of)
  return ends and tonumber(ends) > now
end

-- Extends the permit of an owner to `span` ms at least.
local function extend(of, span)
  redis.call('zrem', permits, '')  -- removes nothing, but lets the script write without memory
  redis.call('zadd', permits, 'xx', 'gt', now + span, of)
end

-- Nested holds share their owner's permit. Redisson's keys have no place for the hold count. The owner's
-- entry in info has it.

-- Returns the hold count, or nil if there was only one hold, or the count was lost.
local function count_holds(of)
  local about = known(of)
  return about and tonumber(about.holds)
end

-- Writes the hold count. Returns whether that succeeded.
local function note_holds(of, count)
  local about = known(of) or {}
  about.holds = count
  tell(of, about, math.max(redis.call('zscore', permits, of) - now, 0))
  return count_holds(of) == count
end

-- Makes `count` permits available again. If the number is gone, does nothing.
local function give_back(count)
  local value = tonumber(redis.call('get', lock) or nil)
  if value then redis.call('set', lock, value + count, 'keepttl') end
end

-- Makes permits that have ended available again.
local function take_back_expired()
  while true do
    local expired = redis.call('zrange', permits, '-inf', now, 'byscore', 'limit', 0, k_most_at_once)
    if #expired == 0 then return end
    redis.call('zrem', permits, unpack(expired))
    give_back(#expired)
    for _, holder in ipairs(expired) do redis.pcall('hdel', info, holder) end
  end
end

-- Makes the keys outlive every permit in use. rlock's own semaphore also outlives the last permit for k_idle, or
-- for k_unheard_idle if nobody listens (`is_unheard`). In a cluster, a key that moves to another node may be out of
-- reach. The next renewal finds it.
local function keep_alive(is_unheard)
  local last = redis.call('zrange', permits, -1, -1, 'withscores')[2]
  local left = last and math.max(tonumber(last) - now, 0) or 0
  local idle = not is_ours and 0 or is_unheard and k_unheard_idle or k_idle
  if is_ours and not is_noted then
    put('permits', string.format('%.0f', available() + count_out()), k_idle)
  end
  for _, key in ipairs({permits, lock, is_ours and info or nil}) do
    local ttl = not is_ours and redis.pcall('pttl', key)
    if is_ours or type(ttl) == 'number' and ttl >= 0 and ttl < left then
      if left > k_for_ever and key == info then
        redis.pcall('pexpire', key, k_idle * 30)  -- without it, this would look like another client's semaphore
      elseif left > k_for_ever then
        redis.pcall('persist', key)
      else
        redis.pcall('pexpire', key, left + idle)
      end
    end
  end
end

-- Tells the waiters how many permits are available, if any.
local function announce(count)
  if count > 0 then publish(channel, string.format('%.0f', count)) end
end

--#include subscribers.lua
-- Returns whether the number seems to be a semaphore that rlock created, has no permits in use, and has lost its side
-- key: rlock leaves a number for a day for clients that listen. Another client's semaphore has no expiry, and a string
-- lock never lasts that long.
local function rests_as_ours()
  if redis.call('exists', permits) == 1 then return false end
  local left = redis.call('pttl', lock)
  return left > k_far and left <= k_idle and (count_listeners(channel) or 0) > 0
end

-- Call it when permits were given back. If somebody may listen, keep the number: without it, Redisson waits
-- forever.
local function settle()
  local is_unheard = count_listeners(channel) == 0
  if is_ours and count_out() == 0 and is_unheard then
    redis.call('del', lock, permits)
    redis.pcall('hdel', info, 'permits')
    return
  end
  -- Nobody renews or releases a permit that --at-least keeps.
  keep_alive(is_unheard)
  announce(available())
end

-- Returns a holder's name for people: a Redisson permit in hexadecimal.
local function shown(holder)
  if #holder ~= 16 then return holder end
  return (holder:gsub('.', function(byte) return ('%02x'):format(byte:byte()) end))
end
