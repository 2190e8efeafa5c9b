#include "cli/taking/taking.hpp"

#include <algorithm>
#include <signal.h>

#include "base/duration.hpp"
#include "base/environment.hpp"
#include "cli/output/error_text.hpp"
#include "cli/taking/own_hold.hpp"
#include "cli/taking/wait_report.hpp"
#include "cli/terminal/message.hpp"
#include "lock/holding/waiting.hpp"
#include "lock/servers/outage_retry.hpp"
#include "lock/words/held.hpp"

namespace rlock::cli {
namespace {

// Re-enters the lock as the owner of `entry`, if the server says that this owner holds the lock. A
// shell that has given back all holds of its entry does not hold the lock any more, even if a
// process below it still holds the lock as the same owner.
std::optional<HeldLock> reenter_as(const lock::HeldEntry& entry, const Request& request,
                                   lock::Session& session,
                                   const std::function<void(const Error&)>& on_outage) {
  lock::Wish wish = request.wish;
  wish.owner = entry.owner;
  auto lock = lock::make_lock(wish, session);
  lock::OutageRetry outage(std::min(request.deadline, request.outage_end), on_outage);
  try {
    while (true) {
      try {
        if (living_runs(wish.name, entry, session).empty()) return std::nullopt;
        auto hold = lock->reenter(session);
        if (!hold) return std::nullopt;
        return HeldLock{std::move(lock), std::move(*hold)};
      } catch (const Error& error) {
        if (!request.server_was_there) throw;
        outage.wait_or_throw(error, session.wake_fd());
      }
    }
  } catch (...) {
    lock->abandon(session);
    throw;
  }
}

// Re-enters the lock if a process above this one holds it. RLOCK_HELD is only a hint: the server
// decides. It has one entry for each server on which a lock of this name may be held.
std::optional<HeldLock> reenter(const Request& request, lock::Session& session,
                                const std::function<void(const Error&)>& on_outage) {
  const std::string held = from_environment(lock::k_held_variable).value_or("");
  for (const lock::HeldEntry& entry : lock::find_all_held(held, request.wish.name)) {
    if (auto one = reenter_as(entry, request, session, on_outage)) return one;
  }
  return std::nullopt;
}

}  // namespace

Request make_request(const TakeOptions& options, const lock::About& about) {
  const lock::Wish wish{"",
                        options.owner(),
                        options.tell(about),
                        options.terms(),
                        options.lock_kind(),
                        options.fair_wait_length(),
                        options.permit_count()};
  return {wish, options.wait_deadline(), options.conflict_exit_status()};
}

std::optional<HeldLock> take(Request& request, const Globals& globals, lock::Session& session) {
  WaitReport report(request, globals);
  const auto on_outage = [&](const Error& error) {
    request.on_wait();
    report.tell_outage(error);
  };
  if (auto held = reenter(request, session, on_outage)) {
    request.server_was_there = true;
    report.report_unreachable();
    return held;
  }
  auto lock = lock::make_lock(request.wish, session);
  lock::WaitOptions options{request.deadline, request.try_end, request.outage_end,
                            request.server_was_there};
  options.on_wait = [&](const lock::Busy& busy) {
    request.server_was_there = true;
    request.on_wait();
    report.tell_wait(*lock, busy);
  };
  options.doubts = [&](const lock::Busy& busy) { return report.doubts(busy); };
  options.on_refusal = [&](const lock::Busy& busy) { report.tell_refusal(*lock, busy); };
  options.on_outage = on_outage;
  auto hold = lock::wait_for_lock(*lock, session, options);
  request.server_was_there = true;
  report.report_unreachable();
  if (!hold) return std::nullopt;
  report.tell_grant(*lock);
  return HeldLock{std::move(lock), std::move(*hold)};
}

void wait_for_server(Request& request, const Globals& globals, lock::Session& session,
                     const std::function<void()>& renew_owner, const std::function<void()>& ask) {
  const auto tell = [&](const Error& error) {
    request.on_wait();
    if (globals.quiet) return;
    say(describe_error(error, globals, {request.wish.name}) + "; trying again for up to " +
        format_duration(request.server_wait) + " (--wait-server)");
  };
  const TimePoint begun = BootClock::now();
  const TimePoint deadline = request.deadline;
  const int wake_fd = session.wake_fd();
  const Milliseconds timeout = session.client().options().timeout;
  lock::OutageRetry outage(after(begun, request.server_wait), tell, request.server_wait);
  while (true) {
    try {
      return ask();
    } catch (const Error& error) {
      if (request.server_was_there || request.server_wait <= Milliseconds(0)) throw;
      outage.wait_or_throw(error, wake_fd);
      // What gave up the attempt may have changed these.
      session.set_wake_fd(wake_fd);
      session.client().set_timeout(timeout);
      renew_owner();
      request.deadline = after(deadline, std::chrono::ceil<Milliseconds>(BootClock::now() - begun));
    }
  }
}

lock::SessionOptions servers_for(const Globals& globals, const TakeOptions& options,
                                 lock::Terms& terms, Milliseconds at_least) {
  lock::SessionOptions servers = globals.session_options();
  options.fit_to_servers(servers, terms, at_least);
  if (options.no_info) servers.client.name = "rlock";
  const std::size_t count = servers.servers.size();
  if (!globals.quiet && count >= 2 && count % 2 == 0) {
    const std::string most = "only " + std::to_string(count / 2 - 1) + " may fail, as with ";
    say("--redis: with " + std::to_string(count) + " servers, " +
        (count == 2 ? "no server may fail" : most + std::to_string(count - 1)) +
        ": use an odd number (of 3, one may fail; of 5, two)");
  }
  return servers;
}

std::optional<process::Signal> signal_to_end(process::Signals& signals) {
  while (const auto signal = signals.next()) {
    // One that waited when rlock began may be from this process. Only SIGPIPE may be of a message.
    const bool is_of_message = signal->from_self && signal->number == SIGPIPE;
    if (process::ends_process(signal->number) && !is_of_message) return signal;
  }
  return std::nullopt;
}

int end_by_signal(const process::Signal& signal) {
  if (signal.from_terminal && signal.number == SIGINT) return -SIGINT;
  return static_cast<int>(ExitStatus::signal_base) + signal.number;
}

}  // namespace rlock::cli
