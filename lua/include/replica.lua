-- A replica may lack a lock that its master has, or have a lock that its master has released. Sets the local
-- refusal: on a replica, its error about writing; otherwise nothing. Needs the local info.
local reply = redis.pcall('hdel', info, '')  -- changes nothing
local refusal = type(reply) == 'table' and reply.err:find('READONLY', 1, true) and reply
