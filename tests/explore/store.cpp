#include "explore/store.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fnmatch.h>
#include <stdexcept>
#include <unordered_map>

namespace rlock::explore {
namespace {

using Kind = Value::Kind;

const Reply k_nil{};
const Reply k_ok = Reply::status("OK");
const Reply k_wrong_type =
    Reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
const Reply k_zero = Reply::number(0);
const Reply k_no_integer = Reply::error("ERR value is not an integer or out of range");
const Reply k_no_float = Reply::error("ERR value is not a valid float");
const Reply k_overflow = Reply::error("ERR increment or decrement would overflow");
const Reply k_bad_count =
    Reply::error("ERR Wrong number of args calling Redis command from script");
const Reply k_syntax = Reply::error("ERR syntax error");

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::string:
      return "string";
    case Kind::hash:
      return "hash";
    case Kind::list:
      return "list";
    case Kind::zset:
      return "zset";
  }
  return "";
}

// As Redis: no sign but a minus, no leading zeros, no spaces.
std::optional<std::int64_t> to_integer(const std::string& text) {
  if (text.empty() || text.size() > 20) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (errno != 0 || std::to_string(value) != text) return std::nullopt;
  return value;
}

std::optional<double> to_double(const std::string& text) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text[0])) != 0) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_out = errno == ERANGE && (std::isinf(value) || value == 0);
  if (end != text.c_str() + text.size() || is_out || std::isnan(value)) return std::nullopt;
  return value;
}

// An end of a range of scores. Redis takes less care here: nothing is zero.
struct Bound {
  double score = 0;
  bool is_open = false;
};

