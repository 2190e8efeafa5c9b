// Random commands: each that the scripts use, on few keys of every type.
#include <algorithm>

#include "explore/differential/inputs.hpp"

namespace rlock::explore {
namespace {

using Maker = std::function<Words(Random&)>;

// Mostly a key that has this type, if it is there at all.
std::string key(Random& r, char type) {
  static const std::string types = "shlz";
  if (r.chance(2)) return r.chance(50) ? "" : "\xff{x}";
  return (r.chance(85) ? type : r.pick(types)) + std::to_string(r.below(2));
}

std::string any_key(Random& r) { return key(r, r.pick(std::string("shlz"))); }

std::string field(Random& r) {
  static const Words fields{"f", "g", "h", "i", "mode", "", "\xff"};
  return r.chance(60) ? fields[r.below(2)] : r.chance(90) ? r.pick(fields) : odd_text(r);
}

std::string text(Random& r) {
  static const Words nearly{"007", "+1", " 1", "1 ", "-0", "1e3", "", "9223372036854775807"};
  if (r.chance(30)) return r.pick(nearly);
  const std::size_t sort = r.below(10);
  return sort < 3 ? std::to_string(r.between(-2, 12)) : sort < 5 ? field(r) : odd_text(r);
}

std::string place(Random& r) {
  return r.chance(90) ? std::to_string(r.between(-5, 5)) : odd_number(r);
}

// A number of which there is the opposite, too: servers differ about the lowest.
std::string count(Random& r) {
  const std::string number = place(r);
  return number == "-9223372036854775808" ? "-1" : number;
}

// A server keeps -0 in a set of long members, and not in one of short ones.
std::string score(Random& r) {
  const std::string number = r.chance(80) ? std::to_string(r.between(-3, 6)) : odd_number(r);
  return number == "-0" ? "0" : number;
}

std::string bound(Random& r) {
  static const Words ends{"-inf", "+inf", "inf", "(", "[1", ""};
  if (r.chance(10)) return r.pick(ends);
  return (r.chance(30) ? "(" : "") + score(r);
}

std::string span(Random& r) {
  return r.chance(85) ? std::to_string(r.between(1, 40)) : odd_number(r);
}

std::string channel(Random& r) { return r.pick(Words{"c0", "c1", "c2"}); }

Words some(Random& r, Words command, const std::function<std::string(Random&)>& make,
           std::size_t most = 4) {
  for (std::size_t i = r.below(most) + 1; i > 0; --i) command.push_back(make(r));
  return command;
}

Words with(Words command, const Words& more) {
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

Words set(Random& r) {
  Words words{"set", r.chance(90) ? key(r, 's') : any_key(r), text(r)};
  while (r.chance(45)) {
    const Words options[] = {{"px", span(r)}, {"nx"},  {"xx"}, {"keepttl"},
                             {"PX", span(r)}, {"bad"}, {"px"}};
    words = with(words, options[r.below(r.chance(80) ? 4 : 7)]);
  }
  return words;
}

Words hincrby(Random& r) { return {"hincrby", key(r, 'h'), field(r), place(r)}; }

Words zadd(Random& r) {
  Words words{"zadd", key(r, 'z')};
  while (r.chance(25)) words.push_back(r.pick(Words{"xx", "gt", "XX", "nx", "lt", "ch"}));
  do {
    words = with(words, {score(r), field(r)});
  } while (r.chance(30));
  return words;
}

Words zrange(Random& r) {
  Words words{"zrange", key(r, 'z')};
  if (r.chance(50)) {
    words = with(words, {place(r), place(r)});
    if (r.chance(5)) words = with(words, {"limit", "0", "1"});
  } else {
    words = with(words, {bound(r), bound(r), "byscore"});
    if (r.chance(40)) words = with(words, {"limit", place(r), place(r)});
  }
  if (r.chance(40)) words.push_back("withscores");
  return words;
}

Words lpos(Random& r) {
  Words words{"lpos", key(r, 'l'), field(r)};
  while (r.chance(40)) words = with(words, {r.pick(Words{"rank", "maxlen"}), count(r)});
  return words;
}

Words scan(Random& r) {
  static const Words patterns{"*", "s*", "?0", "[hl]*", "[^s]?", "z[0-9]", "\\s0", "nothing"};
  Words words{"scan", r.chance(90) ? "0" : r.pick(Words{"x", "", " 0", "1x", "000", "-0"})};
  if (r.chance(70)) words = with(words, {"match", r.pick(patterns)});
  // Without a count, the answer can come in parts.
  words =
      with(words, {"count", r.chance(90) ? "500" : r.pick(Words{"500", "1000", "0", "-3", "x"})});
  if (r.chance(40))
    words = with(words, {"type", r.pick(Words{"string", "hash", "list", "zset", "HASH", "x"})});
  return words;
}

const std::vector<std::pair<const char*, Maker>> k_makers{
    {"time", [](Random&) { return Words{"time"}; }},
    {"dbsize", [](Random&) { return Words{"dbsize"}; }},
    {"scan", scan},
    {"type",
     [](Random& r) {
       return Words{"type", any_key(r)};
     }},
    {"exists", [](Random& r) { return some(r, {"exists"}, any_key); }},
    {"del", [](Random& r) { return some(r, {"del"}, any_key, 2); }},
    {"pttl",
     [](Random& r) {
       return Words{"pttl", any_key(r)};
     }},
    {"pexpire",
     [](Random& r) {
       return Words{"pexpire", any_key(r), span(r)};
     }},
    {"persist",
     [](Random& r) {
       return Words{"persist", any_key(r)};
     }},
    {"get",
     [](Random& r) {
       return Words{"get", key(r, 's')};
     }},
    {"strlen",
     [](Random& r) {
       return Words{"strlen", key(r, 's')};
     }},
    {"set", set},
    {"incr",
     [](Random& r) {
       return Words{"incr", key(r, 's')};
     }},
    {"hget",
     [](Random& r) {
       return Words{"hget", key(r, 'h'), field(r)};
     }},
    {"hexists",
     [](Random& r) {
       return Words{"hexists", key(r, 'h'), field(r)};
     }},
    {"hstrlen",
     [](Random& r) {
       return Words{"hstrlen", key(r, 'h'), field(r)};
     }},
    {"hset",
     [](Random& r) {
       Words words{"hset", key(r, 'h')};
       do {
         words = with(words, {field(r), text(r)});
       } while (r.chance(40));
       return words;
     }},
    // Numbers have more to go wrong than others.
    {"hincrby", hincrby},
    {"hincrby", hincrby},
    {"hincrby", hincrby},
    {"hdel",
     [](Random& r) {
       return some(r, {"hdel", key(r, 'h')}, field, 3);
     }},
    {"hlen",
     [](Random& r) {
       return Words{"hlen", key(r, 'h')};
     }},
    {"hkeys",
     [](Random& r) {
       return Words{"hkeys", key(r, 'h')};
     }},
    {"hgetall",
     [](Random& r) {
       return Words{"hgetall", key(r, 'h')};
     }},
    {"hmget",
     [](Random& r) {
       return some(r, {"hmget", key(r, 'h')}, field);
     }},
    // Of more fields, it would return others.
    {"hrandfield",
     [](Random& r) {
       return Words{"hrandfield", key(r, 'h'), r.chance(95) ? "100" : "x"};
     }},
    {"llen",
     [](Random& r) {
       return Words{"llen", key(r, 'l')};
     }},
    {"rpush",
     [](Random& r) {
       return some(r, {"rpush", key(r, 'l')}, field);
     }},
    {"lpop",
     [](Random& r) {
       return Words{"lpop", key(r, 'l')};
     }},
    {"rpop",
     [](Random& r) {
       return Words{"rpop", key(r, 'l')};
     }},
    {"lindex",
     [](Random& r) {
       return Words{"lindex", key(r, 'l'), place(r)};
     }},
    {"lrange",
     [](Random& r) {
       return Words{"lrange", key(r, 'l'), place(r), place(r)};
     }},
    {"ltrim",
     [](Random& r) {
       return Words{"ltrim", key(r, 'l'), place(r), place(r)};
     }},
    {"lpos", lpos},
    {"linsert",
     [](Random& r) {
       return Words{"linsert", key(r, 'l'), r.pick(Words{"before", "after", "BEFORE", "at"}),
                    field(r), field(r)};
     }},
    {"lrem",
     [](Random& r) {
       return Words{"lrem", key(r, 'l'), r.chance(50) ? "0" : count(r), field(r)};
     }},
    {"zcard",
     [](Random& r) {
       return Words{"zcard", key(r, 'z')};
     }},
    {"zadd", zadd},
    {"zincrby",
     [](Random& r) {
       return Words{"zincrby", key(r, 'z'), score(r), field(r)};
     }},
    {"zrem",
     [](Random& r) {
       return some(r, {"zrem", key(r, 'z')}, field, 3);
     }},
    {"zscore",
     [](Random& r) {
       return Words{"zscore", key(r, 'z'), field(r)};
     }},
    {"zmscore",
     [](Random& r) {
       return some(r, {"zmscore", key(r, 'z')}, field);
     }},
    {"zrange", zrange},
    {"zrevrange",
     [](Random& r) {
       Words words{"zrevrange", key(r, 'z'), place(r), place(r)};
       if (r.chance(40)) words.push_back(r.pick(Words{"withscores", "WITHSCORES", "limit"}));
       return words;
     }},
    {"publish",
     [](Random& r) {
       return Words{"publish", channel(r), text(r)};
     }},
    {"spublish",
     [](Random& r) {
       return Words{"spublish", channel(r), text(r)};
     }},
    {"pubsub",
     [](Random& r) {
       Words words{"pubsub", r.pick(Words{"numsub", "shardnumsub", "NUMSUB"})};
       return r.chance(10) ? words : some(r, words, channel);
     }},
};

}  // namespace

std::string odd_number(Random& r) {
  static const Words odd{"0",
                         "-0",
                         "+1",
                         "007",
                         "1e3",
                         "1.5",
                         " 1",
                         "1 ",
                         "",
                         "-",
                         "+",
                         "x",
                         "0x10",
                         "1x",
                         "inf",
                         "-inf",
                         "+inf",
                         "nan",
                         "1e400",
                         "-1e400",
                         "1e-400",
                         "1e17",
                         "123456789012345678",
                         "0.1",
                         "-2.50",
                         ".5",
                         "5.",
                         "1e",
                         "infinity",
                         "9223372036854775807",
                         "-9223372036854775808",
                         "9223372036854775808",
                         "-9223372036854775809",
                         "9223372036854775800",
                         "99999999999999999999999",
                         "1800000000000",
                         "1e15",
                         "4611686018427387904",
                         "100",
                         "-100"};
  return r.pick(odd);
}

std::string odd_text(Random& r) {
  static const Words odd{"",          "entered", "OK", "a\nb", "\xc3\xa4", "\xff\xfe",
                         "'quoted\"", "x y",     "{}", "%s",   "true"};
  return r.chance(60) ? odd_number(r) : r.chance(95) ? r.pick(odd) : std::string(100, 'x');
}

Words known_commands() {
  Words names;
  for (const auto& [name, make] : k_makers) names.emplace_back(name);
  return names;
}

Words random_command(Random& r) { return r.pick(k_makers).second(r); }

History random_commands(Random& r) {
  static const Words fillers{"set", "hset", "rpush", "zadd"};
  History history;
  for (const char* name : {"c0", "c1"}) {
    if (r.chance(50)) history.listened.emplace_back(name);
    if (r.chance(50)) history.listened_in_shard.emplace_back(name);
  }
  for (std::size_t i = 30 + r.below(60); i > 0; --i) {
    if (r.chance(3)) {
      history.steps.push_back({Step::What::pass, "pass", {}, {}, {}, r.between(1, 45)});
      continue;
    }
    const auto& [name, make] = r.pick(k_makers);
    Words words = make(r);
    // Of other counts, some would be other forms of the command.
    static const Words fixed{"hrandfield", "lpop", "rpop", "pubsub", "scan"};
    if (std::count(fixed.begin(), fixed.end(), name) == 0) {
      if (r.chance(1)) words.resize(1 + r.below(words.size()));
      if (r.chance(1)) words.push_back(odd_text(r));
    }
    history.steps.push_back({Step::What::command, name, {}, std::move(words)});
    if (!r.chance(25)) continue;
    const std::string& filler = r.pick(fillers);
    for (const auto& [other, fill] : k_makers) {
      if (other == filler) history.steps.push_back({Step::What::command, other, {}, fill(r)});
    }
  }
  return history;
}

}  // namespace rlock::explore
