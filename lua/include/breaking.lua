-- For the scripts that break locks. Needs the local expected. Their replies:
--#reply 0 found outcome now:int pttl:int queued:int listeners:int mode holders:list  outcome: left (the lock is
--   held, and was not broken), broken or free. queued: waiters in the queue. listeners: on the channels
--   (-1: the user is not allowed to ask). mode: of a read/write lock, or empty. holders: owner, holds, its JSON in
--   info or empty; the next owner...
--#reply 3 in_use kind  something else uses the name

-- Returns whether all holders are expected. `holders`: as in the reply.
local function may_break(holders)
  local named = {}
  for _, owner in ipairs(expected) do named[owner] = true end
  for i = 1, #holders, 3 do
    if not named[holders[i]] then return false end
  end
  return true
end
