-- Looks at some waiters of a fair lock, and removes the dead ones from the queue. Call it again until it has looked at
-- all. May be sent again.
--#key lock
--#key channel
--#key info
--#key latch  of this request
--#key queue
--#key scores
--#arg memory ms  how long to remember this request
--#arg from count  the position to begin with; 0: the head
--#arg carry text  from the reply before; empty at the head
--#args gone  waiters that the caller knows to be dead
--#reply 1 looked evicted:int unknown:int next:int carry  unknown: waiters that stay and may be dead. next: where to go
--   on; -1: that was the last waiter. carry: what the next request needs to know of the waiters before
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

local kind = other_kind()
if kind then return {k_in_use, kind} end
local some = is_list() and redis.call('lrange', queue, from, from + k_most_judged - 1) or {}
local found = some[1] and redis.call('zmscore', scores, unpack(some)) or {}
local entries = some[1] and redis.pcall('hmget', info, unpack(some)) or {}
local listeners = listening(some)
local is_gone = {}
for _, waiter in ipairs(gone) do is_gone[waiter] = true end

-- The deadline of the waiter before, and the wait of the dead Redisson waiters before. A Redisson waiter's deadline
-- counts from the deadline before it.
local base = now + math.max(redis.call('pttl', lock), 0)
local was, shift = carry:match('^(%S+) (%S+)$')
was, shift = tonumber(was) or base, tonumber(shift) or 0

local length = is_list() and redis.call('llen', queue) or 0
local side = from <= length - from and 1 or -1
local room = from == 0 and k_most_judged or 1 + math.floor(k_reach / (1 + math.min(from, length - from)))
local dead, unknown, looked, place = {}, 0, 0, nil
for i, waiter in ipairs(some) do
  local entry, score = waiter_entry(decode(entries[i])), found[i] and tonumber(found[i])
  local is_alive = not is_gone[waiter]
  if is_alive then is_alive = lives(entry, score, listeners[waiter] or false) end
  if is_alive == false and #dead == room then break end
  looked = i
  local before = math.max(was, base)
  if is_alive == false then
    dead[#dead + 1] = waiter
    place = place or from + i - 1
    if score and not entry then shift = shift + math.max(score - before, 0) end
  elseif score and shift > 0 and score > base + k_least_wait then
    redis.call('zadd', scores, 'xx', math.max(score - shift, base + k_least_wait), waiter)
  end
  if is_alive == nil then unknown = unknown + 1 end
  was = score or was
end

local answer = {k_looked, #dead, unknown, looked < #some and from + looked - #dead or -1,
                string.format('%.0f %.0f', was, shift)}
if #some == k_most_judged and looked == k_most_judged then answer[k_looked_next] = from + k_most_judged - #dead end
if not dead[1] then
  --#include replica.lua
  return refusal or answer
end

local heads = 0
while from == 0 and some[heads + 1] == dead[heads + 1] and dead[heads + 1] do heads = heads + 1 end
if heads > 0 then redis.call('ltrim', queue, heads, -1) end
for i = heads + 1, #dead do redis.call('lrem', queue, side, dead[i]) end
redis.pcall('zrem', scores, unpack(dead))
for _, waiter in ipairs(dead) do
  if redis.call('hexists', lock, waiter) == 0 then forget(waiter) end
end
local left = redis.call('llen', queue)
set_queue_end(count_ours() >= left)

local pttl = redis.call('pttl', lock)
if pttl ~= -2 then
  tell_next(pttl, place)
  -- As in evict.lua.
  local head = place == 0 and redis.call('lindex', queue, 0)
  if head then publish(channel .. ':' .. head, '0') end
else
  local head = live_head(false, k_most_judged)
  if head and not was_called(head) then call(head) end
  -- live_head drops dead waiters, too.
  local dropped = left - redis.call('llen', queue)
  answer[k_looked_evicted] = #dead + dropped
  if answer[k_looked_next] > 0 then answer[k_looked_next] = math.max(answer[k_looked_next] - dropped, 0) end
end
redis.call('set', latch, cmsgpack.pack(answer), 'px', memory)
return answer
