#include "explore/differential/comparison.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace rlock::explore {
namespace {

using Type = Reply::Type;
using nlohmann::json;

// Sorts what comes in groups of so many.
void sort_groups(Reply& reply, std::size_t size) {
  if (reply.type != Type::array || reply.items.size() % size != 0) return;
  std::vector<std::vector<Reply>> groups;
  for (std::size_t i = 0; i < reply.items.size(); i += size) {
    const auto at = reply.items.begin() + static_cast<std::ptrdiff_t>(i);
    groups.emplace_back(at, at + static_cast<std::ptrdiff_t>(size));
  }
  std::sort(groups.begin(), groups.end(),
            [](const auto& one, const auto& other) { return one[0].text < other[0].text; });
  reply.items.clear();
  for (auto& group : groups) {
    for (Reply& item : group) reply.items.push_back(std::move(item));
  }
}

// The order of keys, and of a hash's fields, is nobody's promise: the model has one of its own.
void arrange_dump(Reply& dump) {
  std::sort(dump.items.begin(), dump.items.end(), [](const Reply& one, const Reply& other) {
    return one.items[0].text < other.items[0].text;
  });
  for (Reply& key : dump.items) {
    if (key.items[1].text == "hash") sort_groups(key.items[3], 2);
  }
}

// Any bytes are UTF-8 then, and what differs still does.
json parse(const std::string& text) {
  std::string valid;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) valid += static_cast<char>(0xc0 | byte >> 6);
    valid += byte >= 0x80 ? static_cast<char>(0x80 | (byte & 0x3f)) : c;
  }
  return json::parse(valid, nullptr, false);
}

// JSON is the same in any order of its members, which Lua has no order for; and an answer that is
// packed in a latch, in any order of the owners in it, which are a hash's fields.
bool is_same_text(const std::string& one, const std::string& other) {
  if (one == other) return true;
  if (one.size() != other.size() || one.empty()) return false;
  const bool is_packed_list = (static_cast<unsigned char>(one[0]) & 0xf0) == 0x90;
  if (is_packed_list) return std::is_permutation(one.begin(), one.end(), other.begin());
  if (one[0] != '{' && one[0] != '[') return false;
  const json first = parse(one);
  return !first.is_discarded() && first == parse(other);
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

std::string shown(const Reply& reply) {
  switch (reply.type) {
    case Type::nil:
      return "nil";
    case Type::integer:
      return std::to_string(reply.integer);
    case Type::bulk:
      return quoted(reply.text);
    case Type::status:
      return "+" + reply.text;
    case Type::error:
      return "-" + reply.text;
    case Type::array:
      break;
  }
  std::string text = "{";
  for (const Reply& item : reply.items) text += (text.size() > 1 ? ", " : "") + shown(item);
  return text + "}";
}

}  // namespace

Reply dump_of(const Store& store) {
  Reply dump = Reply::array();
  for (const auto& [key, value] : store.keys) {
    static const char* const names[] = {"string", "hash", "list", "zset"};
    Reply content = Reply::array();
    if (value.kind == Value::Kind::string) content = Reply::bulk(value.text);
    for (const auto& [field, text] : value.hash) {
      content.items.push_back(Reply::bulk(field));
      content.items.push_back(Reply::bulk(text));
    }
    for (const std::string& member : value.list) content.items.push_back(Reply::bulk(member));
    for (const auto& [score, member] : value.zset) {
      content.items.push_back(Reply::bulk(member));
      content.items.push_back(Reply::bulk(format_score(score)));
    }
    // Lua, which tells it of the server's store, has no other numbers.
    const auto left = static_cast<std::int64_t>(
        value.end_ms == 0 ? -1 : static_cast<double>(value.end_ms - store.now_ms));
    dump.items.push_back(
        Reply::array({Reply::bulk(key), Reply::bulk(names[static_cast<int>(value.kind)]),
                      Reply::number(left), std::move(content)}));
  }
  return dump;
}

void arrange(const Step& step, Reply& reply) {
  const auto sort_item = [&](std::size_t i, std::size_t size) {
    if (reply.type == Type::array && reply.items.size() > i) sort_groups(reply.items[i], size);
  };
  // Parts of INFO. The server has more to say than the store.
  const auto blank_item = [&](std::size_t i) {
    if (reply.type == Type::array && reply.items.size() > i) reply.items[i] = Reply::bulk("");
  };
  // Two pieces of Lua run one command and return its reply as it is.
  const bool is_reply = step.name == "command" || step.name == "raised";
  const std::string name = is_reply ? step.words.at(0) : step.name;
  if (name == "hkeys" || name == "hrandfield") sort_groups(reply, 1);
  if (name == "hgetall") sort_groups(reply, 2);
  if (name == "scan" || name == "find_leftovers") sort_item(1, 1);
  // Each gives the answer that it finds in its latch, also one of another of them.
  if (name.starts_with("force_release") || name.starts_with("evict")) sort_item(7, 3);
  if (name == "find_locks") {
    sort_item(1, 1);
    sort_item(2, 1);
    sort_item(6, 1);
    blank_item(7);
    blank_item(8);
  }
  if (name == "snapshot") {
    sort_item(3, 2);
    sort_item(10, 2);
    sort_item(13, 1);
    blank_item(20);
    blank_item(21);
  }
}

bool is_same(const Reply& one, const Reply& other) {
  if (one.type != other.type || one.integer != other.integer) return false;
  if (one.type == Type::error) return first_word(one.text) == first_word(other.text);
  return is_same_text(one.text, other.text) &&
         std::equal(one.items.begin(), one.items.end(), other.items.begin(), other.items.end(),
                    is_same);
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  bool is_plain = true;
  for (const char c : text) is_plain = is_plain && c >= ' ' && c <= '~';
  if (!is_plain) result = "$'";
  for (const char c : text) {
    char hex[8];
    std::snprintf(hex, sizeof hex, c == '\n' ? "\\n" : "\\x%02x", static_cast<unsigned char>(c));
    if (is_plain) {
      result += c == '\'' ? "'\\''" : std::string(1, c);
    } else {
      result +=
          c >= ' ' && c <= '~' && c != '\'' && c != '\\' ? std::string(1, c) : std::string(hex);
    }
  }
  return result + "'";
}

std::string sort_of(const Reply& reply) {
  const Reply& code = reply.type == Type::array && !reply.items.empty() ? reply.items[0] : reply;
  if (code.type == Type::error) return first_word(code.text);
  const bool is_code = code.type == Type::integer && code.integer >= 0 && code.integer <= 6;
  return is_code ? std::to_string(code.integer) : "else";
}

std::string versus(const std::string& what, const Reply& model, const Reply& server) {
  return what + "\n#   model:  " + shown(model) + "\n#   server: " + shown(server);
}

std::optional<std::string> compare_stores(Reply model, Reply server) {
  arrange_dump(model);
  arrange_dump(server);
  if (is_same(model, server)) return std::nullopt;
  std::string what = "the stores differ";
  const auto name = [](const Reply& key) { return key.items[0].text; };
  std::map<std::string, std::pair<Reply, Reply>> keys;
  for (const Reply& key : model.items) keys[name(key)].first = key;
  for (const Reply& key : server.items) keys[name(key)].second = key;
  for (const auto& [key, both] : keys) {
    if (!is_same(both.first, both.second))
      what = versus(what + "\n# " + quoted(key), both.first, both.second);
  }
  return what;
}

}  // namespace rlock::explore
