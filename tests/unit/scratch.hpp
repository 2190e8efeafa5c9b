// A directory and an environment that a test case may change.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <stdlib.h>
#include <string>
#include <sys/stat.h>

namespace rlock::test {

// A fresh directory; the destructor removes it.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "rlock-unit-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name = "") const { return path_ / name; }

  // Writes a file that nobody else may read, and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    ::chmod(path(name).c_str(), 0600);
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

// Changes variables of the environment; the destructor puts them back.
class Environment {
 public:
  Environment() = default;
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() {
    for (const auto& [name, value] : before_) put(name, value);
  }

  // Sets the variable, or removes it.
  void set(const std::string& name, const std::optional<std::string>& value) {
    const char* before = ::getenv(name.c_str());
    before_.emplace(name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
    put(name, value);
  }

 private:
  static void put(const std::string& name, const std::optional<std::string>& value) {
    if (value) {
      ::setenv(name.c_str(), value->c_str(), 1);
    } else {
      ::unsetenv(name.c_str());
    }
  }

  std::map<std::string, std::optional<std::string>> before_;
};

}  // namespace rlock::test
