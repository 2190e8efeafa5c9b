-- Extends the lease of an owner that still holds the lock. Shortens it only if it is longer than any of the owner's
-- holds has asked for. Never sets an expiry if there is none.
--#key lock  the only one: while a slot of a cluster moves, a node refuses scripts with several keys (TRYAGAIN),
--   and the lock must still be renewed
--#arg lease span  0 only asks
--#arg owner text
--#arg info key
--#arg latch key?  of this hold, if the owner alone does not prove the hold: one of several servers may have
--   forgotten this hold, and then got another hold of the owner. It counts this one again.
--#include renewing.lua
local count = redis.pcall('hget', lock, owner)
local is_string = type(count) == 'table' and count.err:find('WRONGTYPE', 1, true)
if type(count) == 'table' and not is_string then return count end
-- A field without a colon, or with a value that is not a number, is an application's.
local owns = not is_string and owner:find(':', 1, true) and count and count:find('^%d+$')
if is_string then owns = redis.call('type', lock).ok == 'string' and redis.call('get', lock) == owner end
if not owns or lease == '0' then
  --#include replica.lua
  return refusal or (owns and k_renewed or k_not_held)
end

local left = redis.call('pttl', lock)
local span, most, seen = left < tonumber(lease) and lease or left, nil, nil
local is_latched = latch ~= '' and not is_string
if left > tonumber(lease) or is_latched then
  --#include now.lua
  --#include info.lua
  --#include longest.lua
  if is_latched then
    seen = redis.call('get', latch)
    if seen and seen ~= 'entered' or not seen and note_of(owner, latch:match('.*:(.*)')) == 'ended' then
      return k_not_held
    end
  end
  if left > tonumber(lease) then
    span = math.min(left, longest_of(owner, tonumber(lease), not is_string and tonumber(count) or nil))
    most = span < left and span or nil
  end
end
-- PEXPIRE comes first: it works even when the server is out of memory, and lets the script write. If no expiry
-- may be set, deleting a field that cannot exist does the same.
if left ~= -1 then
  redis.call('pexpire', lock, span)
elseif is_latched then
  redis.call('hdel', lock, latch)
end
if is_latched then
  if not seen then redis.call('hincrby', lock, owner, 1) end
  redis.call('set', latch, 'entered', 'px', 2 * lease)
end
--#include prolong_info.lua
prolong_info(owner, lease, most)
return k_renewed
