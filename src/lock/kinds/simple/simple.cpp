#include "lock/kinds/simple/simple.hpp"

#include "lock/kinds/plain/plain.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {

Layout simple_layout(const std::string& name, Value value) {
  Layout layout = plain_layout(name);
  layout.kind = Kind::simple;
  layout.is_string = true;
  layout.is_owner_shared = value == Value::given;
  layout.acquire_script = &lua::acquire_simple::script;
  layout.acquire = [value](const KeyNames& keys, Join) -> Layout::Additions {
    return {{}, {value == Value::fresh ? "1" : "0", keys.permits}};
  };
  return layout;
}

}  // namespace rlock::lock
