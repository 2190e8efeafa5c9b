#include "redis/run_id.hpp"

#include <string_view>

namespace rlock::redis {

std::string run_id_in(const Reply& info) {
  constexpr std::string_view k_key = "run_id:";
  const std::size_t at = info.text.find(k_key);
  if (info.type != Reply::Type::string || at == std::string::npos) return "";
  const std::size_t start = at + k_key.size();
  return info.text.substr(start, info.text.find_first_of("\r\n", start) - start);
}

}  // namespace rlock::redis