std::optional<Bound> to_bound(const std::string& text) {
  const bool is_open = !text.empty() && text[0] == '(';
  char* end = nullptr;
  const double score = std::strtod(text.c_str() + (is_open ? 1 : 0), &end);
  if (*end != 0 || std::isnan(score)) return std::nullopt;
  return Bound{score, is_open};
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::int64_t size_of(const Words& words) { return static_cast<std::int64_t>(words.size()); }

// Makes of Redis' two places, which count from the end where they are negative, a half-open range.
std::pair<std::size_t, std::size_t> range(std::int64_t first, std::int64_t last, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  if (first < 0) first = std::max<std::int64_t>(first + length, 0);
  if (last < 0) last += length;
  last = std::min(last, length - 1);
  if (first > last) return {0, 0};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

using Zset = std::vector<std::pair<double, std::string>>;

Zset::iterator find_member(Zset& zset, const std::string& member) {
  return std::find_if(zset.begin(), zset.end(),
                      [&](const auto& one) { return one.second == member; });
}

void set_score(Zset& zset, const std::string& member, double score) {
  if (auto found = find_member(zset, member); found != zset.end()) zset.erase(found);
  const std::pair<double, std::string> entry{score == 0 ? 0 : score, member};  // no -0
  zset.insert(std::lower_bound(zset.begin(), zset.end(), entry), entry);
}

Value* find(Store& store, const std::string& key) {
  const auto found = store.keys.find(key);
  return found == store.keys.end() ? nullptr : &found->second;
}

bool is_other(Store& store, const std::string& key, Kind kind) {
  const Value* value = find(store, key);
  return value != nullptr && value->kind != kind;
}

Value& make(Store& store, const std::string& key, Kind kind) {
  Value& value = store.keys[key];
  value.kind = kind;
  return value;
}

void drop_if_empty(Store& store, const std::string& key) {
  const Value* value = find(store, key);
  if (value == nullptr || value->kind == Kind::string) return;
  if (value->hash.empty() && value->list.empty() && value->zset.empty()) store.keys.erase(key);
}

// Calls `action` with the value of a command's key, if it is of this kind. Returns `none` without
// such a key.
template <typename Action>
Reply with(Store& store, const Words& words, Kind kind, const Reply& none, Action action) {
  const std::string& key = words[1];
  Value* value = find(store, key);
  if (value == nullptr) return none;
  if (value->kind != kind) return k_wrong_type;
  Reply reply = action(*value);
  drop_if_empty(store, key);
  return reply;
}

[[noreturn]] void refuse(const Words& words) {
  std::string text = "the model does not know";
  for (const std::string& word : words) text += " " + word;
  throw std::logic_error(text);
}

// The server.

Reply time(Store& store, const Words& /*words*/) {
  return Reply::array({Reply::bulk(std::to_string(store.now_ms / 1000)),
                       Reply::bulk(std::to_string(store.now_ms % 1000 * 1000))});
}

// Only what the scripts look for.
Reply info(Store& store, const Words& words) {
  const std::string section = words.size() == 2 ? lower(words[1]) : "";
  if (section == "server") {
    return Reply::bulk("# Server\r\nrun_id:" + store.run_id + "\r\nuptime_in_seconds:" +
                       std::to_string(Store::k_up_s + (store.now_ms - k_now_ms) / 1000) + "\r\n");
  }
  if (section == "replication") return Reply::bulk("# Replication\r\nconnected_slaves:0\r\n");
  if (section == "cluster") return Reply::bulk("# Cluster\r\ncluster_enabled:0\r\n");
  refuse(words);
}

Reply dbsize(Store& store, const Words& /*words*/) {
  return Reply::number(static_cast<std::int64_t>(store.keys.size()));
}

// All keys come at once. Patterns are those of fnmatch: Redis' own differ only where they are
// broken.
Reply scan(Store& store, const Words& words) {
  char* end = nullptr;
  errno = 0;
  const bool is_first = std::strtoul(words[1].c_str(), &end, 10) == 0;
  if (std::isspace(static_cast<unsigned char>(words[1][0])) != 0 || *end != 0 || errno != 0)
    return Reply::error("ERR invalid cursor");
  std::optional<std::string> pattern, type;
  std::int64_t most = 0;
  for (std::size_t i = 2; i < words.size(); i += 2) {
    const std::string option = lower(words[i]);
    if (i + 1 == words.size()) return k_syntax;
    const std::string& value = words[i + 1];
    if (option == "count") {
      const auto count = to_integer(value);
      if (!count) return k_no_integer;
      if (*count < 1) return k_syntax;
      most = *count;
    } else if (option == "match") {
      pattern = value;
    } else if (option == "type") {
      type = lower(value);
    } else {
      return k_syntax;
    }
  }
  if (!is_first || most < dbsize(store, {}).integer) refuse(words);
  Reply found = Reply::array();
  for (const auto& [key, value] : store.keys) {
    if (pattern && fnmatch(pattern->c_str(), key.c_str(), 0) != 0) continue;
    if (!type || *type == name_of(value.kind)) found.items.push_back(Reply::bulk(key));
  }
  return Reply::array({Reply::bulk("0"), std::move(found)});
}

// Keys.

Reply type(Store& store, const Words& words) {
  const Value* value = find(store, words[1]);
  return Reply::status(value == nullptr ? "none" : name_of(value->kind));
}

Reply exists(Store& store, const Words& words) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i) count += find(store, words[i]) != nullptr ? 1 : 0;
  return Reply::number(count);
}

Reply del(Store& store, const Words& words) {
  std::int64_t count = 0;
  for (std::size_t i = 1; i < words.size(); ++i)
    count += static_cast<std::int64_t>(store.keys.erase(words[i]));
  return Reply::number(count);
}

Reply pttl(Store& store, const Words& words) {
  const Value* value = find(store, words[1]);
  if (value == nullptr) return Reply::number(-2);
  return Reply::number(value->end_ms == 0 ? -1 : value->end_ms - store.now_ms);
}

Reply pexpire(Store& store, const Words& words) {
  static const Words options{"nx", "xx", "gt", "lt"};
  if (words.size() > 3) {
    if (std::count(options.begin(), options.end(), lower(words[3])) != 0) refuse(words);
    return Reply::error("ERR Unsupported option " + words[3]);
  }
  const auto span = to_integer(words[2]);
  if (!span) return k_no_integer;
  if (*span > INT64_MAX - store.now_ms)
    return Reply::error("ERR invalid expire time in 'pexpire' command");
  Value* value = find(store, words[1]);
  if (value == nullptr) return k_zero;
  if (*span <= 0) {
    store.keys.erase(words[1]);
  } else {
    value->end_ms = store.now_ms + *span;
  }
  return Reply::number(1);
}

Reply persist(Store& store, const Words& words) {
  Value* value = find(store, words[1]);
  if (value == nullptr || value->end_ms == 0) return k_zero;
  value->end_ms = 0;
  return Reply::number(1);
}

// Strings.

