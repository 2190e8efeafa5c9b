#include "process/detach.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

#include "base/fd.hpp"
#include "process/numbered_files.hpp"

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
  const auto close_until = [](unsigned first, unsigned end) {
    return first == end || ::close_range(first, end - 1, 0) == 0;
  };
  if (close_until(0, low) && close_until(low + 1, high) && ::close_range(high + 1, ~0U, 0) == 0)
    return;
  // An older kernel, or a sandbox that does not know it.
  std::vector<int> found;
  const NumberedFiles files("/proc/self/fd");
  while (const auto fd = files.next()) {
    if (*fd != one && *fd != other && *fd != files.fd()) found.push_back(*fd);
  }
  for (const int fd : found) ::close(fd);
}

}  // namespace rlock::process
