#include "explore/store.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>

namespace rlock::explore {
namespace {

using Kind = Value::Kind;

const Reply k_nil{};
const Reply k_ok = Reply::status("OK");
const Reply k_wrong_type =
    Reply::error("WRONGTYPE Operation against a key holding the wrong kind of value");
const Reply k_no_integer = Reply::error("ERR value is not an integer or out of range");
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

std::optional<std::int64_t> to_integer(const std::string& text) {
  if (text.empty() || text.size() > 20) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text.c_str(), &end, 10);
  if (*end != 0 || errno != 0 || std::to_string(value) != text) return std::nullopt;
  return value;
}

std::optional<double> to_double(const std::string& text) {
  if (text.empty() || text[0] == ' ') return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != 0 || std::isnan(value)) return std::nullopt;
  return value;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Makes of Redis' two places, which count from the end where they are negative, a half-open range.
std::pair<std::size_t, std::size_t> range(std::int64_t first, std::int64_t last, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  if (first < 0) first = std::max<std::int64_t>(first + length, 0);
  if (last < 0) last += length;
  last = std::min(last, length - 1);
  if (first > last) return {0, 0};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

auto find_member(std::vector<std::pair<double, std::string>>& zset, const std::string& member) {
  return std::find_if(zset.begin(), zset.end(),
                      [&](const auto& one) { return one.second == member; });
}

void set_score(std::vector<std::pair<double, std::string>>& zset, const std::string& member,
               double score) {
  if (auto found = find_member(zset, member); found != zset.end()) zset.erase(found);
  const std::pair<double, std::string> entry{score, member};
  zset.insert(std::lower_bound(zset.begin(), zset.end(), entry), entry);
}

}  // namespace

std::string format_score(double score) {
  char text[40];
  if (score == std::floor(score) && std::abs(score) < 1e17) {
    std::snprintf(text, sizeof text, "%.0f", score);
  } else {
    std::snprintf(text, sizeof text, "%.17g", score);
  }
  return text;
}

Value* Store::find(const std::string& key) {
  const auto found = keys.find(key);
  return found == keys.end() ? nullptr : &found->second;
}

Value& Store::make(const std::string& key, Kind kind) {
  Value& value = keys[key];
  value.kind = kind;
  return value;
}

void Store::drop_if_empty(const std::string& key) {
  const Value* value = find(key);
  if (value == nullptr || value->kind == Kind::string) return;
  if (value->hash.empty() && value->list.empty() && value->zset.empty()) keys.erase(key);
}

// Calls `action` with the value of a key of this kind. Returns `none` without such a key.
template <typename Action>
Reply Store::with(const std::string& key, Kind kind, Reply none, Action action) {
  Value* value = find(key);
  if (value == nullptr) return none;
  if (value->kind != kind) return k_wrong_type;
  Reply reply = action(*value);
  drop_if_empty(key);
  return reply;
}

void Store::pass(std::int64_t ms) {
  for (auto it = keys.begin(); it != keys.end();) {
    Value& value = it->second;
    if (value.end_ms != 0 && (value.end_ms -= ms) <= k_now_ms) {
      it = keys.erase(it);
    } else {
      ++it;
    }
  }
}

std::optional<std::int64_t> Store::next_expiry() const {
  std::optional<std::int64_t> next;
  for (const auto& [name, value] : keys) {
    if (value.end_ms != 0)
      next = std::min(next.value_or(value.end_ms - k_now_ms), value.end_ms - k_now_ms);
  }
  return next;
}

// Each command in the forms that the scripts use, and with the errors that these can have.
Reply Store::run(const Words& words) {
  const std::string name = lower(words[0]);
  const auto arg = [&](std::size_t i) -> const std::string& {
    static const std::string none;
    return i < words.size() ? words[i] : none;
  };
  const std::string& key = arg(1);

  if (name == "time") {
    return Reply::array({Reply::bulk(std::to_string(k_now_ms / 1000)), Reply::bulk("0")});
  }
  if (name == "info") {
    return Reply::bulk(arg(1) == "replication" ? "connected_slaves:0" : "cluster_enabled:0");
  }
  if (name == "type") {
    const Value* value = find(key);
    return Reply::status(value == nullptr ? "none" : name_of(value->kind));
  }
  if (name == "exists") {
    std::int64_t count = 0;
    for (std::size_t i = 1; i < words.size(); ++i) count += find(words[i]) != nullptr ? 1 : 0;
    return Reply::number(count);
  }
  if (name == "del") {
    std::int64_t count = 0;
    for (std::size_t i = 1; i < words.size(); ++i)
      count += static_cast<std::int64_t>(keys.erase(words[i]));
    return Reply::number(count);
  }
  if (name == "pttl") {
    const Value* value = find(key);
    if (value == nullptr) return Reply::number(-2);
    return Reply::number(value->end_ms == 0 ? -1 : value->end_ms - k_now_ms);
  }
  if (name == "pexpire") {
    const auto span = to_double(arg(2));
    const auto whole = to_integer(arg(2));
    if (!span || !whole) return k_no_integer;
    Value* value = find(key);
    if (value == nullptr) return Reply::number(0);
    if (*whole <= 0) {
      keys.erase(key);
    } else {
      value->end_ms = k_now_ms + *whole;
    }
    return Reply::number(1);
  }
  if (name == "persist") {
    Value* value = find(key);
    if (value == nullptr || value->end_ms == 0) return Reply::number(0);
    value->end_ms = 0;
    return Reply::number(1);
  }

  // Strings.
  if (name == "get") {
    return with(key, Kind::string, k_nil, [](Value& value) { return Reply::bulk(value.text); });
  }
  if (name == "strlen") {
    return with(key, Kind::string, Reply::number(0), [](Value& value) {
      return Reply::number(static_cast<std::int64_t>(value.text.size()));
    });
  }
  if (name == "set") {
    std::optional<std::int64_t> span;
    bool needs_none = false, needs_one = false, keeps = false;
    for (std::size_t i = 3; i < words.size(); ++i) {
      const std::string option = lower(words[i]);
      if (option == "px") {
        span = to_integer(arg(++i));
        if (!span) return k_no_integer;
        if (*span <= 0) return Reply::error("ERR invalid expire time in 'set' command");
      } else if (option == "nx") {
        needs_none = true;
      } else if (option == "xx") {
        needs_one = true;
      } else if (option == "keepttl") {
        keeps = true;
      } else {
        return k_syntax;
      }
    }
    const Value* there = find(key);
    if ((needs_none && there != nullptr) || (needs_one && there == nullptr)) return k_nil;
    Value value;
    value.text = arg(2);
    value.end_ms = span ? k_now_ms + *span : keeps && there != nullptr ? there->end_ms : 0;
    keys[key] = std::move(value);
    return k_ok;
  }
  if (name == "incr") {
    Value* value = find(key);
    if (value != nullptr && value->kind != Kind::string) return k_wrong_type;
    const auto number = value == nullptr ? std::optional<std::int64_t>(0) : to_integer(value->text);
    if (!number) return k_no_integer;
    if (*number == INT64_MAX) return Reply::error("ERR increment or decrement would overflow");
    make(key, Kind::string).text = std::to_string(*number + 1);
    return Reply::number(*number + 1);
  }

  // Hashes.
  if (name == "hget") {
    return with(key, Kind::hash, k_nil, [&](Value& value) {
      const auto found = value.hash.find(arg(2));
      return found == value.hash.end() ? k_nil : Reply::bulk(found->second);
    });
  }
  if (name == "hexists") {
    return with(key, Kind::hash, Reply::number(0),
                [&](Value& value) { return Reply::number(value.hash.count(arg(2)) != 0 ? 1 : 0); });
  }
  if (name == "hset") {
    if (const Value* value = find(key); value != nullptr && value->kind != Kind::hash)
      return k_wrong_type;
    std::int64_t added = 0;
    for (std::size_t i = 2; i + 1 < words.size(); i += 2) {
      Value& value = make(key, Kind::hash);
      added += value.hash.insert_or_assign(words[i], words[i + 1]).second ? 1 : 0;
    }
    return Reply::number(added);
  }
  if (name == "hincrby") {
    if (const Value* value = find(key); value != nullptr && value->kind != Kind::hash)
      return k_wrong_type;
    const auto step = to_integer(arg(3));
    if (!step) return k_no_integer;
    const Value* there = find(key);
    const auto field = there == nullptr ? std::map<std::string, std::string>::const_iterator()
                                        : there->hash.find(arg(2));
    const bool is_new = there == nullptr || field == there->hash.end();
    const auto number = is_new ? std::optional<std::int64_t>(0) : to_integer(field->second);
    if (!number) return Reply::error("ERR hash value is not an integer");
    make(key, Kind::hash).hash[arg(2)] = std::to_string(*number + *step);
    return Reply::number(*number + *step);
  }
  if (name == "hdel") {
    return with(key, Kind::hash, Reply::number(0), [&](Value& value) {
      std::int64_t count = 0;
      for (std::size_t i = 2; i < words.size(); ++i)
        count += static_cast<std::int64_t>(value.hash.erase(words[i]));
      return Reply::number(count);
    });
  }
  if (name == "hlen") {
    return with(key, Kind::hash, Reply::number(0), [](Value& value) {
      return Reply::number(static_cast<std::int64_t>(value.hash.size()));
    });
  }
  if (name == "hkeys" || name == "hgetall") {
    return with(key, Kind::hash, Reply::array(), [&](Value& value) {
      Reply reply = Reply::array();
      for (const auto& [field, text] : value.hash) {
        reply.items.push_back(Reply::bulk(field));
        if (name == "hgetall") reply.items.push_back(Reply::bulk(text));
      }
      return reply;
    });
  }
  if (name == "hmget") {
    if (words.size() < 3) return Reply::error("ERR wrong number of arguments for 'hmget' command");
    Reply none = Reply::array(std::vector<Reply>(words.size() - 2));
    return with(key, Kind::hash, none, [&](Value& value) {
      Reply reply = Reply::array();
      for (std::size_t i = 2; i < words.size(); ++i) {
        const auto found = value.hash.find(words[i]);
        reply.items.push_back(found == value.hash.end() ? k_nil : Reply::bulk(found->second));
      }
      return reply;
    });
  }

  // Lists.
  if (name == "llen") {
    return with(key, Kind::list, Reply::number(0), [](Value& value) {
      return Reply::number(static_cast<std::int64_t>(value.list.size()));
    });
  }
  if (name == "rpush") {
    if (const Value* value = find(key); value != nullptr && value->kind != Kind::list)
      return k_wrong_type;
    Value& value = make(key, Kind::list);
    value.list.insert(value.list.end(), words.begin() + 2, words.end());
    return Reply::number(static_cast<std::int64_t>(value.list.size()));
  }
  if (name == "lpop" || name == "rpop") {
    return with(key, Kind::list, k_nil, [&](Value& value) {
      const auto at = name == "lpop" ? value.list.begin() : value.list.end() - 1;
      Reply reply = Reply::bulk(*at);
      value.list.erase(at);
      return reply;
    });
  }
  if (name == "lindex" || name == "lrange" || name == "ltrim") {
    const auto first = to_integer(arg(2));
    const auto last = name == "lindex" ? first : to_integer(arg(3));
    if (!first || !last) return k_no_integer;
    const Reply none = name == "lindex" ? k_nil : name == "lrange" ? Reply::array() : k_ok;
    return with(key, Kind::list, none, [&](Value& value) {
      const bool is_outside =
          name == "lindex" && -*first > static_cast<std::int64_t>(value.list.size());
      const auto [from, to] = is_outside ? std::pair<std::size_t, std::size_t>{0, 0}
                                         : range(*first, *last, value.list.size());
      const Words part(value.list.begin() + static_cast<std::ptrdiff_t>(from),
                       value.list.begin() + static_cast<std::ptrdiff_t>(to));
      if (name == "ltrim") {
        value.list = part;
        return k_ok;
      }
      if (name == "lindex") return part.empty() ? k_nil : Reply::bulk(part[0]);
      Reply reply = Reply::array();
      for (const std::string& item : part) reply.items.push_back(Reply::bulk(item));
      return reply;
    });
  }
  if (name == "lpos") {
    std::int64_t rank = 1, most = 0;
    for (std::size_t i = 3; i + 1 < words.size(); i += 2) {
      const auto number = to_integer(words[i + 1]);
      if (!number) return k_no_integer;
      (lower(words[i]) == "rank" ? rank : most) = *number;
    }
    return with(key, Kind::list, k_nil, [&](Value& value) {
      const auto size = static_cast<std::int64_t>(value.list.size());
      for (std::int64_t i = 0; i < size && (most == 0 || i < most); ++i) {
        const std::int64_t at = rank < 0 ? size - 1 - i : i;
        if (value.list[static_cast<std::size_t>(at)] == arg(2)) return Reply::number(at);
      }
      return k_nil;
    });
  }
  if (name == "linsert") {
    return with(key, Kind::list, Reply::number(0), [&](Value& value) {
      const auto at = std::find(value.list.begin(), value.list.end(), arg(3));
      if (at == value.list.end()) return Reply::number(-1);
      value.list.insert(lower(arg(2)) == "before" ? at : at + 1, arg(4));
      return Reply::number(static_cast<std::int64_t>(value.list.size()));
    });
  }
  if (name == "lrem") {
    return with(key, Kind::list, Reply::number(0), [&](Value& value) {
      const auto end = std::remove(value.list.begin(), value.list.end(), arg(3));
      const auto count = value.list.end() - end;
      value.list.erase(end, value.list.end());
      return Reply::number(count);
    });
  }

  // Sorted sets.
  if (name == "zcard") {
    return with(key, Kind::zset, Reply::number(0), [](Value& value) {
      return Reply::number(static_cast<std::int64_t>(value.zset.size()));
    });
  }
  if (name == "zadd") {
    std::size_t i = 2;
    bool needs_one = false, only_greater = false;
    for (; i < words.size(); ++i) {
      const std::string option = lower(words[i]);
      if (option == "xx") {
        needs_one = true;
      } else if (option == "gt") {
        only_greater = true;
      } else {
        break;
      }
    }
    const auto score = to_double(arg(i));
    if (!score) return Reply::error("ERR value is not a valid float");
    if (const Value* value = find(key); value != nullptr && value->kind != Kind::zset)
      return k_wrong_type;
    if (needs_one && find(key) == nullptr) return Reply::number(0);
    Value& value = make(key, Kind::zset);
    const auto found = find_member(value.zset, arg(i + 1));
    const bool is_new = found == value.zset.end();
    if ((is_new && !needs_one) || (!is_new && !(only_greater && *score <= found->first))) {
      set_score(value.zset, arg(i + 1), *score);
    }
    drop_if_empty(key);
    return Reply::number(is_new && !needs_one ? 1 : 0);
  }
  if (name == "zincrby") {
    const auto step = to_double(arg(2));
    if (!step) return Reply::error("ERR value is not a valid float");
    if (const Value* value = find(key); value != nullptr && value->kind != Kind::zset)
      return k_wrong_type;
    Value& value = make(key, Kind::zset);
    const auto found = find_member(value.zset, arg(3));
    const double score = (found == value.zset.end() ? 0 : found->first) + *step;
    set_score(value.zset, arg(3), score);
    return Reply::bulk(format_score(score));
  }
  if (name == "zrem") {
    return with(key, Kind::zset, Reply::number(0), [&](Value& value) {
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
  if (name == "zremrangebyrank") {
    const auto first = to_integer(arg(2)), last = to_integer(arg(3));
    if (!first || !last) return k_no_integer;
    return with(key, Kind::zset, Reply::number(0), [&](Value& value) {
      const auto [from, to] = range(*first, *last, value.zset.size());
      value.zset.erase(value.zset.begin() + static_cast<std::ptrdiff_t>(from),
                       value.zset.begin() + static_cast<std::ptrdiff_t>(to));
      return Reply::number(static_cast<std::int64_t>(to - from));
    });
  }
  if (name == "zscore" || name == "zmscore") {
    const auto score_of = [&](Value& value, const std::string& member) {
      const auto found = find_member(value.zset, member);
      return found == value.zset.end() ? k_nil : Reply::bulk(format_score(found->first));
    };
    if (name == "zscore") {
      return with(key, Kind::zset, k_nil, [&](Value& value) { return score_of(value, arg(2)); });
    }
    if (words.size() < 3)
      return Reply::error("ERR wrong number of arguments for 'zmscore' command");
    return with(key, Kind::zset, Reply::array(std::vector<Reply>(words.size() - 2)),
                [&](Value& value) {
                  Reply reply = Reply::array();
                  for (std::size_t i = 2; i < words.size(); ++i)
                    reply.items.push_back(score_of(value, words[i]));
                  return reply;
                });
  }
  if (name == "zrange" && lower(arg(4)) == "byscore") {
    // Either end may be open, as in "(5"; infinities are numbers.
    const auto bound = [](std::string text, bool& is_open) {
      is_open = !text.empty() && text[0] == '(';
      if (is_open) text.erase(0, 1);
      return to_double(text);
    };
    bool opens = false, closes = false;
    const auto least = bound(arg(2), opens), most = bound(arg(3), closes);
    if (!least || !most) return Reply::error("ERR min or max is not a float");
    const bool is_limited = lower(arg(5)) == "limit";
    const auto count = is_limited ? to_integer(arg(7)) : std::optional<std::int64_t>(-1);
    if (!count || (is_limited && arg(6) != "0")) return k_syntax;
    return with(key, Kind::zset, Reply::array(), [&](Value& value) {
      Reply reply = Reply::array();
      for (const auto& [score, member] : value.zset) {
        if (score < *least || (opens && score == *least)) continue;
        if (score > *most || (closes && score == *most)) continue;
        if (*count >= 0 && static_cast<std::int64_t>(reply.items.size()) == *count) break;
        reply.items.push_back(Reply::bulk(member));
      }
      return reply;
    });
  }
  if (name == "zrange" || name == "zrevrange") {
    const auto first = to_integer(arg(2)), last = to_integer(arg(3));
    if (!first || !last) return k_no_integer;
    return with(key, Kind::zset, Reply::array(), [&](Value& value) {
      auto sorted = value.zset;
      if (name == "zrevrange") std::reverse(sorted.begin(), sorted.end());
      const auto [from, to] = range(*first, *last, sorted.size());
      Reply reply = Reply::array();
      for (std::size_t i = from; i < to; ++i) {
        reply.items.push_back(Reply::bulk(sorted[i].second));
        if (lower(arg(4)) == "withscores")
          reply.items.push_back(Reply::bulk(format_score(sorted[i].first)));
      }
      return reply;
    });
  }

  // Channels. Nobody listens by shards.
  if (name == "publish" || name == "spublish") {
    published.push_back(key);
    return Reply::number(std::count(channels.begin(), channels.end(), key));
  }
  if (name == "pubsub") {
    Reply reply = Reply::array();
    for (std::size_t i = 2; i < words.size(); ++i) {
      const auto count =
          arg(1) == "numsub" ? std::count(channels.begin(), channels.end(), words[i]) : 0;
      reply.items.push_back(Reply::bulk(words[i]));
      reply.items.push_back(Reply::number(count));
    }
    return reply;
  }
  throw std::logic_error("the model does not know " + name);
}

}  // namespace rlock::explore
