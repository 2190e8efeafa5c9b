-- For the scripts that add a hold. Needs the local latch (of this hold). Their replies:
--#reply 1 entered count:int token is_uncounted:int  token: the outer holds' token, or empty.
--   is_uncounted: 1 if nothing was counted for this hold
--#reply 2 not_held  the owner does not hold the lock, or this hold has ended
--#reply 4 no_token why
--#reply 6 reads  the owner holds the lock as a reader, and wants to write
local hold = latch:match('.*:(.*)')
