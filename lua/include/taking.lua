-- For the scripts that take a lock. Needs include/info.lua, include/twin.lua and the locals lock, owner,
-- lease (ms), now (ms), latch (of this hold) and about_json (a description of the owner, or empty).
-- Their replies:
--#reply 0 busy pttl:int owner about_json now:int marks:int waiters:int? place:int? ask_after:int? overheard? permits:int?
--   pttl: -1 without an expiry. owner: the holder; empty if there are several. about_json: its entry in info.
--   marks: 1 if plain and fair runs use the name, + 2 if its twin is in use (include/twin.lua).
--   waiters: see include/waiters.lua. place: in the queue (0: the head; -1: not queued; -2: more dead waiters
--   are left, ask again at once). ask_after: ms. overheard: for the first rlock waiter behind Redisson
--   waiters, the head, whose channel it must overhear. permits: how many are in use.
--#reply 1 granted count:int marks:int token run?  token: may be empty. run: of the server
--#reply 2 ended  this hold was released
--#reply 3 in_use kind  another kind of lock uses the name
--#reply 4 no_token why
--#reply 5 restarted up:int  how long ago (ms) the server started

-- Returns the entry of an owner that takes a lock of this `kind`. `drawn`: its token, or nil.
local function about_owner(kind, drawn)
  local about = decode(about_json) or {}
  about.kind, about.lease, about.since, about.seen, about.token = kind, lease, now, now, drawn
  return about
end

-- Fails on a server that is out of memory, and changes nothing. Call it before the first PEXPIRE: after a
-- PEXPIRE, such a server lets the script write anything.
local function ask_for_memory() redis.call('set', latch, 'entered', 'xx', 'px', lease) end

-- Fails if the user is not allowed to set an expiry. Call it before the key is made: PEXPIRE of a missing key changes
-- nothing, but needs the right. A server does not undo the writes of a script that fails.
local function try_to_end(key)
  ask_for_memory()
  redis.call('pexpire', key, lease)
end

-- Extends a lock that expires in `left` ms to a lease at least. If there is no lock (-2), tries whether it
-- could expire.
local function extend_lock(left)
  if left == -2 then return try_to_end(lock) end
  if left < lease then redis.call('pexpire', lock, lease) end
end

-- Writes the entry of a new holder. If it already `holds` the lock, by an earlier sending of this request,
-- keeps the notes that were made since. Returns as tell.
local function tell_of_holder(of, about, holds)
  local told = holds and redis.pcall('hget', info, of)
  local is_untouched = type(told) == 'string' and told:sub(1, 2) == '{ '  -- see include/telling.lua
  if is_untouched and not about.token then return put(of, told, lease) end
  local before = holds and decode(told)
  if before and not waiter_entry(before) then
    before.seen, before.token = now, about.token or before.token
    about = before
  end
  return tell(of, about, lease)
end

-- Makes the owner the holder, unless it already `holds` the lock. Call extend_lock first. Writes the entry
-- `about`, if any. Returns the hold count, and as tell.
local function become_holder(holds, about)
  if not holds then
    redis.call('hset', lock, owner, 1)
    redis.call('pexpire', lock, lease)
  end
  local untold = about and tell_of_holder(owner, about, holds)
  return holds and tonumber(redis.call('hget', lock, owner)) or 1, untold
end

-- Returns the type of another value in place of the side key, or nil.
local function misused_info()
  local kind = redis.pcall('type', info).ok
  return kind ~= 'none' and kind ~= 'hash' and kind or nil
end

-- Returns 2 if the twin of the name is in use, or 0.
local function twin_mark()
  return twin and redis.pcall('exists', twin) == 1 and 2 or 0
end

-- Returns the reply busy for a holder, with `marks` (nil: not known yet), and the holder's kind of lock.
local function held_by(holder, marks)
  local told = redis.pcall('hget', info, holder)
  local about = decode(told) or {}
  return {k_busy, redis.call('pttl', lock), holder, type(told) == 'string' and told or '', now, marks}, about.kind
end

-- The same for the holder of a hash. For an application's hash, returns the reply in_use.
local k_most_fields = 10  -- to look at
local function busy_hash()
  local count = redis.call('hlen', lock)
  local owners = count <= k_most_fields and redis.call('hkeys', lock) or {''}
  for _, of in ipairs(owners) do
    local is_lock = of:find(':', 1, true) and redis.call('hget', lock, of):find('^%d+$')
    if not is_lock then return {k_in_use, 'hash that is no lock'} end
  end
  return held_by(count == 1 and owners[1] or '')
end
