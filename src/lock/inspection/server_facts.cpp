#include "lock/inspection/server_facts.hpp"

#include <chrono>
#include <sstream>

#include "base/integer.hpp"
#include "lock/words/key_names.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {
namespace {

// A clock that was asked for so long is not known.
constexpr Milliseconds k_longest_question{1000};

std::map<std::string, std::string> parse_info(const std::string& text) {
  std::map<std::string, std::string> info;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos) info[line.substr(0, colon)] = line.substr(colon + 1);
  }
  return info;
}

// The server's clock minus this host's; nothing if the answer took too long to tell.
std::optional<Milliseconds> compare_clocks(redis::Client& client) {
  using std::chrono::system_clock;
  const auto before = system_clock::now();
  const redis::Reply reply = client.command({"TIME"});
  const auto spent = system_clock::now() - before;
  if (reply.type != redis::Reply::Type::array || spent > k_longest_question) return std::nullopt;
  const auto& parts = reply.as_array(2);
  const auto server = std::chrono::microseconds(to_integer(parts[0].as_text()) * 1'000'000 +
                                                to_integer(parts[1].as_text()));
  return std::chrono::round<Milliseconds>(server - (before + spent / 2).time_since_epoch());
}

}  // namespace

ServerFacts read_server_facts(redis::Client& client, const std::optional<std::string>& name) {
  const KeyNames keys(name.value_or("rlock"));
  ServerFacts facts;
  const redis::Reply rights = client.run(
      lua::rights::Call{.channel = keys.channel,
                        .lock = keys.lock,
                        .others = {keys.info, keys.queue, keys.timeout, keys.latch("doctor")}});
  for (const redis::Reply& lacking : rights.as_array()) facts.lacking.push_back(lacking.as_text());
  // A user may be there for locks of some names only.
  if (!name && facts.lacking == std::vector<std::string>{keys.lock}) facts.lacking.clear();
  const redis::Reply info = client.command({"INFO"});
  if (info.type == redis::Reply::Type::string) facts.info = parse_info(info.text);
  const redis::Reply cluster = client.command({"CLUSTER", "INFO"});
  if (cluster.type == redis::Reply::Type::string) facts.info.merge(parse_info(cluster.text));
  facts.clock_difference = compare_clocks(client);
  return facts;
}

}  // namespace rlock::lock
