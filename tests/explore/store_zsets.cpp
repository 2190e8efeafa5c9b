// Commands of the model: sorted sets.
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "explore/store_commands.hpp"

namespace rlock::explore::commands {
namespace {

const Reply k_no_float = Reply::error("ERR value is not a valid float");

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

}  // namespace

const Commands& zset_commands() {
  static const Commands all{
      {"zcard", {2, zcard}},    {"zadd", {-4, zadd}},           {"zincrby", {4, zincrby}},
      {"zrem", {-3, zrem}},     {"zscore", {3, zscore}},        {"zmscore", {-3, zmscore}},
      {"zrange", {-4, zrange}}, {"zrevrange", {-4, zrevrange}},
  };
  return all;
}

}  // namespace rlock::explore::commands
