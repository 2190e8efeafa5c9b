-- What the scripts that break locks have in common. Needs the local expected. Their replies:
--#reply 0 found outcome now:int pttl:int queued:int listeners:int mode holders:list  outcome: left (held, and
--   left alone), broken or free. queued: waiters in the queue. listeners: on the channels (-1: this user
--   may not ask). mode: of a read/write lock, or nothing. holders: owner, holds, JSON of info or nothing;
--   the next owner...
--#reply 3 in_use kind  the name, by something else

-- Returns whether the lock has no other holders than those who are expected. `holders`: as in the reply.
local function may_break(holders)
  local named = {}
  for _, owner in ipairs(expected) do named[owner] = true end
  for i = 1, #holders, 3 do
    if not named[holders[i]] then return false end
  end
  return true
end
