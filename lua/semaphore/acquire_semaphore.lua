-- Takes a permit of a semaphore for an owner that has none yet. May be sent again.
--#key lock
--#key info
--#key latch  of this hold
--#key permits
--#arg lease ms
--#arg owner text
--#arg about_json text  a description of the owner, or empty
--#arg most count  the total number of permits
--#arg channel key
--#arg taken text  see include/crowd.lua
-- For its replies see include/taking.lua. In busy, pttl is of the permit that ends first, and owner is the oldest
-- holder.
--#include now.lua
--#include twin.lua
--#include publish.lua
--#include crowd.lua
-- First the common case: there is no key yet. The steps are the same as below.
if redis.pcall('exists', latch, lock, permits, info, twin or latch) == 0 then
  redis.call('zadd', permits, 'xx', 'gt', 0, owner)
  redis.call('pexpire', permits, lease)
  redis.call('hset', info, 'permits', most)
  redis.call('pexpire', info, lease + k_idle)
  redis.call('hexists', info, 'permits')
  redis.call('set', lock, most - 1, 'px', lease + k_idle)
  redis.call('zadd', permits, 'gt', now + lease, owner)
  redis.call('pexpire', permits, lease + k_idle)
  if about_json ~= '' then
    local kind = 'semaphore'
    --#include telling.lua
    redis.pcall('hset', info, owner, told)
  end
  if most > 1 then publish(channel, string.format('%.0f', most - 1)) else tell_taken(lease) end
  return {k_granted, 1, 0, ''}
end

if redis.call('exists', latch) == 1 then return {k_ended} end
--#include info.lua
--#include prolong_info.lua
--#include taking.lua
--#include semaphore.lua
--#include waiters.lua
local is_new = redis.call('exists', lock) == 0
is_ours = is_ours or rests_as_ours()
local kind = other_use(most) or not is_new and count_out() > 0 and twin_use()
if kind then return {k_in_use, kind} end

local k_most_shown = 16  -- holders, among whom the one to tell of is looked for

local function busy(out)
  local first = redis.call('zrange', permits, 0, k_most_shown - 1, 'withscores')
  local left = math.max(tonumber(first[2]) - now, 0)
  if out == most then tell_taken(left) end  -- else another waiter may get a permit
  local longest, since
  for i = 1, #first, 2 do
    local about = known(first[i])
    local from = about and tonumber(about.since)
    if from and from < (since or math.huge) then longest, since = first[i], from end
  end
  local answer = held_by(longest or first[1])
  answer[k_busy_pttl] = left > k_for_ever and -1 or left
  answer[k_busy_owner] = shown(answer[k_busy_owner])
  answer[k_busy_marks], answer[k_busy_waiters] = twin_mark(), count_waiters()
  answer[k_busy_place], answer[k_busy_ask_after] = -1, 0
  answer[k_busy_overheard], answer[k_busy_permits] = '', out
  return answer
end

local before = available()
take_back_expired()
is_ours = is_ours or is_new
local out = count_out()
local total = available() + out
if not is_ours and total ~= most then
  if available() > before then announce(available()) end
  return {k_in_use, string.format('a semaphore that a service made: it has %.0f permits, not %.0f', total, most)}
end
-- An earlier sending of this request may have taken a permit. Then do not count it again.
local holds = redis.call('zscore', permits, owner)
if not holds and out >= most then
  --#include replica.lua
  return refusal or busy(out)
end

-- If a step fails, no key may stay forever. Try ZADD first: it changes nothing here, but fails without memory, too.
-- Then note the total in the side key: without it, rlock's own semaphore would never end.
redis.call('zadd', permits, 'xx', 'gt', 0, owner)
if is_ours then
  if out == 0 then redis.call('pexpire', permits, lease) end
  local untold = put('permits', most, lease + k_idle)
  local misuse = untold and misused_info()
  if misuse then return {k_in_use, misuse .. ' in place of its side key'} end
  if untold then return untold end
  is_noted = true
  if is_new then redis.call('hexists', info, 'permits') end
end
if not holds then out = out + 1 end
if is_new then
  redis.call('set', lock, most - out, 'px', lease + k_idle)
else
  redis.call('set', lock, most - out, 'keepttl')
end
redis.call('zadd', permits, 'gt', now + lease, owner)
-- If the number ends, so does the set: the side key of a semaphore of rlock's own may have been evicted.
local ends = is_ours or redis.call('pttl', lock) >= 0
if ends and out == 1 then redis.call('pexpire', permits, lease + k_idle) end
if holds then
  prolong_info(owner, lease)
elseif about_json ~= '' then
  tell(owner, about_owner('semaphore'), lease)
end
if not is_new or out > 1 then keep_alive() end
if most - out > math.max(before, 0) then announce(most - out) end
if out == most then tell_taken(lease) end
return {k_granted, 1, twin_mark(), ''}
