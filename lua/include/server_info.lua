-- Returns a part of the server's INFO, or false if the user has no right to it.
local function ask_server(part)
  local text = redis.pcall('info', part)
  return type(text) == 'string' and text
end