Reply get(Store& store, const Words& words) {
  return with(store, words, Kind::string, k_nil,
              [](Value& value) { return Reply::bulk(value.text); });
}

Reply strlen(Store& store, const Words& words) {
  return with(store, words, Kind::string, k_zero, [](Value& value) {
    return Reply::number(static_cast<std::int64_t>(value.text.size()));
  });
}

Reply set(Store& store, const Words& words) {
  const std::string* px = nullptr;
  bool needs_none = false, needs_one = false, keeps = false;
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::string option = lower(words[i]);
    if (option == "px" && !keeps && i + 1 < words.size()) {
      px = &words[++i];
    } else if (option == "nx" && !needs_one) {
      needs_none = true;
    } else if (option == "xx" && !needs_none) {
      needs_one = true;
    } else if (option == "keepttl" && px == nullptr) {
      keeps = true;
    } else {
      return k_syntax;
    }
  }
  const auto span = px == nullptr ? std::optional<std::int64_t>(1) : to_integer(*px);
  if (!span) return k_no_integer;
  if (*span <= 0 || *span > INT64_MAX - store.now_ms)
    return Reply::error("ERR invalid expire time in 'set' command");
  const Value* there = find(store, words[1]);
  if ((needs_none && there != nullptr) || (needs_one && there == nullptr)) return k_nil;
  Value value;
  value.text = words[2];
  value.end_ms = px != nullptr               ? store.now_ms + *span
                 : keeps && there != nullptr ? there->end_ms
                                             : 0;
  store.keys[words[1]] = std::move(value);
  return k_ok;
}

Reply incr(Store& store, const Words& words) {
  if (is_other(store, words[1], Kind::string)) return k_wrong_type;
  const Value* value = find(store, words[1]);
  const auto number = value == nullptr ? std::optional<std::int64_t>(0) : to_integer(value->text);
  if (!number) return k_no_integer;
  if (*number == INT64_MAX) return k_overflow;
  make(store, words[1], Kind::string).text = std::to_string(*number + 1);
  return Reply::number(*number + 1);
}

// Hashes.

Reply hget(Store& store, const Words& words) {
  return with(store, words, Kind::hash, k_nil, [&](Value& value) {
    const auto found = value.hash.find(words[2]);
    return found == value.hash.end() ? k_nil : Reply::bulk(found->second);
  });
}

Reply hmget(Store& store, const Words& words) {
  const Reply none = Reply::array(std::vector<Reply>(words.size() - 2));
  return with(store, words, Kind::hash, none, [&](Value& value) {
    Reply reply = Reply::array();
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto found = value.hash.find(words[i]);
      reply.items.push_back(found == value.hash.end() ? k_nil : Reply::bulk(found->second));
    }
    return reply;
  });
}

Reply hexists(Store& store, const Words& words) {
  return with(store, words, Kind::hash, k_zero,
              [&](Value& value) { return Reply::number(value.hash.count(words[2]) != 0 ? 1 : 0); });
}

Reply hstrlen(Store& store, const Words& words) {
  return with(store, words, Kind::hash, k_zero, [&](Value& value) {
    const auto found = value.hash.find(words[2]);
    return Reply::number(
        found == value.hash.end() ? 0 : static_cast<std::int64_t>(found->second.size()));
  });
}

Reply hset(Store& store, const Words& words) {
  if (words.size() % 2 != 0)
    return Reply::error("ERR wrong number of arguments for 'hset' command");
  if (is_other(store, words[1], Kind::hash)) return k_wrong_type;
  Value& value = make(store, words[1], Kind::hash);
  std::int64_t added = 0;
  for (std::size_t i = 2; i < words.size(); i += 2)
    added += value.hash.insert_or_assign(words[i], words[i + 1]).second ? 1 : 0;
  return Reply::number(added);
}

Reply hincrby(Store& store, const Words& words) {
  const auto step = to_integer(words[3]);
  if (!step) return k_no_integer;
  if (is_other(store, words[1], Kind::hash)) return k_wrong_type;
  std::optional<std::int64_t> number = 0;
  if (const Value* value = find(store, words[1]); value != nullptr) {
    const auto field = value->hash.find(words[2]);
    if (field != value->hash.end()) number = to_integer(field->second);
  }
  if (!number) return Reply::error("ERR hash value is not an integer");
  std::int64_t sum = 0;
  if (__builtin_add_overflow(*number, *step, &sum)) return k_overflow;
  make(store, words[1], Kind::hash).hash[words[2]] = std::to_string(sum);
  return Reply::number(sum);
}

