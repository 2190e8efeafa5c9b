-- A read/write lock in Redisson's layout: a hash with the fields mode (read or write), OWNER (the hold count
-- of a reader) and OWNER:write (the hold count of the writer). Each hold of a reader has a key of its own
-- with an expiry. A reader without such a key is dead, whatever the expiry of the hash.
-- Needs the locals lock, owner (without ":write") and prefix (of the names of the readers' keys).
local writer = owner .. ':write'
local kind = redis.call('type', lock).ok
local mode = kind == 'hash' and redis.call('hget', lock, 'mode') or nil

--#include shape.lua
-- Returns what uses the name instead of a read/write lock, or nil.
local function other_kind()
  if kind ~= 'hash' then return kind ~= 'none' and kind or nil end
  local has_mode = mode == 'read' or mode == 'write'
  local is_ours = has_mode and (redis.call('hexists', lock, owner) == 1 or redis.call('hexists', lock, writer) == 1)
  if is_ours then return nil end
  if mode and not has_mode or not is_lock_hash() then return 'hash that is no lock' end
  return not mode and 'plain or fair lock' or nil
end

local function hold_key(reader, hold) return prefix .. reader .. ':rwlock_timeout:' .. hold end

-- Returns the hold count of a reader or the writer, or nil. A field without a colon is an application's.
local function holds_of(reader)
  local holds = mode and owner:find(':', 1, true) and tonumber(redis.call('hget', lock, reader) or nil)
  return holds and math.min(holds, k_most_holds)
end

-- Returns how long (ms) a reader with this number of holds lives: until the last of its keys expires. 0: it
-- is dead. k_furthest: a key has no expiry.
local function span_of(reader, holds)
  local span = 0
  for hold = 1, holds do
    local left = redis.call('pttl', hold_key(reader, hold))
    span = math.max(span, left == -1 and k_furthest or left)
  end
  return span
end

-- Returns how long (ms) the last reader lives (0: none lives), and the field of that reader.
local function span_of_readers()
  local longest, living = 0, nil
  for _, field in ipairs(redis.call('hkeys', lock)) do
    if field ~= 'mode' and not field:find(':write$') then
      local span = span_of(field, holds_of(field) or 0)
      if span > longest then longest, living = span, field end
    end
  end
  return longest, living
end

-- Extends the lock to `span` ms at least. A lock without an expiry gets none. Setting an expiry, even to the
-- same time, also lets the script write when the server is out of memory. If no expiry may be set, deleting
-- a field that cannot exist does the same.
local function last_for(span)
  local left = redis.call('pttl', lock)
  if left == -1 then return redis.call('hdel', lock, '') end
  left = math.max(left, span)
  if left > 0 then redis.call('pexpire', lock, left) end
end

-- Extends each hold of a reader to `span` at least (as from span_of).
local function hold_for(reader, holds, span)
  for hold = 1, holds do
    local key = hold_key(reader, hold)
    local left = redis.call('pttl', key)
    if left ~= -1 and left < span then
      redis.call('set', key, '1', unpack(span < k_furthest and {'px', span} or {}))
    end
  end
end

-- Returns the field of the writer, or of a living reader. Empty: there is none.
local function first_holder()
  if mode == 'write' then
    for _, field in ipairs(redis.call('hkeys', lock)) do
      if field:find(':write$') then return field end
    end
  end
  local _, living = span_of_readers()
  return living or ''
end
