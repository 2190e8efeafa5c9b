#include "cli/settings/text_file.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/fd.hpp"
#include "base/shell_quote.hpp"

namespace rlock::cli {
namespace {

constexpr std::size_t k_limit = 1024UL * 1024UL;

[[noreturn]] void fail_to_read(const std::string& path, int error) {
  const std::string why = "cannot be read: " + errno_text(error);
  if (is_resource_exhausted(error))
    throw Error(ExitStatus::unavailable, quote_input(path) + ": " + why);
  refuse_file(path, why);
}

// Opens the file without waiting for a writer. Returns an invalid descriptor if there is none.
Fd open_file(const std::string& path) {
  Fd fd;
  do {
    fd = Fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  } while (!fd.valid() && errno == EINTR);
  if (fd.valid()) return fd;
  const int why = errno;
  struct stat status {};
  // A directory that is closed to us hides whether the file is there.
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (why == ENOENT || why == ENOTDIR || (why == EACCES && !is_there)) return fd;
  fail_to_read(path, why);
}

// Waits until there is something to read, or the last writer of a pipe has gone.
void wait_for_text(int fd, const std::string& path, Milliseconds timeout) {
  pollfd polled{fd, POLLIN, 0};
  if (poll_until({&polled, 1}, after(BootClock::now(), timeout)) == 0) {
    refuse_file(path, "nothing came out of it for too long");
  }
}

// Returns whether this is a pipe with a name, whose writer may still be to come. Every writer of
// another pipe is there already.
bool is_named_pipe(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
}

std::string read_all(int fd, const std::string& path, Extent extent, Milliseconds timeout) {
  if (is_named_pipe(path)) wait_for_text(fd, path, timeout);
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
      if (extent == Extent::first_line && text.find('\n') != std::string::npos) return text;
      if (text.size() > k_limit) refuse_file(path, "is larger than 1 MiB");
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) fail_to_read(path, errno);
    wait_for_text(fd, path, timeout);
  }
}

void refuse_if_foreign(const TextFile& file, const std::string& what) {
  if (file.owner == ::geteuid() || file.owner == 0) return;
  refuse_file(file.path, what + ", and belongs to another user: give it to this one, or root");
}

}  // namespace

void refuse_file(const std::string& path, const std::string& why) {
  throw Error(ExitStatus::config, quote_input(path) + ": " + why);
}

std::string absolute_path(const std::string& path) {
  std::error_code failure;  // our directory was removed: the relative path is as good as any
  const std::string absolute = std::filesystem::absolute(path, failure).string();
  return path.empty() || failure ? path : absolute;
}

std::optional<TextFile> read_text_file(const std::string& path, Extent extent,
                                       Milliseconds timeout) {
  const Fd fd = open_file(path);
  if (!fd.valid()) return std::nullopt;
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) fail_to_read(path, errno);
  if (S_ISDIR(status.st_mode)) refuse_file(path, "is a directory");
  return TextFile{path, read_all(fd.get(), path, extent, timeout), status.st_uid, status.st_mode};
}

void refuse_if_shared(const TextFile& file) {
  if (!S_ISREG(file.mode)) return;
  refuse_if_foreign(file, "names a server");
  if ((file.mode & (S_IWGRP | S_IWOTH)) == 0) return;
  refuse_file(file.path, std::string("names a server, and ") +
                             ((file.mode & S_IWOTH) != 0 ? "everybody" : "its group") +
                             " may change it: chmod go-w " + shell_quote(file.path));
}

void refuse_if_exposed(const TextFile& file) {
  if (!S_ISREG(file.mode)) return;
  refuse_if_foreign(file, "holds a password");
  if ((file.mode & (S_IROTH | S_IWOTH)) != 0) {
    // Of root's file we are one of the group, or soon none who may read it.
    refuse_file(file.path, std::string("holds a password, and everybody may ") +
                               ((file.mode & S_IROTH) != 0 ? "read" : "change") + " it: chmod " +
                               (file.owner == ::geteuid() ? "600 " : "640 ") +
                               shell_quote(file.path));
  }
}

}  // namespace rlock::cli