Reply hdel(Store& store, const Words& words) {
  return with(store, words, Kind::hash, k_zero, [&](Value& value) {
    std::int64_t count = 0;
    for (std::size_t i = 2; i < words.size(); ++i)
      count += static_cast<std::int64_t>(value.hash.erase(words[i]));
    return Reply::number(count);
  });
}

Reply hlen(Store& store, const Words& words) {
  return with(store, words, Kind::hash, k_zero, [](Value& value) {
    return Reply::number(static_cast<std::int64_t>(value.hash.size()));
  });
}

// Redis promises no order of the fields; the model's is that of their names.
Reply hkeys(Store& store, const Words& words) {
  return with(store, words, Kind::hash, Reply::array(), [&](Value& value) {
    Reply reply = Reply::array();
    for (const auto& [field, text] : value.hash) reply.items.push_back(Reply::bulk(field));
    return reply;
  });
}

Reply hgetall(Store& store, const Words& words) {
  return with(store, words, Kind::hash, Reply::array(), [&](Value& value) {
    Reply reply = Reply::array();
    for (const auto& [field, text] : value.hash) {
      reply.items.push_back(Reply::bulk(field));
      reply.items.push_back(Reply::bulk(text));
    }
    return reply;
  });
}

// Only with a count that is as high as the number of fields: nothing is random then.
Reply hrandfield(Store& store, const Words& words) {
  const auto count = words.size() > 2 ? to_integer(words[2]) : 0;
  if (!count) return k_no_integer;
  if (words.size() > 3) return k_syntax;
  return with(store, words, Kind::hash, Reply::array(), [&](Value& value) {
    if (*count < static_cast<std::int64_t>(value.hash.size())) refuse(words);
    return hkeys(store, words);
  });
}

// Lists.

Reply llen(Store& store, const Words& words) {
  return with(store, words, Kind::list, k_zero,
              [](Value& value) { return Reply::number(size_of(value.list)); });
}

Reply rpush(Store& store, const Words& words) {
  if (is_other(store, words[1], Kind::list)) return k_wrong_type;
  Value& value = make(store, words[1], Kind::list);
  value.list.insert(value.list.end(), words.begin() + 2, words.end());
  return Reply::number(size_of(value.list));
}

Reply pop(Store& store, const Words& words, bool is_left) {
  if (words.size() > 2) refuse(words);
  return with(store, words, Kind::list, k_nil, [&](Value& value) {
    const auto at = is_left ? value.list.begin() : value.list.end() - 1;
    Reply reply = Reply::bulk(*at);
    value.list.erase(at);
    return reply;
  });
}

Reply lpop(Store& store, const Words& words) { return pop(store, words, true); }
Reply rpop(Store& store, const Words& words) { return pop(store, words, false); }

Reply lindex(Store& store, const Words& words) {
  return with(store, words, Kind::list, k_nil, [&](Value& value) {
    auto at = to_integer(words[2]);
    if (!at) return k_no_integer;
    if (*at < 0) *at += size_of(value.list);
    if (*at < 0 || *at >= size_of(value.list)) return k_nil;
    return Reply::bulk(value.list[static_cast<std::size_t>(*at)]);
  });
}

Words part_of(const Words& list, std::int64_t first, std::int64_t last) {
  const auto [from, to] = range(first, last, list.size());
  return {list.begin() + static_cast<std::ptrdiff_t>(from),
          list.begin() + static_cast<std::ptrdiff_t>(to)};
}

Reply lrange(Store& store, const Words& words) {
  const auto first = to_integer(words[2]), last = to_integer(words[3]);
  if (!first || !last) return k_no_integer;
  return with(store, words, Kind::list, Reply::array(), [&](Value& value) {
    Reply reply = Reply::array();
    for (const std::string& item : part_of(value.list, *first, *last))
      reply.items.push_back(Reply::bulk(item));
    return reply;
  });
}

Reply ltrim(Store& store, const Words& words) {
  const auto first = to_integer(words[2]), last = to_integer(words[3]);
  if (!first || !last) return k_no_integer;
  return with(store, words, Kind::list, k_ok, [&](Value& value) {
    value.list = part_of(value.list, *first, *last);
    return k_ok;
  });
}

