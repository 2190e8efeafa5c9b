-- A semaphore in the layout of Redisson's RPermitExpirableSemaphore: the lock's key is a string, how
-- many permits are available, and a sorted set has those that are out, by when they end (ms). What
-- both say together is how many there are. Needs the locals lock, info, permits, channel and now
-- (ms), include/info.lua, include/publish.lua and include/twin.lua.
--
-- A semaphore that rlock made has its number in the side key, as `permits`. Its keys expire, and
-- they go with the last permit. One that Redisson made stays as it is.

local k_most_looked_at = 16     -- holders, to find one to tell of
local k_most_at_once = 1000

local function made_here() return redis.pcall('hexists', info, 'permits') == 1 end

-- Returns what to say if the permits that are out may be those of the name's twin: they are in one
-- set, and nothing tells whose a permit is. Otherwise nil.
local function twin_use()
  local value = twin and redis.pcall('get', twin)
  if type(value) ~= 'string' or not value:find('^%-?%d+$') then return nil end
  return 'the semaphore ' .. twin .. ", which has the same permits in Redisson's format: choose another name"
end

-- Returns what else the name is in use for, or nil. A number with an expiry, beside which there is
-- nothing, is a string lock of somebody's rather than a semaphore.
local function other_use()
  local kind, set = redis.call('type', lock).ok, redis.call('type', permits).ok
  if kind ~= 'none' and kind ~= 'string' then return kind end
  if set ~= 'none' and set ~= 'zset' then return set .. ' in place of its permits' end
  if kind == 'none' then return set == 'zset' and twin_use() or nil end
  local value = redis.call('get', lock)
  if #value > 15 or not value:find('^%-?%d+$') then return kind end
  return set == 'none' and redis.call('pttl', lock) >= 0 and not made_here() and kind or nil
end

local function available() return tonumber(redis.call('get', lock)) or 0 end
local function count_out() return redis.call('zcard', permits) end

-- One whose time is over stays in the set until it is taken back.
local function has_permit(of)
  local ends = redis.call('type', permits).ok == 'zset' and redis.call('zscore', permits, of)
  return ends and tonumber(ends) > now
end

-- Has the permit of an owner who has one last for so long (ms) at the least.
local function extend(of, span)
  redis.call('zrem', permits, '')  -- of nobody: it opens the script for writing without memory
  redis.call('zadd', permits, 'xx', 'gt', now + span, of)
end

-- Nested holds share their owner's permit. Redisson's keys have no room for how many there are: that
-- is noted with the owner.

-- Returns nothing where there was only one, or where it was lost.
local function count_holds(of)
  local about = known(of)
  return about and tonumber(about.holds)
end

-- Returns whether it could be noted.
local function note_holds(of, count)
  local about = known(of) or {}
  about.holds = count
  tell(of, about, math.max(redis.call('zscore', permits, of) - now, 0))
  return count_holds(of) == count
end

-- Gives `count` permits back that were out. Where the number is gone, there is nothing to add to.
local function give_back(count)
  local value = tonumber(redis.call('get', lock) or nil)
  if value then redis.call('set', lock, value + count, 'keepttl') end
end

-- Takes the permits back whose time is over.
local function take_back_expired()
  while true do
    local expired = redis.call('zrange', permits, '-inf', now, 'byscore', 'limit', 0, k_most_at_once)
    if #expired == 0 then return end
    redis.call('zrem', permits, unpack(expired))
    give_back(#expired)
    for _, holder in ipairs(expired) do redis.pcall('hdel', info, holder) end
  end
end

-- Sees to it that the keys outlive every permit that is out; with `is_unheard`, nobody listens, and
-- what rlock made goes with the last permit. In a cluster, what moves to another node may be out of
-- reach; the next renewal finds it.
local function keep_alive(is_unheard)
  local last = redis.call('zrange', permits, -1, -1, 'withscores')[2]
  local left = last and math.max(tonumber(last) - now, 0) or 0
  local is_ours = made_here()
  local idle = is_ours and not is_unheard and k_idle or 0
  for _, key in ipairs({permits, lock, is_ours and info or nil}) do
    local ttl = not is_ours and redis.pcall('pttl', key)
    if is_ours or type(ttl) == 'number' and ttl >= 0 and ttl < left then
      if left > k_for_ever and key == info then
        redis.pcall('pexpire', key, k_idle * 30)  -- without it, this is the service's semaphore
      elseif left > k_for_ever then
        redis.pcall('persist', key)
      else
        redis.pcall('pexpire', key, left + idle)
      end
    end
  end
end

-- Tells those who wait how many permits there are, if any.
local function announce(count)
  if count > 0 then publish(channel, string.format('%.0f', count)) end
end

--#include subscribers.lua
-- To be called when permits have come back. Where somebody may listen, the number stays: Redisson
-- waits for ever where there is none.
local function settle()
  local is_unheard = count_listeners(channel) == 0
  if made_here() and count_out() == 0 and is_unheard then
    redis.call('del', lock, permits)
    redis.pcall('hdel', info, 'permits')
    return
  end
  -- A permit that is kept after its command is renewed by nobody, and given back by nobody.
  keep_alive(is_unheard)
  announce(available())
end

-- Returns a holder as people know him: a permit of Redisson's by its digits.
local function shown(holder)
  if #holder ~= 16 then return holder end
  return (holder:gsub('.', function(byte) return ('%02x'):format(byte:byte()) end))
end
