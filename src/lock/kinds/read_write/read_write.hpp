// A side of the read/write lock in Redisson's layout: many readers, or one writer.
#pragma once

#include "lock/kinds/plain/reentrant.hpp"

namespace rlock::lock {

// The writer may read, too, and go on reading when it writes no longer; a reader cannot become the
// writer.
class ReadWriteLock final : public ReentrantLock {
 public:
  // `side`: Kind::read or Kind::write. The owner is the same for both: the hash's field of a
  // writer, which ends in ":write", is understood, too. Throws Error (usage) for terms that only a
  // writer can have.
  ReadWriteLock(const std::string& name, const std::string& owner, const About& about,
                const Terms& terms, Kind side);

  [[nodiscard]] Kind kind() const noexcept override { return side_; }
  [[nodiscard]] std::string channel() const override { return keys().read_write_channel; }
  // A reader renews at least every 10 s: Redisson's readers shorten the life of all to 30 s.
  [[nodiscard]] Milliseconds renewal_interval() const noexcept override;

 private:
  [[nodiscard]] std::variant<Lease, Busy> acquire(redis::Client& client, Join join,
                                                  const Terms& terms) override;
  [[nodiscard]] Question reenter_question(const redis::Client& client) const override;
  [[nodiscard]] Question renew_question(Milliseconds lease) const override;
  [[nodiscard]] Question release_question(const redis::Client& client, Milliseconds keep,
                                          Wake wake) const override;

  Kind side_;
};

}  // namespace rlock::lock
