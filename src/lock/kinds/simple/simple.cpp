#include "lock/kinds/simple/simple.hpp"

#include "lock/kinds/plain/plain.hpp"
#include "lua_scripts.hpp"

namespace rlock::lock {

Layout simple_layout(const std::string& name, Value value) {
  Layout layout = plain_layout(name);
  layout.kind = Kind::simple;
  layout.is_string = true;
  layout.is_owner_shared = value == Value::given;
  layout.acquire_script = &lua::acquire_simple;
  layout.acquire = [value, permits = layout.keys.permits](Join) -> Layout::Additions {
    return {{}, {value == Value::fresh ? "1" : "0", permits}};
  };
  return layout;
}

}  // namespace rlock::lock
