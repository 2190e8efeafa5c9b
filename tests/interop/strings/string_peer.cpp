#include "string_peer.hpp"

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "support/wait_until.hpp"

namespace rlock::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> peer_argv(const std::string& url) {
  const char* command = std::getenv("RLOCK_TEST_STRING_PEER");
  if (command == nullptr) {
    throw std::runtime_error("RLOCK_TEST_STRING_PEER is not set: use tests/interop/strings/run");
  }
  std::vector<std::string> argv;
  std::istringstream lines(command);
  for (std::string word; std::getline(lines, word);) argv.push_back(word);
  argv.push_back(url);
  return argv;
}

}  // namespace

StringPeer::StringPeer(const std::string& url) : process_(peer_argv(url), {.hold_stdin = true}) {
  if (answer() != "ready") throw std::runtime_error("unexpected greeting: " + process_.out());
}

void StringPeer::send(const std::string& line) { process_.write_stdin(line + "\n"); }

std::string StringPeer::answer() {
  std::size_t end = std::string::npos;
  const auto has_come = [&] {
    const bool running = process_.running();  // reads what there is, too
    end = process_.out().find('\n', read_);
    if (end == std::string::npos && !running) {
      throw std::runtime_error("the peer has ended: " + process_.err());
    }
    return end != std::string::npos;
  };
  if (!wait_until(has_come, 60s)) throw std::runtime_error("the peer does not answer");
  const std::string line = process_.out().substr(read_, end - read_);
  read_ = end + 1;
  return line;
}

std::string StringPeer::ask(const std::string& line) {
  send(line);
  return answer();
}

std::string StringPeer::acquire(const std::string& name, long ttl_ms) {
  const std::string text = ask("acquire " + name + " " + std::to_string(ttl_ms) + " 0");
  return text.starts_with("yes ") ? text.substr(4) : "";
}

}  // namespace rlock::test
