#include "redis/tls_module.hpp"

#include <array>
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

// It is looked for where this program is, and nowhere else: beside it, as it was built, or where it
// was installed. No variable of the environment has a say in what code runs.
Fd open_module() {
  std::array<char, PATH_MAX> path{};
  const ssize_t size = ::readlink(k_own_program, path.data(), path.size() - 1);
  if (size <= 0) return {};
  std::string directory(path.data(), static_cast<std::size_t>(size));
  directory.resize(directory.rfind('/') + 1);
  for (const char* place : {RLOCK_TLS_INSTALLED, ""}) {
    Fd fd(::open((directory + place + k_file).c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.valid()) return fd;
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

const tls::Module* load() {
  const Fd fd = open_module();
  if (!fd.valid()) return nullptr;
  if (!is_ours(fd.get())) {
    throw Error(ExitStatus::config, std::string("cannot use TLS: ") + k_file +
                                        " belongs to another user, or others may write to it");
  }
  // What was looked at is what is loaded. It stays, so nobody closes it.
  const std::string file = "/proc/self/fd/" + std::to_string(fd.get());
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = library == nullptr ? nullptr : ::dlsym(library, tls::k_entry);
  if (entry == nullptr) {
    const char* why = ::dlerror();
    throw Error(ExitStatus::config,
                "cannot use TLS: " + escape_for_terminal(why == nullptr ? "no entry" : why));
  }
  return reinterpret_cast<tls::Entry>(entry)();
}

}  // namespace

const tls::Module* tls_module() {
  static const tls::Module* const module = load();  // tried again if it throws
  return module;
}

bool has_tls_module() noexcept { return open_module().valid(); }

}  // namespace rlock::redis
