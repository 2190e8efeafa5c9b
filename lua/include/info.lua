-- The side key that tells who the owners are. Needs the local info.

local function decode(text)
  if type(text) ~= 'string' then return nil end
  local ok, about = pcall(cjson.decode, text)
  return ok and type(about) == 'table' and about or nil
end

-- Returns what `info` tells of an owner, or nil.
local function known(of) return decode(redis.pcall('hget', info, of)) end

-- Returns `about` with the number `due` if it tells of a waiter, or nil.
local function as_waiter(about)
  if about then about.due = tonumber(about.due) end
  return about and about.due and about or nil
end

--#include put.lua
-- Who holds or wants the lock is a courtesy: trouble with its key must not leave the rest half done.
-- Returns as put.
local function tell(of, about, span) return put(of, cjson.encode(about), span) end

-- From now on what the owner holds ends by its TTL, in so long (ms): his run is over (`outlived`).
-- Returns whether it could be noted.
local function note_outlived(of, span)
  local about = known(of) or {}
  about.process, about.outlived = nil, now + span
  return not tell(of, about, span)
end

-- Returns until when what he held is kept, if his run is over. What it has left behind holds nothing.
local function outlived(of)
  local about = known(of)
  return about and tonumber(about.outlived)
end

-- What counts once however late it is sent again is noted with the owner, as long as he has the lock:
-- which holds were added (`entered`) and given back (`past`) beside others of his. Several processes
-- may know of a hold (`ended`), and each of them may give it back.
local k_most_noted = {entered = 100, past = 100, ended = 1000, latches = 100}

-- Returns 'ended' of a hold that was given back, 'entered' of one that was added, or nil.
local function note_of(of, hold)
  local told = redis.pcall('hget', info, of)
  -- As a rule there are no notes, and nothing has to be read.
  if type(told) ~= 'string' or not told:find(hold, 1, true) then return nil end
  local about = decode(told) or {}
  for _, list in ipairs({'past', 'ended', 'entered'}) do
    for _, one in ipairs(type(about[list]) == 'table' and about[list] or {}) do
      if one == hold then return list == 'entered' and list or 'ended' end
    end
  end
end

-- `ends_process`: with this hold, the process ends of which the owner tells.
local function note(of, list, hold, span, ends_process)
  local about = known(of) or {}
  if ends_process and not about.outlived then about.process, about.pid, about.listens = nil, nil, nil end
  if type(about[list]) ~= 'table' then about[list] = {} end
  table.insert(about[list], hold)
  if list == 'entered' then about.outlived = nil end  -- a reader that is over, but its writer goes on
  if #about[list] > k_most_noted[list] then table.remove(about[list], 1) end
  tell(of, about, span)
end

-- Removes the latches that prove the holds of a string (`latches`), which is given back or broken: not
-- those that bar a late request, as the hold was given back before. `latch`: any of the lock's.
local function drop_latches(of, latch)
  local about = known(of)
  local latches = about and type(about.latches) == 'table' and about.latches or {}
  for _, hold in ipairs(latches) do
    local proof = latch:match('^.*:') .. hold
    if redis.pcall('get', proof) == 'entered' then redis.pcall('del', proof) end
  end
end

-- The lock is to be kept for so long (ms) whoever gives it back last. Needs include/now.lua.
local function note_kept(of, span)
  local about = known(of) or {}
  about.kept = math.max(tonumber(about.kept) or 0, now + span)
  tell(of, about, span)
end

-- Returns for how long (ms) more it is to be kept: also where the hold that was to be the last one was
-- not, as a late request had taken the lock again.
local function left_to_keep(of)
  local about = known(of) or {}
  return math.max((tonumber(about.kept) or 0) - now, (tonumber(about.outlived) or 0) - now, 0)
end

-- Removes what is told of one who holds the lock no longer; of one who waits for it, nothing.
local function forget_holder(of)
  if as_waiter(known(of)) then return end
  redis.pcall('hdel', info, of)
  if redis.pcall('hget', info, 'holder') == of then redis.pcall('hdel', info, 'holder') end
end
