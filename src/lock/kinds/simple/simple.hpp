// The string lock of most other libraries: SET NX PX with a value that tells whose it is.
#pragma once

#include "lock/kinds/plain/reentrant.hpp"

namespace rlock::lock {

// Whether the owner, which is the string's value, is this run's alone. One that the user gives may
// be others', too: then the latch tells whose hold it is, as long as that lasts.
enum class Value { fresh, given };

class SimpleLock final : public ReentrantLock {
 public:
  SimpleLock(const std::string& name, std::string owner, const About& about, const Terms& terms,
             Value value);

  [[nodiscard]] Kind kind() const noexcept override { return Kind::simple; }

 private:
  // A key that had this value before the first sending is somebody else's lock.
  [[nodiscard]] std::variant<Lease, Busy> acquire(redis::Client& client, Join join,
                                                  const Terms& terms) override;
  [[nodiscard]] bool is_owner_shared() const noexcept override { return value_ == Value::given; }
  [[nodiscard]] bool is_latched() const noexcept override { return is_owner_shared(); }

  Value value_;
};

}  // namespace rlock::lock
