-- Makes the hash of a lock of which there is nothing yet, with these fields, and tells of its holder. Needs
-- the locals lock, info, latch (of this hold), lease (ms), about_json and include/about.lua.
local function make(kind, holder, ...)
  redis.call('set', latch, 'entered', 'xx', 'px', lease)  -- as ask_for_memory
  redis.call('pexpire', lock, lease)                      -- as try_to_end, also for the side key
  redis.call('hset', lock, ...)
  redis.call('pexpire', lock, lease)
  if about_json ~= '' then
    redis.pcall('hset', info, holder, about_text(kind))
    redis.pcall('pexpire', info, lease)
  end
end
