-- Looks at some waiters of a fair lock, and removes those that are provably garbage from the queue, or only looks for
-- them. Call it again until it has looked at all. May be sent again.
--#key lock
--#key channel
--#key info
--#key queue
--#key scores
--#arg task look|repair
--#arg from count  the position to begin with; 0: the head
--#reply 1 looked next:int fixes:list  next: where to go on; -1: that was the last waiter. fixes: dead_waiter and
--   member_without_score, see include/fixes.lua
local repairs = task == 'repair'
--#include now.lua
--#include info.lua
--#include publish.lua
--#include alone.lua
--#include queue.lua
--#include fixes.lua

-- Returns why this waiter is garbage, or nil. By Redisson's rule, a Redisson waiter is dead when its deadline has
-- passed. But a listening waiter is alive. After an outage every rlock waiter is late, and after the clock was set
-- back it is too early. A server that evicted the deadlines has left no waiter a deadline. `is_heard`: somebody
-- listens on its channel.
local function garbage(score, text, is_heard)
  local entry = waiter_entry(decode(text))
  if entry then
    local left = entry.due - now
    local is_late = left < -k_longest_silence or left > math.max(wait_of(entry), k_longest_silence)
    return is_late and not is_heard and 'dead_waiter' or nil
  end
  score = score and tonumber(score)
  if score and score > now or is_heard then return nil end
  if not score then return 'member_without_score' end
  if now - score < k_peer_wait and not sees_all() then return nil end
  return 'dead_waiter'
end

local some = is_list() and redis.call('lrange', queue, from, from + k_most_judged - 1) or {}
if not some[1] then return {k_looked, -1, {}} end
local found = redis.pcall('zmscore', scores, unpack(some))
local entries = redis.pcall('hmget', info, unpack(some))
if found.err or entries.err then return {k_looked, -1, {}} end
local listeners = listening(some)

local behind = redis.call('llen', queue) - from
local room = (from == 0 or not repairs) and k_most_judged or 1 + math.floor(k_reach / (1 + math.min(from, behind)))
local dead, heads, looked = {}, 0, 0
for i, waiter in ipairs(some) do
  local what = garbage(found[i], entries[i], listeners[waiter])
  if what and #dead == room then break end
  looked = i
  if what then
    note_fix(what, waiter)
    dead[#dead + 1] = waiter
    if from == 0 and #dead == i then heads = i end
  end
end
local is_last = looked == #some and looked < k_most_judged
local answer = {k_looked, is_last and -1 or from + looked - (repairs and #dead or 0), fixes}
if not repairs or not dead[1] then return answer end

-- Garbage at the head goes in one step, garbage further back one by one.
if heads > 0 then redis.call('ltrim', queue, heads, -1) end
for i = heads + 1, #dead do redis.call('lrem', queue, from <= behind and 1 or -1, dead[i]) end
redis.pcall('zrem', scores, unpack(dead))
local called = last_call()
for _, waiter in ipairs(dead) do
  if called and called.owner == waiter then redis.pcall('hdel', info, 'called') end
end
redis.pcall('hdel', info, unpack(dead))
if from == 0 and heads < #some then call_head() end
return answer
