-- Breaks a semaphore: takes the permits from all who have one; may be sent again.
-- KEYS: lock, info, latch of this request, permits
-- ARGV: how long to remember this request (ms), channel, what to do as in force_release.lua, and the
--   owners that follow
-- Returns as force_release.lua, of nobody in a queue and without a mode; the pttl is that of the
--   permit that ends last. {3, what} where the name is no semaphore.
local lock, info, latch, permits = unpack(KEYS)
local remember, channel, task = ARGV[1], ARGV[2], ARGV[3]
local k_most_holders = 10000
local seen = redis.call('get', latch)
if seen then return cmsgpack.unpack(seen) end
--#include now.lua
--#include info.lua
--#include publish.lua
--#include twin.lua
--#include semaphore.lua

local use = other_use()
local is_known = redis.call('exists', permits) == 1 or made_here()
if use or not is_known then return {3, use or redis.call('type', lock).ok} end
if count_out() > k_most_holders then return {3, 'semaphore with more holders than can be told of'} end

local holders, expected, may_break = {}, {}, true
for i = 4, #ARGV do expected[ARGV[i]] = true end
local from = string.format('(%.0f', now)
for _, holder in ipairs(redis.call('zrange', permits, from, '+inf', 'byscore')) do
  local told = redis.pcall('hget', info, holder)
  holders[#holders + 1] = shown(holder)
  holders[#holders + 1] = '1'
  holders[#holders + 1] = type(told) == 'string' and told or ''
  may_break = may_break and expected[shown(holder)] == true
end
local last = redis.call('zrange', permits, -1, -1, 'withscores')[2]
local left = last and math.max(tonumber(last) - now, 0) or 0
local is_free = #holders == 0
local answer = {is_free and 2 or 0, string.format('%.0f', now), left > k_for_ever and -1 or left, 0,
                count_listeners() or 0, '', holders}
if task == 'look' or not is_free and not may_break then return answer end

if not is_free then answer[1] = 1 end
local members = redis.call('zrange', permits, 0, -1)
redis.call('del', permits)  -- first: it opens the script for writing when the server is out of memory
give_back(#members)
for _, holder in ipairs(members) do redis.pcall('hdel', info, holder) end
settle()
redis.call('set', latch, cmsgpack.pack(answer), 'px', remember)
return answer
