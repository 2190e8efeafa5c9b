-- Sets the local refusal: that of a replica to be written to, as it may lack what its master has; of a
-- master, nothing. Needs the local info.
local reply = redis.pcall('hdel', info, '')  -- changes nothing
local refusal = type(reply) == 'table' and reply.err:find('READONLY', 1, true) and reply
