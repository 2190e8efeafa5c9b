-- Breaks a semaphore: takes the permits from all holders. May be sent again.
--#key lock
--#key info
--#key latch  of this request
--#key permits
--#arg memory ms  how long to remember this request
--#arg channel key
--#arg task look|only  as in force_release.lua
--#args expected
--#include breaking.lua
-- In the reply, queued is 0, mode is empty, and pttl is of the permit that ends last.
local seen = redis.call('get', latch)
if seen then return cmsgpack.unpack(seen) end
--#include now.lua
--#include info.lua
--#include publish.lua
--#include twin.lua
--#include semaphore.lua

local use = other_use()
local is_known = redis.call('exists', permits) == 1 or is_ours
if use or not is_known then return {k_in_use, use or redis.call('type', lock).ok} end
if count_out() > k_most_holders then return {k_in_use, 'semaphore with more holders than can be told of'} end

local holders = {}
local from = string.format('(%.0f', now)
for _, holder in ipairs(redis.call('zrange', permits, from, '+inf', 'byscore')) do
  local told = redis.pcall('hget', info, holder)
  holders[#holders + 1] = shown(holder)
  holders[#holders + 1] = '1'
  holders[#holders + 1] = type(told) == 'string' and told or ''
end
local last = redis.call('zrange', permits, -1, -1, 'withscores')[2]
local left = last and math.max(tonumber(last) - now, 0) or 0
local is_free = #holders == 0
local answer = {k_found, is_free and 'free' or 'left', now,
                left > k_for_ever and -1 or left, 0, count_listeners(channel) or -1, '', holders}
if task == 'look' or not is_free and not may_break(holders) then return answer end

if not is_free then answer[k_found_outcome] = 'broken' end
local members = redis.call('zrange', permits, 0, -1)
redis.call('del', permits)  -- first: it lets the script write when the server is out of memory
give_back(#members)
for _, holder in ipairs(members) do redis.pcall('hdel', info, holder) end
settle()
redis.call('set', latch, cmsgpack.pack(answer), 'px', memory)
return answer
