// Commands of the model: lists.
#include <algorithm>
#include <cstdlib>

#include "explore/store_commands.hpp"

namespace rlock::explore::commands {
namespace {

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

}  // namespace

const Commands& list_commands() {
  static const Commands all{
      {"llen", {2, llen}},   {"rpush", {-3, rpush}},  {"lpop", {-2, lpop}},
      {"rpop", {-2, rpop}},  {"lindex", {3, lindex}}, {"lrange", {4, lrange}},
      {"ltrim", {4, ltrim}}, {"lpos", {-3, lpos}},    {"linsert", {5, linsert}},
      {"lrem", {4, lrem}},
  };
  return all;
}

}  // namespace rlock::explore::commands
