#include "lock/words/owner.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <memory>
#include <pwd.h>
#include <unistd.h>

#include "base/environment.hpp"
#include "base/process_identity.hpp"
#include "base/process_stat.hpp"
#include "base/random.hpp"

namespace rlock::lock {
namespace {

// LOGNAME is what cron, login and su set. Without it, /etc/passwd comes first: getpwuid() sets up
// the whole name service, which takes longer than anything else that rlock does before its first
// request.
std::string user_name() {
  for (const char* variable : {"LOGNAME", "USER"}) {
    if (const auto value = from_environment(variable)) return *value;
  }
  const uid_t user = ::geteuid();
  const passwd* entry = nullptr;
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/etc/passwd", "re"), std::fclose);
  do {
    entry = file ? ::fgetpwent(file.get()) : nullptr;
  } while (entry != nullptr && entry->pw_uid != user);
  if (entry == nullptr) entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : std::to_string(user);
}

About about_this_host() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return {.host = host.data(), .user = user_name()};
}

constexpr std::string_view k_uuid = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

bool starts_with_uuid(std::string_view text) {
  const auto fits = [](char shape, char c) { return shape == 'x' ? is_hex(c) : c == '-'; };
  return std::ranges::equal(k_uuid, text.substr(0, k_uuid.size()), fits);
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

namespace {

// Returns whether the value is one of ShedLock: "ADDED:2026-11-29T07:38:13.042Z@web1".
bool is_of_shedlock(std::string_view value) {
  constexpr std::string_view k_shape = "ADDED:0000-00-00T00:00:00";
  const auto fits = [](char shape, char c) {
    return shape == '0' ? std::isdigit(static_cast<unsigned char>(c)) != 0 : c == shape;
  };
  if (!std::ranges::equal(k_shape, value.substr(0, k_shape.size()), fits)) return false;
  value.remove_prefix(k_shape.size());
  const std::size_t zone = value.find_first_not_of(".0123456789");
  return zone != std::string_view::npos && value.substr(zone).starts_with("Z@") &&
         value.size() > zone + 2;
}

}  // namespace

bool looks_like_owner(std::string_view value) {
  if (is_of_shedlock(value)) return true;
  const auto is_base64 = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/';
  };
  // redis-py and node-redlock: 16 bytes in hexadecimal; redsync: in Base64.
  if (value.size() == 32 && std::ranges::all_of(value, is_hex)) return true;
  if (value.size() == 24 && value.ends_with("==") &&
      std::all_of(value.begin(), value.end() - 2, is_base64)) {
    return true;
  }
  if (!starts_with_uuid(value)) return false;
  value.remove_prefix(k_uuid.size());
  if (value.empty()) return true;
  return value.size() > 1 && value[0] == ':' &&
         value.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

bool looks_like_field_owner(std::string_view field) {
  if (!starts_with_uuid(field)) return false;
  field.remove_prefix(k_uuid.size());
  if (!field.starts_with(':')) return false;
  field.remove_prefix(field.starts_with(":-") ? 2 : 1);  // a Java long can be negative
  const std::size_t digits = std::min(field.find_first_not_of("0123456789"), field.size());
  field.remove_prefix(digits);
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == ':';
  };
  return digits > 0 && (field.empty() || (field.size() > 1 && field[0] == ':' &&
                                          std::ranges::all_of(field, is_of_name)));
}

std::string start_of(std::string_view value) {
  std::size_t end = 8;
  if (value.size() <= end) return std::string(value);
  // No character is cut.
  while (end > 0 && (static_cast<unsigned char>(value[end]) & 0xC0U) == 0x80) --end;
  return std::string(value.substr(0, end)) + "...";
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
  if (const auto stat = read_process_stat(pid)) about.command = stat->name;
  about.process = process_identity(pid);
  return about;
}

}  // namespace rlock::lock
