#include "explore/differential/bench.hpp"

#include <algorithm>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "explore/differential/comparison.hpp"

namespace rlock::explore {
namespace {

using Type = Reply::Type;

// Returns {key, type, pttl, content} of each key.
const char* const k_dump = R"LUA(
local all, read = {}, {string = {'get'}, hash = {'hgetall'}, list = {'lrange', 0, -1},
                       zset = {'zrange', 0, -1, 'withscores'}}
for _, key in ipairs(redis.call('keys', '*')) do
  local kind = redis.call('type', key).ok
  local how = read[kind]
  all[#all + 1] = {key, kind, redis.call('pttl', key), redis.call(how[1], key, unpack(how, 2))}
end
return all)LUA";

bool lets_time_pass(const Step& step) {
  return step.what == Step::What::pass || step.what == Step::What::advance;
}

}  // namespace

Bench::Bench(Server& server, LuaHost& host)
    : server_(server), host_(host), main_(server.connect()), listener_(server.connect()) {
  for (const auto& [name, text] : host.texts())
    sha1s_[name] = main_.ask({"script", "load", text}).text;
  const std::string about = main_.ask({"info", "server"}).text;
  std::smatch match;
  if (std::regex_search(about, match, std::regex("run_id:([0-9a-f]+)"))) run_id_ = match[1];
}

void Bench::listen(const History& history) {
  const auto send = [&](const char* command, const Words& channels) {
    Words words{command};
    words.insert(words.end(), channels.begin(), channels.end());
    listener_.send(words);
  };
  send("unsubscribe", {});
  send("sunsubscribe", {});
  if (!history.listened.empty()) send("subscribe", history.listened);
  if (!history.listened_in_shard.empty()) send("ssubscribe", history.listened_in_shard);
  (void)heard();
}

// Returns the channels of all messages that have arrived, sorted.
Words Bench::heard() {
  Words channels;
  listener_.send({"ping"});
  while (true) {
    const Reply message = listener_.read();
    const std::string what = message.type == Type::array ? message.items[0].text : message.text;
    if (what == "pong" || what == "PONG") break;
    if (what == "message") channels.push_back(message.items[1].text);
    if (what == "smessage") channels.push_back("shard " + message.items[1].text);
  }
  std::sort(channels.begin(), channels.end());
  return channels;
}

Words Bench::request_of(const Step& step) const {
  if (step.what == Step::What::command) return step.words;
  const bool is_script = step.what == Step::What::script;
  Words words{is_script ? "evalsha" : "eval", is_script ? sha1s_.at(step.name) : step.code,
              std::to_string(step.keys.size())};
  words.insert(words.end(), step.keys.begin(), step.keys.end());
  words.insert(words.end(), step.words.begin(), step.words.end());
  return words;
}

Reply Bench::on_model(const Step& step) {
  try {
    if (step.what == Step::What::command) return store_.run(step.words);
    if (step.what == Step::What::script) return host_.run(step.name, store_, step.keys, step.words);
    return host_.eval(step.code, store_, step.keys, step.words);
  } catch (const std::logic_error& error) {
    return Reply::error(std::string("MODEL ") + error.what());
  }
}

// Reads and judges the answers to the steps from `from` up to `to`, which were sent, and to a dump.
std::optional<Difference> Bench::compare(const History& history, std::size_t from, std::size_t to) {
  std::optional<Difference> difference;
  for (std::size_t i = from; i < to; ++i) {
    const Step& step = history.steps[i];
    if (lets_time_pass(step)) continue;
    Reply reply = main_.read();
    arrange(step, reply);
    Reply& model = answers_[i];
    arrange(step, model);
    if (counts_now_) {
      ++counts_.replies;
      if (step.what == Step::What::command) ++counts_.commands[step.name];
      if (step.what == Step::What::code) ++counts_.codes[step.name];
      if (step.what == Step::What::script) {
        ++counts_.scripts[step.name][sort_of(reply)];
      }
    }
    if (!difference && !is_same(model, reply))
      difference = Difference{i, versus("the replies differ", model, reply)};
  }
  Reply server = main_.read();
  if (server.type != Type::array) throw std::runtime_error("no dump: " + server.text);
  if (counts_now_) ++counts_.stores;
  if (!difference) {
    if (auto what = compare_stores(dump_of(store_), std::move(server)))
      difference = Difference{to - 1, *what};
  }
  return difference;
}

std::optional<Difference> Bench::run(const History& history) {
  listen(history);
  server_.set_clock(k_now_ms);
  (void)main_.ask({"flushall"});
  store_ = Store();
  store_.run_id = run_id_;
  store_.channels = history.listened;
  store_.shard_channels = history.listened_in_shard;
  answers_.assign(history.steps.size(), Reply{});

  // The clock must not move before what was sent is answered. Otherwise many are under way at once.
  std::int64_t passed_ms = 0;
  std::size_t judged = 0;
  std::optional<Difference> difference;
  const auto judge = [&](std::size_t to) {
    if (judged == to || difference) return;
    main_.send({"eval", k_dump, "0"});
    difference = compare(history, judged, to);
    judged = to;
  };
  for (std::size_t i = 0; i < history.steps.size() && !difference; ++i) {
    const Step& step = history.steps[i];
    if (lets_time_pass(step)) {
      judge(i);
      passed_ms += step.ms;
      server_.set_clock(k_now_ms + passed_ms);
      // A server counts keys (DBSIZE) whose time is over until somebody looks at them.
      Words look{"exists"};
      for (const auto& [key, value] : store_.keys) look.push_back(key);
      if (look.size() > 1) (void)main_.ask(look);
      step.what == Step::What::pass ? store_.pass(step.ms) : store_.advance(step.ms);
      continue;
    }
    main_.send(request_of(step));
    answers_[i] = on_model(step);
    if (step.name == "time" && answers_[i].items.size() == 2) {
      // The model's clock may have stayed.
      const std::int64_t now = k_now_ms + passed_ms;
      answers_[i].items = {Reply::bulk(std::to_string(now / 1000)),
                           Reply::bulk(std::to_string(now % 1000 * 1000))};
    }
    if (i % 8 == 7) judge(i + 1);
  }
  judge(history.steps.size());
  if (difference) return difference;

  // What was published has arrived before the answer to what was sent after it.
  Words expected;
  const auto expect = [&](const Words& published, const Words& listened, const char* mark) {
    for (const std::string& name : published) {
      if (std::count(listened.begin(), listened.end(), name) != 0) expected.push_back(mark + name);
    }
  };
  expect(store_.published, store_.channels, "");
  expect(store_.published_in_shard, store_.shard_channels, "shard ");
  std::sort(expected.begin(), expected.end());
  const Words arrived = heard();
  if (counts_now_) counts_.messages += arrived.size();
  if (expected == arrived) return std::nullopt;
  Reply model = Reply::array(), server = Reply::array();
  for (const std::string& name : expected) model.items.push_back(Reply::bulk(name));
  for (const std::string& name : arrived) server.items.push_back(Reply::bulk(name));
  return Difference{history.steps.size() - 1, versus("what was published differs", model, server)};
}

History Bench::shorten(const History& history, Difference& difference) {
  counts_now_ = false;
  History best = history;
  const auto cut = [&] { best.steps.resize(difference.step + 1); };
  cut();
  const auto still_differs = [&](const History& tried) {
    const auto found = run(tried);
    if (!found) return false;
    best = tried;
    difference = *found;
    cut();
    return true;
  };
  for (std::size_t size = best.steps.size() / 2; size > 0; size /= 2) {
    for (std::size_t from = 0; from + size < best.steps.size();) {
      History tried = best;
      const auto at = tried.steps.begin() + static_cast<std::ptrdiff_t>(from);
      tried.steps.erase(at, at + static_cast<std::ptrdiff_t>(size));
      if (!still_differs(tried)) from += size;
    }
  }
  for (Words History::*list : {&History::listened, &History::listened_in_shard}) {
    for (std::size_t i = (best.*list).size(); i-- > 0;) {
      History tried = best;
      (tried.*list).erase((tried.*list).begin() + static_cast<std::ptrdiff_t>(i));
      still_differs(tried);
    }
  }
  counts_now_ = true;
  return best;
}

std::string to_shell(const History& history) {
  std::ostringstream text;
  text << "#!/bin/bash\nredis-cli flushall\n";
  const auto add = [&](const Words& words) {
    for (const std::string& word : words) text << " " << quoted(word);
  };
  for (const auto& [command, channels] : {std::pair{"subscribe", &history.listened},
                                          std::pair{"ssubscribe", &history.listened_in_shard}}) {
    if (channels->empty()) continue;
    text << "sleep infinity | redis-cli " << command;
    add(*channels);
    text << " &\n";
  }
  for (const Step& step : history.steps) {
    if (lets_time_pass(step)) {
      text << "sleep " << step.ms / 1000 << "." << std::to_string(1000 + step.ms % 1000).substr(1)
           << "\n";
      continue;
    }
    text << "redis-cli";
    if (step.what == Step::What::command) {
      add(step.words);
    } else if (step.what == Step::What::script) {
      text << " --eval \"$LUA/" << step.name << ".lua\"";
      add(step.keys);
      text << " ,";
      add(step.words);
    } else {
      add({"eval", step.code, std::to_string(step.keys.size())});
      add(step.keys);
      add(step.words);
    }
    text << "\n";
  }
  return text.str();
}

}  // namespace rlock::explore
