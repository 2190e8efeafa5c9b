-- What the scripts that count one more hold have in common. Needs the local latch (of this hold).
-- Their replies:
--#reply 1 entered count:int token is_uncounted:int  token: that of the outer holds, if they have one,
--   or nothing. is_uncounted: 1 where nothing was counted for this hold
--#reply 2 not_held  by the owner; or this hold has ended
--#reply 4 no_token why
--#reply 6 reads  the owner has the lock as a reader, and wants to write
local hold = latch:match('.*:(.*)')
