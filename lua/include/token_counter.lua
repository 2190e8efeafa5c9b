-- Redisson's counter of fencing tokens. Needs the local token (the counter's key), and clock needs include/now.lua.
-- Lua's numbers are exact only up to 2^53, so tokens are texts.

local k_last_token = '9223372036854775807'  -- INCR goes no further

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
  if not digits or #digits > 19 or is_lower(k_last_token, digits) then
    return nil, 'it is no number'
  end
  return value == digits and value or '0'
end
