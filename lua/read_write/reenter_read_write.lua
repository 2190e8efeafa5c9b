-- Adds a hold, as a reader or as the writer, for an owner that already holds a read/write lock. May be sent again.
-- The writer may read, too. A reader cannot become the writer.
--#key lock
--#key latch  of this hold
--#key info
--#key token?  if fencing is not off
--#arg lease ms
--#arg owner text
--#arg memory ms  how long to remember this request
--#arg fencing off|draw
--#arg prefix text  the start of the names of the readers' keys
--#arg side read|write
-- For its replies see include/reentering.lua.
local reads = side == 'read'
--#include reentering.lua
--#include now.lua
--#include info.lua
--#include fence.lua
--#include prolong_info.lua
--#include read_write.lua
local is_writer = mode == 'write' and holds_of(writer) and not outlived(writer)
local is_reader = holds_of(owner) and not outlived(owner)
if not is_writer and not is_reader then
  --#include replica.lua
  return refusal or {k_not_held}
end
if not is_writer and not reads then return {k_reads} end

local field = reads and owner or writer
local seen, noted = redis.call('get', latch), note_of(owner, hold) or note_of(writer, hold)
if seen and seen ~= 'entered' or noted == 'ended' then return {k_not_held} end
seen = seen or noted
local drawn, refusal = fence(field, true, fencing)
if refusal then return refusal end
-- A request that is sent again does not know which hold it added. So every sending extends all holds of this
-- reader.
local nth = (holds_of(field) or 0) + (seen and 0 or 1)
if reads then hold_for(owner, nth, lease) end
if not seen then redis.call('set', latch, 'entered', 'xx', 'px', memory) end  -- a trial, see reenter.lua
last_for(lease)
if not seen then
  redis.call('hincrby', lock, field, 1)
  redis.call('set', latch, 'entered', 'px', memory)
end
-- The first hold of this owner as a reader has no entry yet: copy the writer's.
local about = known(field) or reads and known(writer)
if about and (drawn or not is_reader) then
  about.token = drawn
  -- `kept` of the writer does not hold for the reader.
  if reads then about.kind, about.since, about.seen, about.kept = 'read', now, now, nil end
  tell(field, about, lease)
end
if not seen then note(field, 'entered', hold, lease) end
prolong_info(field, lease)
return {k_entered, holds_of(field) or 1, drawn or '', 0}