Reply lpos(Store& store, const Words& words) {
  std::int64_t rank = 1, most = 0;
  for (std::size_t i = 3; i < words.size(); i += 2) {
    const std::string option = lower(words[i]);
    if (i + 1 == words.size() || (option != "rank" && option != "maxlen")) return k_syntax;
    const auto number = to_integer(words[i + 1]);
    if (option == "rank" && (!number || *number == 0 || *number == INT64_MIN))
      return Reply::error("ERR RANK can't be zero");
    if (option == "maxlen" && (!number || *number < 0))
      return Reply::error("ERR MAXLEN can't be negative");
    (option == "rank" ? rank : most) = *number;
  }
  return with(store, words, Kind::list, k_nil, [&](Value& value) {
    const std::int64_t size = size_of(value.list);
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < size && (most == 0 || i < most); ++i) {
      const std::int64_t at = rank < 0 ? size - 1 - i : i;
      if (value.list[static_cast<std::size_t>(at)] != words[2]) continue;
      if (++found == std::abs(rank)) return Reply::number(at);
    }
    return k_nil;
  });
}

Reply linsert(Store& store, const Words& words) {
  const std::string where = lower(words[2]);
  if (where != "before" && where != "after") return k_syntax;
  return with(store, words, Kind::list, k_zero, [&](Value& value) {
    const auto at = std::find(value.list.begin(), value.list.end(), words[3]);
    if (at == value.list.end()) return Reply::number(-1);
    value.list.insert(where == "before" ? at : at + 1, words[4]);
    return Reply::number(size_of(value.list));
  });
}

Reply lrem(Store& store, const Words& words) {
  const auto most = to_integer(words[2]);
  if (!most || *most == INT64_MIN) return k_no_integer;
  return with(store, words, Kind::list, k_zero, [&](Value& value) {
    Words& list = value.list;
    if (*most < 0) std::reverse(list.begin(), list.end());
    std::int64_t count = 0;
    const auto end = std::remove_if(list.begin(), list.end(), [&](const std::string& item) {
      return item == words[3] && (*most == 0 || count < std::abs(*most)) && ++count > 0;
    });
    list.erase(end, list.end());
    if (*most < 0) std::reverse(list.begin(), list.end());
    return Reply::number(count);
  });
}

// Sorted sets.

Reply zcard(Store& store, const Words& words) {
  return with(store, words, Kind::zset, k_zero, [](Value& value) {
    return Reply::number(static_cast<std::int64_t>(value.zset.size()));
  });
}

Reply zadd(Store& store, const Words& words) {
  bool xx = false, nx = false, gt = false, lt = false, counts_changes = false;
  std::size_t i = 2;
  for (; i < words.size(); ++i) {
    const std::string option = lower(words[i]);
    if (option == "incr") refuse(words);
    bool* const flag = option == "xx"   ? &xx
                       : option == "nx" ? &nx
                       : option == "gt" ? &gt
                       : option == "lt" ? &lt
                       : option == "ch" ? &counts_changes
                                        : nullptr;
    if (flag == nullptr) break;
    *flag = true;
  }
  if (i == words.size() || (words.size() - i) % 2 != 0) return k_syntax;
  if (nx && (xx || gt || lt)) return Reply::error("ERR these options are not compatible");
  if (gt && lt) return Reply::error("ERR these options are not compatible");
  std::vector<double> scores;
  for (std::size_t k = i; k < words.size(); k += 2) {
    const auto score = to_double(words[k]);
    if (!score) return k_no_float;
    scores.push_back(*score);
  }
  if (is_other(store, words[1], Kind::zset)) return k_wrong_type;
  if (xx && find(store, words[1]) == nullptr) return k_zero;
  Zset& zset = make(store, words[1], Kind::zset).zset;
  std::int64_t count = 0;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const std::string& member = words[i + 2 * k + 1];
    const auto found = find_member(zset, member);
    if (found == zset.end()) {
      if (xx) continue;
      ++count;
    } else {
      const double old = found->first;
      if (nx || scores[k] == old || (gt && scores[k] < old) || (lt && scores[k] > old)) continue;
      if (counts_changes) ++count;
    }
    set_score(zset, member, scores[k]);
  }
  drop_if_empty(store, words[1]);
  return Reply::number(count);
}

