#include "lock/owner.hpp"

#include <array>
#include <cstdint>
#include <fstream>
#include <pwd.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "base/process_identity.hpp"
#include "base/random.hpp"

namespace rlock::lock {
namespace {

// LOGNAME is what cron, login and su set; only without it is the user database worth its time.
std::string user_name() {
  for (const char* variable : {"LOGNAME", "USER"}) {
    if (const auto value = from_environment(variable)) return *value;
  }
  const passwd* entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

About about_this_host() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  About about;
  about.host = host.data();
  about.user = user_name();
  return about;
}

}  // namespace

std::string fresh_owner() { return random_uuid() + ":" + std::to_string(::getpid()); }

std::string with_fresh_uuid(const std::string& owner) {
  const std::size_t colon = owner.find(':');
  return random_uuid() + (colon == std::string::npos ? "" : owner.substr(colon));
}

std::string anonymous_owner() {
  constexpr std::uint32_t k_limit = 1'000'000'000;
  return random_uuid() + ":" + std::to_string(random_below(k_limit));
}

About about_this_process(const std::string& command) {
  About about = about_this_host();
  about.pid = ::getpid();
  about.command = command.substr(command.rfind('/') + 1);
  about.process = process_identity(about.pid);
  return about;
}

About about_calling_process() {
  About about = about_process(::getppid());
  about.process.clear();
  return about;
}

About about_process(pid_t pid) {
  About about = about_this_host();
  about.pid = pid;
  std::ifstream name("/proc/" + std::to_string(pid) + "/comm");
  std::getline(name, about.command);
  about.process = process_identity(pid);
  return about;
}

}  // namespace rlock::lock
