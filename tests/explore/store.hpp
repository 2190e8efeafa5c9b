// A model of the Redis commands that the scripts use, on a store that is a value: it can be copied,
// compared, and moved in time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace rlock::explore {

// A reply of Redis.
struct Reply {
  enum class Type { nil, integer, bulk, status, error, array };
  Type type = Type::nil;
  std::int64_t integer = 0;
  std::string text;
  std::vector<Reply> items;

  bool operator==(const Reply&) const = default;
  static Reply number(std::int64_t value) { return {Type::integer, value, {}, {}}; }
  static Reply bulk(std::string value) { return {Type::bulk, 0, std::move(value), {}}; }
  static Reply status(std::string value) { return {Type::status, 0, std::move(value), {}}; }
  static Reply error(std::string value) { return {Type::error, 0, std::move(value), {}}; }
  static Reply array(std::vector<Reply> value = {}) {
    return {Type::array, 0, {}, std::move(value)};
  }
};

using Words = std::vector<std::string>;

struct Value {
  enum class Kind { string, hash, list, zset };
  Kind kind = Kind::string;
  std::int64_t end_ms = 0;  // 0: no expiry
  std::string text;
  std::map<std::string, std::string> hash;
  Words list;
  std::vector<std::pair<double, std::string>> zset;  // in Redis' order
};

// Where the clocks of all stores stand first.
constexpr std::int64_t k_now_ms = 1'800'000'000'000;

class Store {
 public:
  // Carries out a command, as the server does within a script.
  Reply run(const Words& command);

  // Lets time pass: the clock stays, and the ends of all keys move back.
  void pass(std::int64_t ms);
  // Lets time pass: the clock moves on.
  void advance(std::int64_t ms);

  // Returns in how many milliseconds something changes for the next key that expires, or nothing:
  // its time is over, or it is gone, which is a millisecond later.
  [[nodiscard]] std::optional<std::int64_t> next_expiry() const;

  static constexpr std::int64_t k_up_s = 1'000'000;  // how long the server has been up first

  std::map<std::string, Value> keys;
  Words channels, shard_channels;       // that somebody listens to
  Words published, published_in_shard;  // since they were cleared: channels
  Words messages;                       // and what was published there
  std::int64_t now_ms = k_now_ms;
  std::string run_id = std::string(40, '0');
};

[[nodiscard]] std::string format_score(double score);

}  // namespace rlock::explore
