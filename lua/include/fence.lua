-- Fencing tokens, from Redisson's counter. Needs the local token (the counter's key). To draw, it also
-- needs include/now.lua and include/info.lua.

--#include token_counter.lua

-- Draws the next token. It is never lower than the server's clock (in microseconds), so tokens grow even
-- if the counter was lost. Returns the token, or nil and the script's reply. Then nothing was changed.
local function draw()
  local reply = redis.pcall('incr', token)
  if type(reply) == 'table' then
    if reply.err:find('overflow', 1, true) then return nil, {k_no_token, 'it has reached its end'} end
    local _, why = read_counter()
    return nil, why and {k_no_token, why} or reply
  end
  local value = redis.call('get', token)
  local lowest = clock()
  if value:sub(1, 1) == '-' or is_lower(value, lowest) then value = lowest end
  if value == lowest or redis.call('pttl', token) ~= -1 then redis.call('set', token, value) end
  return value
end

-- Returns the token that draw would return. Draws none.
local function peek()
  local value, why = read_counter()
  if not value then return nil, {k_no_token, why} end
  local lowest = clock()
  if is_lower(value, lowest) then return lowest end
  if value == k_last_token then return nil, {k_no_token, 'it has reached its end'} end
  local high, low = split(value)
  low = low + 1
  if low == 1e9 then high, low = high + 1, 0 end
  return string.format('%.0f%09.0f', high, low):match('^0*(%d+)$')
end

-- Returns the token of a grant, as draw does, or nothing if `mode` is off. An owner that already `holds` the
-- lock keeps its token. If there is none yet, `mode` decides: draw draws it, peek looks at the next one,
-- noted returns nothing.
local function fence(owner, holds, mode)
  if mode == 'off' then return nil end
  local about = holds and known(owner)
  local noted = about and about.token
  if noted and noted == redis.pcall('get', token) then return noted end
  if mode == 'peek' then return peek() end
  if mode == 'noted' then return nil end
  return draw()
end
