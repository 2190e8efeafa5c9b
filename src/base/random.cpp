#include "base/random.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/escape.hpp"

namespace rlock {
namespace {

void fill(void* buffer, std::size_t size) {
  if (::getentropy(buffer, size) != 0) throw_errno("getrandom");
}

}  // namespace

std::string random_hex(std::size_t bytes) {
  std::string raw(bytes, '\0');
  fill(raw.data(), raw.size());
  return to_hex(raw);
}

std::string random_uuid() {
  std::string hex = random_hex(16);
  hex[12] = '4';
  hex[16] = "89ab"[static_cast<unsigned>(hex[16]) & 3U];
  for (const std::size_t dash : {8U, 13U, 18U, 23U}) hex.insert(dash, 1, '-');
  return hex;
}

std::uint32_t random_below(std::uint32_t limit) {
  std::uint32_t value = 0;
  fill(&value, sizeof value);
  return value % limit;
}

}  // namespace rlock
