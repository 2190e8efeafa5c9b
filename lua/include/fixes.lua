-- What a repair has found: {code, how many there are, the first of them} of each sort of garbage.
local fixes, sorts = {}, {}
local function note_fix(what, subject)
  if not sorts[what] then
    sorts[what] = {what, 0, subject}
    fixes[#fixes + 1] = sorts[what]
  end
  sorts[what][2] = sorts[what][2] + 1
end
