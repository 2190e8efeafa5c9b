#include "lock/owner.hpp"

#include <array>
#include <cstdlib>
#include <pwd.h>
#include <unistd.h>

#include "base/escape.hpp"
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

}  // namespace

std::string fresh_owner() { return random_uuid() + ":" + std::to_string(::getpid()); }

About about_this_process(const std::string& command) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string program = command.substr(command.rfind('/') + 1);
  // The texts are stored as JSON, which cannot hold other bytes.
  return {to_utf8(host.data()), ::getpid(), to_utf8(user_name()), to_utf8(program)};
}

}  // namespace rlock::lock
