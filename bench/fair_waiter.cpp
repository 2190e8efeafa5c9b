#include "fair_waiter.hpp"

#include "base/error.hpp"
#include "lua_limits.hpp"

namespace rlock::bench {
namespace {

const lock::About& about() {
  static const lock::About result = lock::about_this_process("fair_queue");
  return result;
}

}  // namespace

Waiter::Waiter(const std::string& lock_name)
    : lock_(lock::fair_operations(lock_name, lua::k_our_wait), lock::fresh_owner(), about(),
            lock::k_default_lease) {}

void Waiter::take(redis::Client& client) {
  if (!std::holds_alternative<lock::Hold>(lock_.try_acquire(client, lock::Join::no))) {
    throw Error(ExitStatus::internal, "the lock was not free");
  }
}

lock::Busy Waiter::join(redis::Client& client, const redis::ClientOptions& listening) {
  const std::lock_guard guard(mutex_);
  auto answer = lock_.try_acquire(client, lock::Join::no);
  if (std::holds_alternative<lock::Busy>(answer)) {
    subscription_.emplace(listening, std::vector{lock_.channel().name});
    answer = lock_.try_acquire(client, lock::Join::yes);
  }
  const lock::Busy* busy = std::get_if<lock::Busy>(&answer);
  if (busy == nullptr || !busy->place) {
    throw Error(ExitStatus::internal, "the lock was not busy, or there was no place in its queue");
  }
  waits_ = true;
  return *busy;
}

std::optional<lock::Busy> Waiter::ask(redis::Client& client) {
  const std::lock_guard guard(mutex_);
  if (!waits_) return std::nullopt;
  const auto answer = lock_.try_acquire(client, lock::Join::yes);
  const lock::Busy* busy = std::get_if<lock::Busy>(&answer);
  // A lease is no news to the server when `on_call` asks for it again.
  return busy == nullptr ? std::nullopt : std::optional(*busy);
}

bool Waiter::on_call(redis::Client& client) {
  const std::lock_guard guard(mutex_);
  if (!waits_ || subscription_->drain().empty()) return false;
  const auto answer = lock_.try_acquire(client, lock::Join::yes);
  waits_ = std::holds_alternative<lock::Busy>(answer);
  return !waits_;
}

void Waiter::stop_listening() {
  const std::lock_guard guard(mutex_);
  waits_ = false;
  subscription_.reset();
}

}  // namespace rlock::bench
