-- Sets the expiry of a lock's hash that a script has just made, and describes the holder. Needs the locals
-- lock, info, lease (ms), about_json, kind (of the lock) and holder (the field), and include/now.lua.
-- A server does not undo the writes of a script that fails. So delete the hash if it cannot expire.
if redis.pcall('pexpire', lock, lease) ~= 1 then
  for _, undo in ipairs({{'del', lock}, {'hdel', lock, holder, 'mode'}, {'set', lock, '', 'px', 1}}) do
    if type(redis.pcall(unpack(undo))) == 'number' then break end  -- the first for which there is a right
  end
  redis.call('pexpire', lock, lease)  -- fails, and says why
end
if about_json ~= '' then
  --#include telling.lua
  redis.pcall('hset', info, holder, told)
  redis.pcall('pexpire', info, lease)
end
