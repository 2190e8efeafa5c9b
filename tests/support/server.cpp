#include "server.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>
#include <utility>

#include "contents.hpp"
#include "net.hpp"
#include "processes.hpp"
#include "rights.hpp"
#include "wait_until.hpp"

namespace rlock::test {
namespace {

constexpr std::chrono::seconds k_start_bound{20};

std::string make_directory() {
  const char* base = std::getenv("TMPDIR");
  // A socket's path has less than 108 bytes.
  std::string path =
      base != nullptr && *base == '/' && std::string_view(base).size() < 64 ? base : "/tmp";
  path += "/rlock-test-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), path);
  }
  return path;
}

std::string password_in(const std::vector<std::string>& args) {
  const auto at = std::find(args.begin(), args.end(), "--requirepass");
  return at == args.end() || at + 1 == args.end() ? "" : *(at + 1);
}

}  // namespace

Server::Server(ServerOptions options) : options_(std::move(options)), directory_(make_directory()) {
  if (options_.password.empty()) {
    options_.password = password_in(options_.args);
  }
  try {
    if (!options_.config.empty()) {
      std::ofstream(directory_ + "/redis.conf") << options_.config;
    }
    for (int tries = 0; !child_; ++tries) {
      port_ = free_port();
      try {
        launch();
      } catch (const std::runtime_error&) {
        if (tries >= 10 || log().find("in use") == std::string::npos) {
          throw;
        }
      }
    }
  } catch (...) {
    child_.reset();
    remove_directory();
    throw;
  }
}

Server::~Server() {
  child_.reset();
  remove_directory();
}

void Server::remove_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::vector<std::string> Server::arguments() const {
  const char* chosen = std::getenv("RLOCK_TEST_SERVER");
  std::vector<std::string> argv{chosen != nullptr && *chosen != '\0' ? chosen : "redis-server"};
  if (!options_.config.empty()) {
    argv.push_back(directory_ + "/redis.conf");
  }
  const std::vector<std::string> fixed{"--port",
                                       std::to_string(port_),
                                       "--unixsocket",
                                       unix_path(),
                                       "--unixsocketperm",
                                       "700",
                                       "--dir",
                                       directory_,
                                       "--daemonize",
                                       "no",
                                       "--save",
                                       "",
                                       "--bind",
                                       "127.0.0.1"};
  argv.insert(argv.end(), fixed.begin(), fixed.end());
  if (has_ipv6()) {
    argv.emplace_back("::1");
  }
  argv.insert(argv.end(), options_.args.begin(), options_.args.end());
  for (const std::vector<std::string>& user : restricted_users()) {
    argv.emplace_back("--user");
    argv.insert(argv.end(), user.begin(), user.end());
  }
  return argv;
}

// Starts the server once and waits for its answer; no child is left when it throws.
void Server::launch() {
  const UniqueFd log_file(::open((directory_ + "/redis.log").c_str(),
                                 O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  SpawnPlan plan;
  plan.argv = arguments();
  plan.env[k_mark_variable] = std::nullopt;
  plan.cwd = directory_;
  plan.out = plan.err = log_file.get();
  child_ = std::make_unique<Child>(plan);
  const bool ready = wait_until([this] { return !child_->running() || answers(); }, k_start_bound);
  if (!ready || !child_->running()) {
    child_.reset();
    throw std::runtime_error(plan.argv.front() + " did not start:\n" + log());
  }
}

// True when this very server (not another one) replies, and has loaded its data.
bool Server::answers() {
  try {
    return command({"PING"}).find("LOADING") == std::string::npos;
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string Server::log() const { return contents(directory_ + "/redis.log"); }

void Server::stop() { child_.reset(); }

void Server::start() {
  const Deadline deadline(k_start_bound);
  while (!child_) {
    try {
      launch();
    } catch (const std::runtime_error&) {
      if (deadline.passed() || log().find("in use") == std::string::npos) {
        throw;
      }
    }
  }
}

void Server::pause() {
  if (child_) {
    child_->signal(SIGSTOP);
    wait_until([this] { return stopped(pid()) || !child_->running(); });
  }
}

void Server::resume() {
  if (child_) {
    child_->signal(SIGCONT);
  }
}

RespClient Server::connect() const {
  RespClient client(connect_unix(unix_path()));
  std::vector<std::string> login = admin_login();
  if (login.empty() && !options_.password.empty()) {
    login = {"AUTH", options_.password};
    if (!options_.user.empty()) {
      login.insert(login.begin() + 1, options_.user);
    }
  }
  if (!login.empty()) {
    const std::string answer = client.call(login).at(0);
    if (answer != "OK") {
      throw std::runtime_error(answer);
    }
  }
  return client;
}

std::vector<std::string> Server::list(const std::vector<std::string>& args) const {
  return connect().call(args);
}

std::string Server::command(const std::vector<std::string>& args) const {
  std::string text;
  bool first = true;
  for (const std::string& part : list(args)) {
    text += (first ? "" : "\n") + part;
    first = false;
  }
  return text;
}

bool Server::is_replicated() const {
  RespClient client = connect();
  // WAIT means what was written before the last command of the same connection.
  return wait_until([&] {
    client.call({"PING"});
    return client.call({"WAIT", "1", "1000"}) == std::vector<std::string>{"1"};
  });
}

std::vector<std::string> Server::keys() const {
  std::vector<std::string> names = list({"KEYS", "*"});
  std::sort(names.begin(), names.end());
  return names;
}

long pttl(const Server& server, const std::string& key) {
  return std::stol(server.command({"PTTL", key}));
}

bool comes_to_be_empty(const Server& server) {
  return wait_until([&] { return server.keys().empty(); });
}

}  // namespace rlock::test
