#include "process/detach.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

#include "base/fd.hpp"

namespace rlock::process {
namespace {

void close_between(unsigned first, unsigned last) {
  if (::close_range(first, last, 0) == 0) return;
  // An older kernel, or a sandbox that does not know it.
  std::vector<unsigned> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), ::closedir);
  while (const dirent* file = directory ? ::readdir(directory.get()) : nullptr) {
    const auto fd = static_cast<unsigned>(std::strtoul(file->d_name, nullptr, 10));
    const bool is_number = file->d_name[0] != '.';
    const bool is_open = is_number && fd != static_cast<unsigned>(::dirfd(directory.get()));
    if (is_open && fd >= first && fd <= last) found.push_back(fd);
  }
  for (const unsigned fd : found) ::close(static_cast<int>(fd));
}

}  // namespace

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
  if (low > 0) close_between(0, low - 1);
  if (high > low + 1) close_between(low + 1, high - 1);
  close_between(high + 1, ~0U);
}

}  // namespace rlock::process
