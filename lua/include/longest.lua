-- A lock may last longer than anybody has asked for, if the server's clock was set back. Needs include/now.lua and
-- include/info.lua.

-- Returns how long (ms) the owner's holds, `count` of them (nil: not known), may keep the lock from now on: the
-- longest lease or --at-least that they have asked for. k_furthest if there is no entry of the owner, or it
-- does not know all holds.
local function longest_of(of, lease, count)
  local about = known(of)
  if not about then return k_furthest end  -- it may be Redisson's, or have asked for more than this renewal does
  local ended, others = {}, 0
  local function list(name) return type(about[name]) == 'table' and about[name] or {} end
  for _, name in ipairs({'past', 'ended'}) do
    for _, hold in ipairs(list(name)) do ended[hold] = true end
  end
  for _, hold in ipairs(list('entered')) do
    if not ended[hold] then others = others + 1 end
  end
  if count ~= 1 and (not about.lease or others + 1 < (count or 0)) then return k_furthest end
  return math.max(lease, tonumber(about.lease) or 0, tonumber(about.longest) or 0, left_to_keep(of))
end