Reply zincrby(Store& store, const Words& words) {
  const auto step = to_double(words[2]);
  if (!step) return k_no_float;
  if (is_other(store, words[1], Kind::zset)) return k_wrong_type;
  Zset& zset = make(store, words[1], Kind::zset).zset;
  const auto found = find_member(zset, words[3]);
  const double score = found == zset.end() ? *step : found->first + *step;
  if (std::isnan(score)) return Reply::error("ERR resulting score is not a number (NaN)");
  if (found == zset.end() || score != found->first) set_score(zset, words[3], score);
  return Reply::bulk(format_score(score));
}

Reply zrem(Store& store, const Words& words) {
  return with(store, words, Kind::zset, k_zero, [&](Value& value) {
    std::int64_t count = 0;
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto found = find_member(value.zset, words[i]);
      if (found == value.zset.end()) continue;
      value.zset.erase(found);
      ++count;
    }
    return Reply::number(count);
  });
}

Reply score_of(Zset& zset, const std::string& member) {
  const auto found = find_member(zset, member);
  return found == zset.end() ? k_nil : Reply::bulk(format_score(found->first));
}

Reply zscore(Store& store, const Words& words) {
  return with(store, words, Kind::zset, k_nil,
              [&](Value& value) { return score_of(value.zset, words[2]); });
}

Reply zmscore(Store& store, const Words& words) {
  const Reply none = Reply::array(std::vector<Reply>(words.size() - 2));
  return with(store, words, Kind::zset, none, [&](Value& value) {
    Reply reply = Reply::array();
    for (std::size_t i = 2; i < words.size(); ++i)
      reply.items.push_back(score_of(value.zset, words[i]));
    return reply;
  });
}

Zset between(const Zset& zset, const Bound& least, const Bound& most, std::int64_t skip,
             std::int64_t limit) {
  Zset found;
  if (skip < 0) return found;
  for (const auto& entry : zset) {
    const double score = entry.first;
    if (least.is_open ? score <= least.score : score < least.score) continue;
    if (most.is_open ? score >= most.score : score > most.score) continue;
    if (skip-- > 0) continue;
    if (limit-- == 0) break;
    found.push_back(entry);
  }
  return found;
}

Reply zrange_of(Store& store, const Words& words, bool is_reverse) {
  bool by_score = false, with_scores = false, has_limit = false;
  std::int64_t skip = 0, limit = -1;
  for (std::size_t i = 4; i < words.size(); ++i) {
    const std::string option = lower(words[i]);
    if (option == "withscores") {
      with_scores = true;
    } else if (option == "byscore" && !is_reverse && !by_score) {
      by_score = true;
    } else if (option == "limit" && i + 2 < words.size()) {
      const auto from = to_integer(words[i + 1]), most = to_integer(words[i + 2]);
      if (!from || !most) return k_no_integer;
      has_limit = true;
      skip = *from;
      limit = *most;
      i += 2;
    } else {
      return k_syntax;
    }
  }
  if (has_limit && !by_score && limit != -1) return k_syntax;
  const auto first = to_integer(words[2]), last = to_integer(words[3]);
  const auto least = to_bound(words[2]), most = to_bound(words[3]);
  if (by_score && (!least || !most)) return Reply::error("ERR min or max is not a float");
  if (!by_score && (!first || !last)) return k_no_integer;
  return with(store, words, Kind::zset, Reply::array(), [&](Value& value) {
    Zset found = value.zset;
    if (is_reverse) std::reverse(found.begin(), found.end());
    if (by_score) {
      found = between(found, *least, *most, skip, limit);
    } else {
      const auto [from, to] = range(*first, *last, found.size());
      found = Zset(found.begin() + static_cast<std::ptrdiff_t>(from),
                   found.begin() + static_cast<std::ptrdiff_t>(to));
    }
    Reply reply = Reply::array();
    for (const auto& [score, member] : found) {
      reply.items.push_back(Reply::bulk(member));
      if (with_scores) reply.items.push_back(Reply::bulk(format_score(score)));
    }
    return reply;
  });
}

Reply zrange(Store& store, const Words& words) { return zrange_of(store, words, false); }
Reply zrevrange(Store& store, const Words& words) { return zrange_of(store, words, true); }

// Channels.

std::int64_t count_of(const Words& channels, const std::string& name) {
  return std::count(channels.begin(), channels.end(), name);
}

