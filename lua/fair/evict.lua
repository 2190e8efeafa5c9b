-- Removes a waiter from the queue of a fair lock, as if it had given up. May be sent again.
--#key lock
--#key channel
--#key info
--#key latch  of this request
--#key queue
--#key scores
--#arg memory ms  how long to remember this request
--#arg waiter text
--#reply 1 evicted place:int alive:int told  place: 0 is the head; -1: it had only a deadline. alive: 1, 0, or
--   -1 if unknown. told: its entry in info (JSON), or empty
--#reply 2 not_waiting
--#reply 3 in_use kind  another kind of lock uses the name
local seen = redis.call('get', latch)
if seen then return cmsgpack.unpack(seen) end
--#include now.lua
--#include info.lua
--#include kind.lua
--#include publish.lua
--#include alone.lua
--#include queue.lua
--#include lives.lua

-- Returns the time (ms) that a Redisson waiter added to the deadlines behind it.
local function added_wait(place, score)
  local base = now + math.max(redis.call('pttl', lock), 0)
  local before = place > 0 and score_of(redis.call('lindex', queue, place - 1))
  local wait = score - math.max(before or base, base)
  if not before then wait = math.min(wait, k_peer_wait) end
  return wait > 0 and wait < k_furthest and math.floor(wait) or 0
end

local kind = other_kind()
if kind then return {k_in_use, kind} end
local holds = redis.call('hexists', lock, waiter) == 1
local place = is_list() and redis.call('lpos', queue, waiter) or -1
local score = score_of(waiter)
if place == -1 and not score then
  --#include replica.lua
  return refusal or {k_not_waiting}
end

local told = redis.pcall('hget', info, waiter)
told = type(told) == 'string' and told or ''
local entry = waiter_entry(decode(told))
local is_alive = lives(entry, score, listens(waiter))
local answer = {k_evicted, place, is_alive == nil and -1 or is_alive and 1 or 0, told}
leave(waiter, place >= 0 and score and not entry and added_wait(place, score) or 0)
if holds and told ~= '' then
  put(waiter, told, math.max(redis.call('pttl', lock), k_longest_silence))
end
-- The new head still sleeps as if others were before it, perhaps past the end of the lease. Wake it.
local head = place == 0 and redis.call('lindex', queue, 0)
if head and redis.call('exists', lock) == 1 then
  publish(channel .. ':' .. head, '0')
end
redis.call('set', latch, cmsgpack.pack(answer), 'px', memory)
return answer
