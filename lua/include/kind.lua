-- Returns what else the name is in use for, or nil. Needs the local lock.
local function other_kind()
  local kind = redis.call('type', lock).ok
  if kind == 'hash' then
    return redis.call('hexists', lock, 'mode') == 1 and 'read-write lock' or nil
  end
  if kind ~= 'none' then return kind end
end