Reply publish(Store& store, const Words& words) {
  store.published.push_back(words[1]);
  store.messages.push_back(words[2]);
  return Reply::number(count_of(store.channels, words[1]));
}

Reply spublish(Store& store, const Words& words) {
  store.published_in_shard.push_back(words[1]);
  return Reply::number(count_of(store.shard_channels, words[1]));
}

Reply pubsub(Store& store, const Words& words) {
  const std::string what = lower(words[1]);
  if (what != "numsub" && what != "shardnumsub") refuse(words);
  Reply reply = Reply::array();
  for (std::size_t i = 2; i < words.size(); ++i) {
    reply.items.push_back(Reply::bulk(words[i]));
    reply.items.push_back(Reply::number(
        count_of(what == "numsub" ? store.channels : store.shard_channels, words[i])));
  }
  return reply;
}

struct Command {
  int count;  // of words, with its name; below 0: so many or more
  Reply (*run)(Store&, const Words&);
};

const std::unordered_map<std::string, Command> k_commands{
    {"time", {1, time}},
    {"info", {-1, info}},
    {"dbsize", {1, dbsize}},
    {"scan", {-2, scan}},
    {"type", {2, type}},
    {"exists", {-2, exists}},
    {"del", {-2, del}},
    {"pttl", {2, pttl}},
    {"pexpire", {-3, pexpire}},
    {"persist", {2, persist}},
    {"get", {2, get}},
    {"strlen", {2, strlen}},
    {"set", {-3, set}},
    {"incr", {2, incr}},
    {"hget", {3, hget}},
    {"hmget", {-3, hmget}},
    {"hexists", {3, hexists}},
    {"hstrlen", {3, hstrlen}},
    {"hset", {-4, hset}},
    {"hincrby", {4, hincrby}},
    {"hdel", {-3, hdel}},
    {"hlen", {2, hlen}},
    {"hkeys", {2, hkeys}},
    {"hgetall", {2, hgetall}},
    {"hrandfield", {-2, hrandfield}},
    {"llen", {2, llen}},
    {"rpush", {-3, rpush}},
    {"lpop", {-2, lpop}},
    {"rpop", {-2, rpop}},
    {"lindex", {3, lindex}},
    {"lrange", {4, lrange}},
    {"ltrim", {4, ltrim}},
    {"lpos", {-3, lpos}},
    {"linsert", {5, linsert}},
    {"lrem", {4, lrem}},
    {"zcard", {2, zcard}},
    {"zadd", {-4, zadd}},
    {"zincrby", {4, zincrby}},
    {"zrem", {-3, zrem}},
    {"zscore", {3, zscore}},
    {"zmscore", {-3, zmscore}},
    {"zrange", {-4, zrange}},
    {"zrevrange", {-4, zrevrange}},
    {"publish", {3, publish}},
    {"spublish", {3, spublish}},
    {"pubsub", {-2, pubsub}},
};

}  // namespace

std::string format_score(double score) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", score);
  return text;
}

// What ends now is still there, with nothing left of its time, as on a server.
void Store::advance(std::int64_t ms) {
  now_ms += ms;
  for (auto it = keys.begin(); it != keys.end();) {
    const std::int64_t end_ms = it->second.end_ms;
    it = end_ms != 0 && end_ms < now_ms ? keys.erase(it) : std::next(it);
  }
}

void Store::pass(std::int64_t ms) {
  advance(ms);
  now_ms -= ms;
  for (auto& [name, value] : keys) {
    if (value.end_ms != 0) value.end_ms -= ms;
  }
}

std::optional<std::int64_t> Store::next_expiry() const {
  std::optional<std::int64_t> next;
  for (const auto& [name, value] : keys) {
    if (value.end_ms == 0) continue;
    const std::int64_t left = std::max<std::int64_t>(value.end_ms - now_ms, 1);
    next = std::min(next.value_or(left), left);
  }
  return next;
}

// Each command in the forms that the scripts use, and with the errors that these can have.
Reply Store::run(const Words& words) {
  const auto found = k_commands.find(lower(words[0]));
  if (found == k_commands.end()) refuse(words);
  const Command& command = found->second;
  const auto count = static_cast<int>(words.size());
  if (command.count < 0 ? count < -command.count : count != command.count) return k_bad_count;
  return command.run(*this, words);
}

}  // namespace rlock::explore
