// Commands of the model: hashes.
#include "explore/store_commands.hpp"

namespace rlock::explore::commands {
namespace {

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

}  // namespace

const Commands& hash_commands() {
  static const Commands all{
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
  };
  return all;
}

}  // namespace rlock::explore::commands
