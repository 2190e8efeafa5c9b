#include "process/detach.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.hpp"

namespace rlock::process {

void rename_process(const char* name, const std::string& title) {
  ::prctl(PR_SET_NAME, name);
  std::array<char, 4096> buffer{};
  const Fd fd(::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC));
  const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
  if (size <= 0) return;
  const auto room = static_cast<std::size_t>(size) - 1;
  std::memset(program_invocation_name, 0, room);  // the start of the arguments
  std::copy_n(title.begin(), std::min(title.size(), room), program_invocation_name);
}

void close_all_but(int one, int other) {
  const auto low = static_cast<unsigned>(std::min(one, other));
  const auto high = static_cast<unsigned>(std::max(one, other));
  if (low > 0) ::close_range(0, low - 1, 0);
  if (high > low + 1) ::close_range(low + 1, high - 1, 0);
  ::close_range(high + 1, ~0U, 0);
}

}  // namespace rlock::process
