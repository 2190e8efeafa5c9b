-- What the scripts that take a lock have in common. Needs the locals lock, owner, lease (ms), now (ms),
-- latch (of this hold) and about_json (what to tell of the owner, or nothing), include/info.lua and
-- include/twin.lua. Their replies:
--#reply 0 busy pttl:int owner about_json now:int marks:int waiters:int? place:int? ask_after:int? overheard? permits:int?
--   held by that owner (pttl -1: no expiry; no owner among several fields), of whom that is told.
--   marks: the sum of 1 where the name is used as a plain and as a fair lock, and 2 where its twin is
--   in use (include/twin.lua). waiters: see include/crowd.lua. place: in the queue (0 is the head; -1: not queued; -2: there is more
--   to sweep, ask again at once). ask_after: how many ms. overheard: for the first of ours behind
--   Redisson's waiters the head, to overhear how it is called. permits: how many are out.
--#reply 1 granted count:int marks:int token run?  token: or nothing; run: which one of the server
--#reply 2 ended  this hold was given back
--#reply 3 in_use kind  the name, by another kind of lock
--#reply 4 no_token why
--#reply 5 restarted up:int  so long (ms) ago: too short

-- Returns what to tell of the owner who takes a lock of this kind, with this token or none.
local function about_owner(kind, drawn)
  local about = decode(about_json) or {}
  about.kind, about.since, about.seen, about.token = kind, now, now, drawn
  return about
end

-- Fails on a server that is out of memory, and changes nothing. To be called before the first PEXPIRE,
-- after which such a server lets a script write what it wants.
local function ask_for_memory() redis.call('set', latch, 'entered', 'xx', 'px', lease) end

-- Tries, before a key is made, whether it could be given an end: PEXPIRE does nothing to a key that is
-- not there, but needs the right. A server does not undo what a script has written before it fails.
local function try_to_end(key)
  ask_for_memory()
  redis.call('pexpire', key, lease)
end

-- Makes a lock that is there, with `left` (ms) to go, last for a lease at the least. Where there is
-- none (-2), sees that one could end.
local function extend_lock(left)
  if left == -2 then return try_to_end(lock) end
  if left < lease then redis.call('pexpire', lock, lease) end
end

-- Tells about a new holder. Where it `holds` the lock already, by an earlier sending of this request,
-- what was noted of it since stays. Returns as tell.
local function tell_of_holder(of, about, holds)
  local told = holds and redis.pcall('hget', info, of)
  local is_untouched = type(told) == 'string' and told:sub(1, 2) == '{ '  -- see include/telling.lua
  if is_untouched and not about.token then return put(of, told, lease) end
  local before = holds and decode(told)
  if before and not as_waiter(before) then
    before.seen, before.token = now, about.token or before.token
    about = before
  end
  return tell(of, about, lease)
end

-- Makes the owner the holder, unless he `holds` the lock already, after extend_lock. Tells about him
-- if there is something to tell. Returns the hold count, and as tell.
local function hold(holds, about)
  if not holds then
    redis.call('hset', lock, owner, 1)
    redis.call('pexpire', lock, lease)
  end
  local untold = about and tell_of_holder(owner, about, holds)
  return holds and tonumber(redis.call('hget', lock, owner)) or 1, untold
end

-- Returns what is there in place of the side key, or nil.
local function misused_info()
  local kind = redis.pcall('type', info).ok
  return kind ~= 'none' and kind ~= 'hash' and kind or nil
end

-- Returns 2 if the twin of the name is in use, or 0.
local function twin_mark()
  return twin and redis.pcall('exists', twin) == 1 and 2 or 0
end

-- Returns the reply busy of a holder, with these marks or none yet; and its kind.
local function held_by(holder, marks)
  local told = redis.pcall('hget', info, holder)
  local about = decode(told) or {}
  return {k_busy, redis.call('pttl', lock), holder, type(told) == 'string' and told or '', now, marks}, about.kind
end

-- The same, of whoever holds a hash; or the reply in_use of an application's.
local k_most_fields = 10  -- of a lock
local function busy()
  local count = redis.call('hlen', lock)
  local owners = count <= k_most_fields and redis.call('hkeys', lock) or {''}
  for _, of in ipairs(owners) do
    local is_lock = of:find(':', 1, true) and redis.call('hget', lock, of):find('^%d+$')
    if not is_lock then return {k_in_use, 'hash that is no lock'} end
  end
  return held_by(count == 1 and owners[1] or '')
end
