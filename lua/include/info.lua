-- The side key, which describes the owners. Needs the local info.

local function decode(text)
  if type(text) ~= 'string' then return nil end
  local ok, about = pcall(cjson.decode, text)
  return ok and type(about) == 'table' and about or nil
end

-- Returns the entry of an owner in `info`, or nil.
local function known(of) return decode(redis.pcall('hget', info, of)) end

-- Returns the entry `about` if it describes a waiter, with `due` as a number, or nil.
local function waiter_entry(about)
  if about then about.due = tonumber(about.due) end
  return about and about.due and about or nil
end

--#include put.lua
-- Writes an entry. The side key is not vital: an error there must not leave the rest of a script undone.
-- Returns as put.
local function tell(of, about, span) return put(of, cjson.encode(about), span) end

-- Notes that the owner's run is over, and that its hold ends by expiry in `span` ms (`outlived`). Returns
-- whether the note was written.
local function note_outlived(of, span)
  local about = known(of) or {}
  about.process, about.outlived = nil, now + span
  about.keep = math.max(tonumber(about.keep) or 0, span)
  return not tell(of, about, span)
end

-- Returns until when the owner's hold is kept, if its run is over, or nil. Processes that the run left
-- behind no longer take part in the hold.
local function outlived(of)
  local about = known(of)
  return about and tonumber(about.outlived)
end

-- Notes in the owner's entry make a request count once, however late it is sent again. They last as long as
-- the owner holds the lock. `entered`: holds that were added to others. `past`: such holds that were
-- released. `ended`: released holds that several processes know, each of which may release it again.
local k_most_noted = {entered = 100, past = 100, ended = 1000}

-- Returns 'ended' for a hold that was released, 'entered' for a hold that was added, or nil.
local function note_of(of, hold)
  local told = redis.pcall('hget', info, of)
  -- Mostly there are no notes: then decode nothing.
  if type(told) ~= 'string' or not told:find(hold, 1, true) then return nil end
  local about = decode(told) or {}
  for _, list in ipairs({'past', 'ended', 'entered'}) do
    for _, one in ipairs(type(about[list]) == 'table' and about[list] or {}) do
      if one == hold then return list == 'entered' and list or 'ended' end
    end
  end
end

-- Adds a hold to a list of notes. `ends_process`: the process in the entry ends with this hold.
local function note(of, list, hold, span, ends_process)
  local about = known(of) or {}
  if ends_process and not about.outlived then about.process, about.pid, about.listens = nil, nil, nil end
  if type(about[list]) ~= 'table' then about[list] = {} end
  table.insert(about[list], hold)
  if list == 'entered' then about.outlived = nil end  -- the reader was over, but its writer goes on
  if #about[list] > k_most_noted[list] then table.remove(about[list], 1) end
  tell(of, about, span)
end

-- Notes that the lock must be kept for `span` ms, whichever hold is released last. Needs include/now.lua.
local function note_kept(of, span)
  local about = known(of) or {}
  about.kept = math.max(tonumber(about.kept) or 0, now + span)
  about.keep = math.max(tonumber(about.keep) or 0, span)
  tell(of, about, span)
end

-- Returns for how long (ms) the lock must still be kept. `outlived` counts, too: a late request may have
-- taken the lock again after the last hold. `keep`, the longest time that was asked for, limits both: the clock
-- may have been set back.
local function left_to_keep(of)
  local about = known(of) or {}
  local left = math.max(tonumber(about.kept) or 0, tonumber(about.outlived) or 0) - now
  return math.max(math.min(left, tonumber(about.keep) or left), 0)
end

-- Deletes the entry of an owner that no longer holds the lock, unless it is now the entry of a waiter.
local function forget_holder(of)
  if waiter_entry(known(of)) then return end
  redis.pcall('hdel', info, of)
  if redis.pcall('hget', info, 'holder') == of then redis.pcall('hdel', info, 'holder') end
end
