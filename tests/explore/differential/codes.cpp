// Pieces of Lua: what a script sees of replies and errors, what a client sees of what it returns,
// and the libraries.
#include "explore/differential/inputs.hpp"

namespace rlock::explore {
namespace {

// Makes a text of any value, in which members have an order.
const char* const k_show = R"LUA(
local function show(value)
  local kind = type(value)
  if value == cjson.null then return 'null' end
  if kind == 'number' then return string.format('%.17g', value) end
  if kind == 'string' then return string.format('%q', value) end
  if kind ~= 'table' then return tostring(value) end
  local parts = {}
  for key, item in pairs(value) do
    if key ~= 'source' and key ~= 'line' then parts[#parts + 1] = show(key) .. '=' .. show(item) end
  end
  table.sort(parts)
  return '{' .. table.concat(parts, ',') .. '}'
end
local function shown(...)
  local parts = {}
  for i = 1, select('#', ...) do parts[i] = show((select(i, ...))) end
  return parts
end
)LUA";

struct Code {
  const char* name;
  const char* text;
};

// Of one command, in ARGV. Those that return fields in no order are only looked at by "command".
const Code k_of_command[] = {
    {"command", "return redis.pcall(unpack(ARGV))"},
    {"raised", "return redis.call(unpack(ARGV))"},
    {"upper", "ARGV[1] = ARGV[1]:upper() return type(redis.pcall(unpack(ARGV)))"},
    {"caught",
     "local ok, reply = pcall(redis.call, unpack(ARGV))"
     " return {tostring(ok), type(reply)}"},
    {"error",
     "local reply = redis.pcall(unpack(ARGV))"
     " return type(reply) == 'table' and reply.err and reply.err:match('^%S+') or type(reply)"},
    {"status",
     "local reply = redis.pcall(unpack(ARGV))"
     " return type(reply) == 'table' and (reply.ok or #reply) or type(reply)"},
    {"number",
     "local reply = redis.pcall(unpack(ARGV))"
     " return type(reply) == 'number' and {tostring(reply), reply + 0.5, -reply} or type(reply)"},
};

// Of one odd number or text.
const Code k_of_text[] = {
    {"tonumber", "return show(tonumber(ARGV[1]))"},
    {"tostring", "return tostring(tonumber(ARGV[1]))"},
    {"returned", "return tonumber(ARGV[1]) or 'none'"},
    {"list", "return {1, ARGV[1], false, true, {tonumber(ARGV[1]), {}}, nil, 5}"},
    {"fraction", "return {3.99, -3.99, 0.1, {ok = 'x'}, tonumber(ARGV[1])}"},
    {"ok", "return {ok = ARGV[1]:gsub('%c', '')}"},
    {"err", "return {err = 'BAD ' .. ARGV[1]:gsub('%c', '')}"},
    {"fields", "return {err = 5, ok = 6, 'list'}"},
    {"function", "return {1, type, 2}"},
    {"nothing", "local _ = ARGV"},
    {"error_reply", "return redis.error_reply('TRYAGAIN ' .. ARGV[1]:gsub('%c', ''))"},
    {"error_reply_dash", "return redis.error_reply('-TRYAGAIN x')"},
    {"error_reply_table", "return show(redis.error_reply('TRYAGAIN x').err)"},
    {"status_reply", "return redis.status_reply('FINE')"},
    {"thrown", "error('OH ' .. ARGV[1])"},
    {"thrown_table", "error({err = 'OH dear'})"},
    {"fault", "return nil .. ARGV[1]"},
    {"global", "return nobody_has_defined_it"},
    {"new_global", "nobody_has_defined_it = 1"},
    {"numbers",
     "local n = tonumber(ARGV[1]) or 1.5 redis.pcall('set', 's0', n)"
     " redis.pcall('rpush', 'l0', n, -n, n / 3, n * 1e6, math.floor(n)) return redis.call('get', "
     "'s0')"},
    {"arguments",
     "return {pcall(redis.call, 'set', 's0', nil) and 1, pcall(redis.call, 'get', true) and 1,"
     " pcall(redis.call, 'get', {}) and 1, pcall(redis.call) and 1}"},
    {"few_arguments", "return show(redis.pcall('hmget', 'h0').err:match('^%S+'))"},
    {"many_items",
     "local t = {} for i = 1, 2000 do t[i] = i end redis.call('rpush', 'l1', unpack(t))"
     " return #redis.call('lrange', 'l1', 0, -1)"},
    {"too_many_items",
     "local t = {} for i = 1, 9000 do t[i] = i end return {pcall(unpack, t) and 1 or 0}"},
    {"format",
     "local n = tonumber(ARGV[1]) or 0 return {string.format('%.0f', n), string.format('%d', 7),"
     " ('%02x'):format(200), n .. '', string.format('%09.0f', n)}"},
    {"floor",
     "local n = tonumber(ARGV[1]) or 0 return shown(math.floor(n), math.max(n, 3), math.min(n, 3), "
     "n % 7)"},
    {"patterns",
     "return shown(ARGV[1]:find('^%-?%d+$'), ARGV[1]:match('[^:]+$'), ARGV[1]:sub(2, -2),"
     " ARGV[1]:find('.', 1, true), ARGV[1]:gsub('.', '%0%0'))"},
    {"compared", "return show(ARGV[1] < '5') .. show(ARGV[1] == '5')"},
    {"may",
     "return shown(redis.acl_check_cmd('get', ARGV[1]), redis.acl_check_cmd('client', 'setname', "
     "'x'))"},
    {"info",
     "local text = redis.pcall('info', 'replication') .. redis.pcall('info', 'cluster')"
     " local server = redis.call('info', 'server')"
     " return shown(text:find('connected_slaves:0', 1, true) ~= nil,"
     " text:find('cluster_enabled:0', 1, true) ~= nil,"
     " server:match('run_id:(%x+)'), server:match('uptime_in_seconds:(%-?%d+)'))"},
    {"time", "return redis.call('time')"},
};

// Of one JSON text.
const Code k_of_json[] = {
    {"decode",
     "local ok, value = pcall(cjson.decode, ARGV[1]) return {show(ok), ok and show(value) or ''}"},
    {"decode_raised", "return show(cjson.decode(ARGV[1]))"},
    {"encode", "return cjson.encode(cjson.decode(ARGV[1]))"},
    {"encode_list",
     "return cjson.encode({ARGV[1], tonumber(ARGV[2]) or 0, false, {}, {a = {b = 1.5}}, {1, nil, "
     "3}})"},
    {"encode_sparse",
     "local ok, text = pcall(cjson.encode, {[(tonumber(ARGV[2]) or 7) % 30] = 1}) return shown(ok, "
     "ok and "
     "text)"},
    {"encode_keys", "return cjson.encode({[1.5] = 1, [-1] = 2, x = ARGV[1]})"},
    {"encode_not", "return shown((pcall(cjson.encode, {type})), (pcall(cjson.encode, {1 / 0})))"},
    {"pack", "return cmsgpack.pack(ARGV[1], tonumber(ARGV[2]), {1, {ARGV[2]}, true}, false, nil)"},
    {"pack_json",
     "local ok, value = pcall(cjson.decode, ARGV[1]) if not ok then return 'none' end"
     " return show(cmsgpack.unpack(cmsgpack.pack(value)))"},
    {"unpack",
     "local reply = {pcall(cmsgpack.unpack, ARGV[1])}"
     " return reply[1] and shown(unpack(reply)) or show(reply[1])"},
    {"unpack_part",
     "local whole = cmsgpack.pack({ARGV[1], {tonumber(ARGV[2]) or 0, ARGV[2]:rep(20)}})"
     " local reply = {pcall(cmsgpack.unpack, whole:sub(1, #whole - #ARGV[2]))}"
     " return reply[1] and shown(unpack(reply)) or show(reply[1])"},
};

std::string json_value(Random& r, int level) {
  static const Words texts{
      "",    "a",           "\xc3\xa4", "\xff", "x\\ny", "\\u00e4\\ud83d\\ude00", "\\/\\\\\\\"",
      "a/b", "\\u0001\x7f", "entered",  "a\tb"};
  static const Words words{"true", "false", "null", "{}", "[]"};
  static const Words numbers{"0",
                             "-1",
                             "12",
                             "1.5",
                             "1e3",
                             "1E+2",
                             "1800000000123",
                             "1e14",
                             "123456789012345678",
                             "-0",
                             "0.1",
                             "1e300",
                             "2.50",
                             "1800000000123456",
                             "-32",
                             "-129",
                             "40000",
                             "-40000",
                             "5000000000"};
  const std::size_t sort = r.below(level > 2 ? 5 : 8);
  if (sort < 2) return "\"" + r.pick(texts) + "\"";
  if (sort < 4) return r.pick(numbers);
  if (sort == 4) return r.pick(words);
  const bool is_object = sort > 5;
  std::string text(1, is_object ? '{' : '[');
  for (std::size_t i = r.below(4); i > 0; --i) {
    if (is_object)
      text += "\"" +
              (r.chance(80) ? std::string(1, static_cast<char>('a' + r.below(5))) : r.pick(texts)) +
              "\":";
    text += json_value(r, level + 1) + (i > 1 ? "," : "");
  }
  return text + (is_object ? "}" : "]");
}

}  // namespace

std::string odd_json(Random& r) {
  std::string text = json_value(r, 0);
  if (r.chance(75)) return text;
  static const std::string odd = " \n,:{}[]\"\\u0+-.eExinf9";
  const std::size_t at = r.below(text.size() + 1);
  if (r.chance(60)) return text.insert(at, 1, r.pick(odd));
  return text.erase(at, 1 + r.below(3));
}

History random_codes(Random& r) {
  History history;
  if (r.chance(50)) history.listened = history.listened_in_shard = {"c0", "c1"};
  for (std::size_t i = 40; i > 0; --i) {
    if (r.chance(40)) {
      const Code& code = r.pick(k_of_command);
      history.steps.push_back({Step::What::code, code.name, {}, random_command(r), code.text});
      continue;
    }
    const bool is_json = r.chance(50);
    const Code& code = is_json ? r.pick(k_of_json) : r.pick(k_of_text);
    const Words words{is_json ? odd_json(r) : odd_text(r), odd_number(r)};
    history.steps.push_back(
        {Step::What::code, code.name, {}, words, std::string(k_show) + code.text});
  }
  return history;
}

}  // namespace rlock::explore
