-- Takes a string lock (SET NX PX) for an owner that does not hold it yet. May be sent again.
--#key lock
--#key info
--#key latch  of this hold
--#key token?  if fencing is not off
--#arg lease ms
--#arg owner text  the value, which no other run has
--#arg about_json text  a description of the owner, or empty
--#arg fencing off|draw|peek
--#arg restart_delay ms?  see include/restart.lua
--#arg permits key  of a semaphore; the user may have no right to it
--#arg channel key?  on which the owner waits; empty: it does not wait
--#arg taken text  see include/crowd.lua
-- For its replies see include/taking.lua. If another client's value is long, the reply has its start as the owner.
if redis.call('exists', latch) == 1 then return {k_ended} end
--#include now.lua
--#include info.lua
--#include twin.lua
--#include taking.lua
--#include fence.lua
--#include restart.lua
--#include publish.lua
--#include crowd.lua
--#include waiters.lua
local run, up = server_run()
if up then return {k_restarted, up} end

local value = redis.pcall('get', lock)
if type(value) == 'table' then
  local kind = redis.call('type', lock).ok
  return (kind == 'none' or kind == 'string') and value or {k_in_use, kind}
end
-- The string of a semaphore is a number. While no permit is in use, another client's semaphore looks like a lock.
if value and value:find('^%-?%d+$') and
   (redis.pcall('exists', permits) == 1 or redis.pcall('hexists', info, 'permits') == 1) then
  return {k_in_use, 'semaphore'}
end

-- An earlier sending of this request may have taken the lock.
if value and value ~= owner then
  --#include replica.lua
  if refusal then return refusal end
  local answer = held_by(value, twin_mark())
  answer[k_busy_owner], answer[k_busy_waiters] = value:sub(1, k_longest_value), count_waiters()
  tell_taken(answer[k_busy_pttl])
  return answer
end
local drawn, refusal = fence(owner, value, fencing)
if refusal then return refusal end
if not value then
  redis.call('set', lock, owner, 'px', lease)
elseif redis.call('pttl', lock) < lease then
  redis.call('pexpire', lock, lease)
end
if drawn or about_json ~= '' then
  tell_of_holder(owner, about_owner('simple', fencing == 'draw' and drawn or nil), value)
end
tell_taken(lease)
return {k_granted, 1, twin_mark(), drawn or '', run}
