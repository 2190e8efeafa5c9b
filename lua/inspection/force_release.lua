-- Breaks a lock of any kind but a semaphore, and wakes the waiters of every kind. May be sent again.
--#key lock
--#key channel
--#key info
--#key latch  of this request
--#key queue
--#key scores
--#key rw_channel
--#arg memory ms  how long to remember this request
--#arg prefix text  the start of the names of the readers' keys
--#arg semaphore_channel key
--#arg kind lock|simple  simple: break a string
--#arg task look|only  look: change nothing. only: break the lock only if all holders are among these:
--#args expected
--#include breaking.lua
local seen = redis.call('get', latch)
if seen then return cmsgpack.unpack(seen) end
--#include now.lua
--#include info.lua
--#include publish.lua
--#include alone.lua
--#include queue.lua
--#include subscribers.lua

-- Returns {owner, holds, JSON, ...} of the holders, and the mode of a read/write lock. If there is no lock but
-- something else, returns nil, and what it is.
local function find_holders()
  local found, mode, there = {}, '', redis.call('type', lock).ok
  if there == 'none' then return found, mode end
  if there == 'string' and kind == 'simple' then
    local value = redis.call('get', lock):sub(1, k_longest_value)
    local told = redis.pcall('hget', info, value)
    return {value, '1', type(told) == 'string' and told or ''}, mode
  end
  if there ~= 'hash' or kind == 'simple' then return nil, there end
  if redis.call('hlen', lock) > k_most_holders then return nil, 'hash that is no lock' end
  for _, field in ipairs(redis.call('hkeys', lock)) do
    local is_owner = field:find(':', 1, true)
    local value = (is_owner or field == 'mode') and redis.call('hget', lock, field) or ''
    if field == 'mode' and (value == 'read' or value == 'write') then
      mode = value
    elseif is_owner and value:find('^%d+$') then
      local told = redis.pcall('hget', info, field)
      found[#found + 1] = field
      found[#found + 1] = value
      found[#found + 1] = type(told) == 'string' and told or ''
    else
      return nil, 'hash that is no lock'
    end
  end
  if #found == 0 then return nil, 'hash that is no lock' end
  return found, mode
end

-- Deletes the keys of the readers' holds.
local function delete_timeouts(holders)
  for i = 1, #holders, 3 do
    local keys = {}
    for hold = 1, math.min(tonumber(holders[i + 1]), k_most_holds) do
      keys[hold] = prefix .. holders[i] .. ':rwlock_timeout:' .. hold
    end
    if keys[1] then redis.call('del', unpack(keys)) end
  end
end

local holders, mode = find_holders()
if not holders then return {k_in_use, mode} end
local queued = is_list() and redis.pcall('llen', queue) or 0
local answer = {k_found, 'left', now, redis.call('pttl', lock), type(queued) == 'number' and queued or 0,
                count_listeners(channel, rw_channel, semaphore_channel) or -1, mode, holders}
local is_free = #holders == 0
if is_free then answer[k_found_outcome] = 'free' end
if task == 'look' or not is_free and not may_break(holders) then return answer end

-- '1' is Redisson's message of a writer. '0' is for a thread that does not sleep yet, and for clients that know only
-- '0'. If the user is not allowed to publish, do not break a read/write lock.
for _, message in ipairs({'1', '0'}) do
  publish(rw_channel, message, mode == '' and redis.pcall or redis.call)
end
-- DEL comes first: it lets the script write when the server is out of memory.
redis.call('del', is_free and latch or lock)
if is_free then
  -- If the head was called before, its remaining time to come goes on.
  local head = live_head(false)
  if head and was_called(head) then
    publish(channel .. ':' .. head, '0')
    publish(channel, '0')
  else
    wake()
  end
  publish(semaphore_channel, '1')  -- for waiters of a semaphore that is gone
else
  answer[k_found_outcome] = 'broken'
  if mode ~= '' then delete_timeouts(holders) end
  for i = 1, #holders, 3 do
    forget_holder(holders[i])
  end
  wake()
end
redis.call('set', latch, cmsgpack.pack(answer), 'px', memory)
return answer
