-- Extends the lease of an owner who still holds the lock; never shortens it, nor ends what has no
-- expiry.
--#key lock  not more, so that a lock whose slot of a cluster is on the move can be renewed all the
--   same: with several keys, some of which need not exist, a node says TRYAGAIN meanwhile
--#arg lease span  0 only asks
--#arg owner text
--#arg info key
--#arg latch key?  of this hold, where the owner having the lock does not prove that this hold does.
--   One of several servers that has forgotten the lock may have it from another hold, and counts this
--   one again. A string may be somebody else's of the same value.
--#include renewing.lua
local count = redis.pcall('hget', lock, owner)
local is_string = type(count) == 'table' and count.err:find('WRONGTYPE', 1, true)
if type(count) == 'table' and not is_string then return count end
-- A field without a colon, or whose value is no number, is an application's.
local owns = not is_string and owner:find(':', 1, true) and count and count:find('^%d+$')
if is_string then owns = redis.call('type', lock).ok == 'string' and redis.call('get', lock) == owner end
if owns and is_string and latch ~= '' then owns = redis.call('get', latch) == 'entered' end
if not owns then
  --#include replica.lua
  return refusal or k_not_held
end
if lease == '0' then return k_renewed end

-- PEXPIRE comes first: it works also when the server is out of memory, and opens the script for
-- writing. Where there is to be no expiry, HDEL does, of a field that there cannot be.
local left = redis.call('pttl', lock)
local span = left < tonumber(lease) and lease or left
if left ~= -1 then
  redis.call('pexpire', lock, span)
elseif latch ~= '' and not is_string then
  redis.call('hdel', lock, latch)
end
if latch ~= '' and is_string then
  redis.call('pexpire', latch, span)
elseif latch ~= '' then
  --#include info.lua
  local seen = redis.call('get', latch)
  if seen and seen ~= 'entered' or not seen and note_of(owner, latch:match('.*:(.*)')) == 'ended' then return k_not_held end
  if not seen then redis.call('hincrby', lock, owner, 1) end
  redis.call('set', latch, 'entered', 'px', 2 * lease)
end
--#include prolong_info.lua
prolong_info(lease)
return k_renewed
