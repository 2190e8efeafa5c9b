-- Fencing tokens, from Redisson's counter. Needs the local token (the counter's key). To draw, it also
-- needs include/now.lua and include/info.lua. Lua's numbers are exact only up to 2^53, so tokens are texts.

-- Splits a whole number: returns the digits before the last nine, and the last nine.
local function split(text) return tonumber(text:sub(1, -10)) or 0, tonumber(text:sub(-9)) end

-- Returns the server's clock in microseconds.
local function clock() return string.format('%.0f', time[1] * 1000000 + time[2]) end

-- Returns whether a whole number is lower than another; both at least 0.
local function is_lower(one, other)
  local high, low = split(one)
  local other_high, other_low = split(other)
  return high < other_high or high == other_high and low < other_low
end

-- Returns the counter's value (text, at least 0), or nil and the reason why the key is no counter.
local function read_counter()
  local kind = redis.call('type', token).ok
  if kind == 'none' then return '0' end
  if kind ~= 'string' then return nil, 'it is a ' .. kind end
  local value = redis.call('get', token)
  local digits = value:match('^0$') or value:match('^%-?([1-9]%d*)$')  -- as INCR accepts it
  if not digits or #digits > 19 or is_lower('9223372036854775807', digits) then
    return nil, 'it is no number'
  end
  return value == digits and value or '0'
end

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
  if value == '9223372036854775807' then return nil, {k_no_token, 'it has reached its end'} end
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
