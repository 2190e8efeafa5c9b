-- Takes a plain lock for an owner that does not hold it yet. May be sent again.
--#key lock
--#key info
--#key latch  of this hold
--#key queue
--#key token?  if fencing is not off
--#arg lease span
--#arg owner text
--#arg about_json text  a description of the owner; empty: write none
--#arg fencing off|draw|peek  peek: return the token that would be drawn
--#arg restart_delay span?  see include/restart.lua
--#arg channel key?  on which the owner waits; empty: it does not wait
--#arg taken text  see include/crowd.lua
-- For its replies see include/taking.lua.
--#include now.lua
--#include twin.lua
-- First the two common cases: there is no key yet; or another owner holds the lock, and no other key is there.
local found = redis.pcall('exists', latch, lock, info, queue, twin or latch)
if found == 0 and fencing == 'off' and restart_delay == '' then
  redis.call('hset', lock, owner, '1')  -- fails on a server that is out of memory
  local kind, holder = 'reentrant', owner
  --#include making.lua
  if channel ~= '' then
    --#include publish.lua
    --#include crowd.lua
    tell_taken(tonumber(lease))
  end
  return {k_granted, 1, 0, '', ''}
end
if (found == 1 or found == 2) and restart_delay == '' and redis.pcall('hlen', lock) == 1 then
  local holder, count = unpack(redis.call('hgetall', lock))
  local told = redis.pcall('hget', info, holder)
  local is_lock = holder ~= owner and holder:find(':', 1, true) and count:find('^%d+$')
  if is_lock and type(told) ~= 'table' and found == (told and 2 or 1) then
    --#include replica.lua
    if refusal then return refusal end
    local marks = told and told:find('"kind":"fair"', 1, true) and 1 or 0
    local left, waiters = redis.call('pttl', lock), 0
    if channel ~= '' then
      --#include publish.lua
      --#include crowd.lua
      --#include waiters.lua
      tell_taken(left)
      waiters = count_waiters()
    end
    return {k_busy, left, holder, told or '', now, marks, waiters}
  end
end

lease, restart_delay = tonumber(lease), tonumber(restart_delay)
local seen = redis.call('get', latch)
if seen and seen ~= 'entered' then return {k_ended} end
--#include info.lua
--#include kind.lua
--#include taking.lua
--#include fence.lua
--#include restart.lua
--#include publish.lua
--#include crowd.lua
--#include waiters.lua
local run, up = server_run()
if up then return {k_restarted, up} end
local left = redis.call('pttl', lock)
local is_free = left == -2
local kind = not is_free and other_kind()
if kind then return {k_in_use, kind} end
if run ~= '' and not seen and note_of(owner, latch:match('.*:(.*)')) == 'ended' then return {k_ended} end

local mixed, of_twin = 0, 0
if redis.pcall('exists', queue, twin or lock) ~= 0 then  -- mostly, there is neither
  mixed, of_twin = redis.call('exists', queue), twin_mark()
end
-- An earlier sending of this request may have taken the lock. Then do not count it again.
local holds = not is_free and redis.call('hexists', lock, owner) == 1
if not is_free and not holds then
  --#include replica.lua
  if refusal then return refusal end
  local answer, holders_kind = busy_hash()
  answer[k_busy_marks], answer[k_busy_waiters] = (holders_kind == 'fair' and 1 or mixed) + of_twin, count_waiters()
  tell_taken(left)
  return answer
end
extend_lock(left)
local drawn, refusal = fence(owner, holds, fencing)
if refusal then return refusal end
local is_told = drawn or about_json ~= ''
local count = become_holder(holds, is_told and about_owner('reentrant', fencing == 'draw' and drawn or nil))
if run ~= '' then
  -- Several servers: each hold has a latch, so that a server knows which holds it has counted.
  if holds and not seen then count = redis.call('hincrby', lock, owner, 1) end
  redis.call('set', latch, 'entered', 'px', 2 * lease)
end
tell_taken(lease)
return {k_granted, count, mixed + of_twin, drawn or '', run}
