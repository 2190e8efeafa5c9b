-- A read/write lock in Redisson's layout: a hash with the fields mode (read or write), OWNER (how
-- many holds that reader has) and OWNER:write (how many the writer has). Each hold of a reader has
-- a key with a TTL: a reader without one is dead, whatever others do to the TTL of the hash.
-- Needs the locals lock, owner (without ":write") and prefix (of the names of those keys).
local writer = owner .. ':write'
local kind = redis.call('type', lock).ok
local mode = kind == 'hash' and redis.call('hget', lock, 'mode') or nil

--#include shape.lua
-- Returns what else the name is in use for, or nil.
local function other_kind()
  if kind ~= 'hash' then return kind ~= 'none' and kind or nil end
  local has_mode = mode == 'read' or mode == 'write'
  local is_ours = has_mode and (redis.call('hexists', lock, owner) == 1 or redis.call('hexists', lock, writer) == 1)
  if is_ours then return nil end
  if mode and not has_mode or not is_lock_hash() then return 'hash that is no lock' end
  return not mode and 'plain or fair lock' or nil
end

local function hold_key(reader, hold) return prefix .. reader .. ':rwlock_timeout:' .. hold end

-- Returns how many holds a reader, or the writer, has, or nil. An owner without a colon is a field of an
-- application's.
local function holds_of(reader)
  local holds = mode and owner:find(':', 1, true) and tonumber(redis.call('hget', lock, reader) or nil)
  return holds and math.min(holds, k_most_holds)
end

-- Returns how long (ms) the last of so many holds of a reader lasts: 0 if it is dead, k_furthest if
-- a key of it has no expiry.
local function span_of(reader, holds)
  local span = 0
  for hold = 1, holds do
    local left = redis.call('pttl', hold_key(reader, hold))
    span = math.max(span, left == -1 and k_furthest or left)
  end
  return span
end

-- Returns how long (ms) the last reader lasts, 0 if none lives; and one who lives.
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

-- Has the lock last for so long at the least; what has no expiry gets none. An expiry that is set
-- anew, and be it to the same, also opens the script for writing when the server is out of memory.
-- Where there is to be none, HDEL does, of a field that there cannot be.
local function last_for(span)
  local left = redis.call('pttl', lock)
  if left == -1 then return redis.call('hdel', lock, '') end
  left = math.max(left, span)
  if left > 0 then redis.call('pexpire', lock, left) end
end

-- Has each hold of a reader last for so long at the least (as span_of).
local function hold_for(reader, holds, span)
  for hold = 1, holds do
    local key = hold_key(reader, hold)
    local left = redis.call('pttl', key)
    if left ~= -1 and left < span then
      redis.call('set', key, '1', unpack(span < k_furthest and {'px', span} or {}))
    end
  end
end

-- Returns who has the lock: the writer, or a reader who lives; empty where there is none.
local function first_holder()
  if mode == 'write' then
    for _, field in ipairs(redis.call('hkeys', lock)) do
      if field:find(':write$') then return field end
    end
  end
  local _, living = span_of_readers()
  return living or ''
end
