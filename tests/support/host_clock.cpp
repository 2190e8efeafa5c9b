#include "host_clock.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "process.hpp"

namespace rlock::test {

HostClock::HostClock(std::string path)
    : path_(std::move(path)),
      library_(std::filesystem::path(path_).parent_path().string() + "/clock.so") {
  set(std::chrono::microseconds(0));
  if (std::filesystem::exists(library_)) return;  // of another host
  const Result built = run({"c++", "-std=c++17", "-shared", "-fPIC", "-o", library_,
                            std::string(RLOCK_SOURCE_DIR) + "/tests/support/native/clock.cpp"});
  if (built.status != 0) throw std::runtime_error(built.err);
}

void HostClock::set(std::chrono::microseconds ahead) const {
  std::ofstream(path_ + ".new") << ahead.count() << '\n';
  std::rename((path_ + ".new").c_str(), path_.c_str());
}

EnvChanges HostClock::environment() const {
  // A library before that of AddressSanitizer: it would refuse to start.
  const char* options = std::getenv("ASAN_OPTIONS");
  return {{"CLOCK", path_},
          {"LD_PRELOAD", library_},
          {"ASAN_OPTIONS",
           std::string(options == nullptr ? "" : options) + ":verify_asan_link_order=0"}};
}

}  // namespace rlock::test
