#include "lock/owner.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <pwd.h>
#include <unistd.h>

#include "base/process_identity.hpp"
#include "base/random.hpp"

namespace rlock::lock {
namespace {

// LOGNAME is what cron, login and su set; only without it is the user database worth its time.
std::string user_name() {
  for (const char* variable : {"LOGNAME", "USER"}) {
    const char* value = ::getenv(variable);
    if (value != nullptr && *value != '\0') return value;
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
  About about = about_this_host();
  about.pid = ::getppid();
  std::ifstream name("/proc/" + std::to_string(about.pid) + "/comm");
  std::getline(name, about.command);
  return about;
}

}  // namespace rlock::lock
