// Runs the scripts on a Store, as Redis does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "explore/store.hpp"

struct lua_State;

namespace rlock::explore {

// What a server refuses to a script: each command that this user lacks the right to; and, where
// it is out of memory, what may take more, until the script has written something.
struct Refusals {
  bool is_out_of_memory = false;
  std::string lacks{};
};

class LuaHost {
 public:
  // Loads the scripts that rlock is built with; or those that cmake/ExpandLua.cmake has written to
  // a folder. Throws std::runtime_error if one does not compile.
  explicit LuaHost(const std::string& folder = "");

  // Loads more scripts, from a folder whose name comes before theirs.
  void add(const std::string& folder);

  [[nodiscard]] bool knows(const std::string& script) const { return scripts_.contains(script); }

  // Runs a script, by its name, on a store. What it returns is as a client sees it.
  // Throws std::logic_error if it uses what the model does not know.
  Reply run(const std::string& script, Store& store, const Words& keys, const Words& args);

  // Of the scripts that run from now on.
  void refuse(const Refusals& what) { refusals_ = what; }

  // The same of a piece of Lua, which may not compile.
  Reply eval(const std::string& code, Store& store, const Words& keys, const Words& args);

  [[nodiscard]] const std::map<std::string, std::string>& texts() const { return texts_; }
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

 private:
  Reply run_loaded(Store& store, const Words& keys, const Words& args);
  void load(const std::string& name, const std::string& text);

  std::unique_ptr<lua_State, void (*)(lua_State*)> lua_;
  std::map<std::string, int> scripts_;  // references to the compiled chunks
  std::map<std::string, std::string> texts_;
  std::uint64_t calls_ = 0;
  Refusals refusals_;
};

}  // namespace rlock::explore
