#include "peer.hpp"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "support/processes.hpp"
#include "support/wait_until.hpp"

namespace rlock::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> peer_argv(const std::string& address, const PeerOptions& options) {
  const char* classpath = std::getenv("RLOCK_TEST_PEER_CLASSPATH");
  if (classpath == nullptr) {
    throw std::runtime_error("RLOCK_TEST_PEER_CLASSPATH is not set: use tests/interop/run");
  }
  // Small, and soon there: several of them share a machine with the tests.
  return {"java",
          "-Xmx128m",
          "-XX:+UseSerialGC",
          "-XX:TieredStopAtLevel=1",
          "-cp",
          classpath,
          "Peer",
          address,
          std::to_string(options.watchdog.count()),
          std::to_string(options.fair_wait.count())};
}

std::string encode(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      encoded += c;
    } else {
      encoded += {'%', digits[byte / 16], digits[byte % 16]};
    }
  }
  return encoded;
}

std::string decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      decoded += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

EnvChanges environment(EnvChanges changes) {
  // Without the mark it outlives the test case: starting one for each takes too long.
  changes[k_mark_variable] = std::nullopt;
  return changes;
}

}  // namespace

Peer::Peer(const std::string& address, const PeerOptions& options)
    : process_(peer_argv(address, options), {.env = environment(options.env), .hold_stdin = true}) {
  process_.wait_for_stdout("\n", 60s);
  const std::string& out = process_.out();
  read_ = out.find('\n') + 1;
  if (!out.starts_with("ready ")) {
    throw std::runtime_error("unexpected greeting: " + out);
  }
  const std::size_t space = out.find(' ', 6);
  uuid_ = out.substr(6, space - 6);
  has_fair_wait_ = out.substr(space + 1, read_ - space - 2) == "true";
}

int Peer::send(const std::string& thread, const std::vector<std::string>& words) {
  std::string line = std::to_string(++sent_) + " " + thread;
  for (const std::string& word : words) line += " " + word;
  process_.write_stdin(line + "\n");
  return sent_;
}

void Peer::read_answers() {
  const bool running = process_.running();
  const std::string& out = process_.out();
  for (std::size_t end = out.find('\n', read_); end != std::string::npos;
       end = out.find('\n', read_)) {
    const std::string line = out.substr(read_, end - read_);
    read_ = end + 1;
    const std::size_t space = line.find(' ');
    const std::string text = decode(line.substr(space + 1));
    answers_[std::stoi(line.substr(0, space))] = text.starts_with("ok ") ? text.substr(3) : text;
  }
  if (!running) {
    throw std::runtime_error("the JVM has ended: " + process_.err());
  }
}

std::optional<std::string> Peer::answer(int request) {
  if (!answers_.contains(request)) read_answers();
  const auto found = answers_.find(request);
  return found == answers_.end() ? std::nullopt : std::optional(found->second);
}

bool Peer::busy() {
  read_answers();
  return answers_.size() != static_cast<std::size_t>(sent_);
}

bool Peer::all_asleep() {
  read_answers();
  const std::size_t working = static_cast<std::size_t>(sent_) - answers_.size();
  return working == 0 || JavaCall(*this, send("-", {"asleep"})).answer() == std::to_string(working);
}

void Peer::kill() {
  process_.signal(SIGKILL);
  process_.wait();
}

std::string JavaCall::answer(std::chrono::milliseconds bound) {
  if (!wait_until([&] { return done(); }, bound)) {
    throw std::runtime_error("Java did not answer request " + std::to_string(request_));
  }
  return *peer_->answer(request_);
}

JavaThread::JavaThread(Peer& peer) : peer_(&peer) {
  static int number = 0;
  name_ = "thread" + std::to_string(++number);
}

JavaCall JavaThread::start(const std::string& method, const Lock& lock,
                           const std::vector<long>& numbers) {
  std::vector<std::string> words{method, lock.kind, encode(lock.name)};
  for (const long number : numbers) words.push_back(std::to_string(number));
  return {*peer_, peer_->send(name_, words)};
}

std::string JavaThread::call(const std::string& method, const Lock& lock,
                             const std::vector<long>& numbers) {
  return start(method, lock, numbers).answer();
}

std::string JavaThread::owner() { return JavaCall(*peer_, peer_->send(name_, {"owner"})).answer(); }

JavaCall JavaThread::count(const Lock& lock, const std::string& key, int times) {
  return {*peer_, peer_->send(name_, {"count", lock.kind, encode(lock.name), encode(key),
                                      std::to_string(times)})};
}

void JavaThread::interrupt() { JavaCall(*peer_, peer_->send(name_, {"interrupt"})).answer(); }

bool is_refusal(std::string_view answer) {
  return answer.starts_with("error IllegalMonitorStateException ");
}

}  // namespace rlock::test
