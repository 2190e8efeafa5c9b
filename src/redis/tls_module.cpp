#include "redis/tls_module.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/escape.hpp"
#include "base/fd.hpp"

namespace rlock::redis {
namespace {

constexpr const char* k_own_program = "/proc/self/exe";
constexpr const char* k_file = "rlock-tls.so";

// Opens the module. Looks where the module was installed and beside this program, and nowhere else.
// No environment variable can change which code runs. If the module cannot be opened, returns an
// invalid descriptor and the errno of the last attempt.
Fd open_module(int& error) {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(k_own_program, path.data(), path.size() - 1);
  if (size <= 0) return {};
  std::string directory(path.data(), static_cast<std::size_t>(size));
  directory.resize(directory.rfind('/') + 1);
  for (const char* place : {RLOCK_TLS_INSTALLED, ""}) {
    Fd fd;
    do {
      fd = Fd(::open((directory + place + k_file).c_str(), O_RDONLY | O_CLOEXEC));
      error = errno;
    } while (!fd.valid() && error == EINTR);
    if (fd.valid() || is_resource_exhausted(error)) return fd;
  }
  return {};
}

// A program that is run from a directory like /tmp must not run what others have put there.
bool is_ours(int fd) {
  struct stat module {};
  struct stat program {};
  if (::fstat(fd, &module) != 0 || ::stat(k_own_program, &program) != 0) return false;
  return (module.st_uid == 0 || module.st_uid == program.st_uid) && (module.st_mode & S_IWOTH) == 0;
}

[[noreturn]] void refuse_module(ExitStatus status, const std::string& why) {
  throw Error(status, "cannot use TLS: " + why);
}

// The loader tells only in words that there was no memory or no descriptor for a library.
ExitStatus status_of_loader(const std::string& why) {
  for (const auto& lack : {errno_text(EMFILE), errno_text(ENFILE), errno_text(ENOMEM),
                           std::string("map segment"), std::string("zero-fill pages")}) {
    if (why.find(lack) != std::string::npos) return ExitStatus::unavailable;
  }
  return ExitStatus::config;
}

const tls::Module* load() {
  int error = 0;
  const Fd fd = open_module(error);
  if (!fd.valid() && is_resource_exhausted(error))
    refuse_module(ExitStatus::unavailable, errno_text(error));
  if (!fd.valid()) return nullptr;
  if (!is_ours(fd.get())) {
    refuse_module(ExitStatus::config,
                  std::string(k_file) + " belongs to another user, or others may write to it");
  }
  // What was looked at is what is loaded. It stays, so nobody closes it.
  const std::string file = "/proc/self/fd/" + std::to_string(fd.get());
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = library == nullptr ? nullptr : ::dlsym(library, tls::k_entry);
  if (entry == nullptr) {
    const char* why = ::dlerror();
    const std::string text = escape_for_terminal(why == nullptr ? "no entry" : why);
    refuse_module(status_of_loader(text), text);
  }
  return reinterpret_cast<tls::Entry>(entry)();
}

}  // namespace

const tls::Module* tls_module() {
  static const tls::Module* const module = load();  // tried again if it throws
  return module;
}

bool has_tls_module() noexcept {
  int error = 0;
  return open_module(error).valid();
}

}  // namespace rlock::redis
