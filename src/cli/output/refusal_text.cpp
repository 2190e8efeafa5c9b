#include "cli/output/refusal_text.hpp"

#include <algorithm>
#include <set>

#include "base/duration.hpp"
#include "base/escape.hpp"
#include "base/wording.hpp"
#include "base/words.hpp"
#include "lock/servers/failed.hpp"
#include "lock/words/key_names.hpp"

namespace rlock::cli {
namespace {

// Users count servers from 1.
std::string describe_server(std::size_t server) { return "server " + std::to_string(server + 1); }

std::string describe(const lock::Twins& it) {
  return describe_server(it.first) + " and " + describe_server(it.second) + " are one and the same";
}

// The words of each refusal.
struct RefusalWording {
  const lock::Refused& refused;

  RefusalText operator()(const lock::BadName& it) const {
    using Because = lock::BadName::Because;
    const std::string& bad = refused.subject();
    if (it.because == Because::length) {
      return {"bad lock name: it has " + std::to_string(bad.size()) + " bytes; expected 1 to " +
              std::to_string(lock::k_longest_name)};
    }
    return {"bad lock name: '" + name() + "' " +
            (it.because == Because::prefix
                 ? "begins with '" + it.prefix + "', as the keys of other locks do"
                 : "is the key of another lock's reader") +
            "; choose another name"};
  }

  RefusalText operator()(const lock::InUse& it) const {
    const std::string& found = it.found;
    if (found == "plain or fair lock") {
      return {name() + ": in use as a plain or fair lock",
              "leave out -s or -x, which take a read/write lock"};
    }
    if (found == "read-write lock") {
      return {name() + ": in use as a read/write lock", "take it with -s or -x"};
    }
    if (found == "string") {
      return {name() + ": a string, not a lock of this kind",
              "if it is a lock, take it with --kind simple; if it is a semaphore, with --permits"};
    }
    if (found == "hash that is no lock") return {name() + ": a hash that is not a lock"};
    if (found == "hash") return {name() + ": a hash: a lock of another kind, or no lock"};
    for (const char* type : {"list", "set", "zset", "stream"}) {
      if (found == type) return {name() + ": a " + found + ", not a lock"};
    }
    return {name() + ": the name is in use by another kind of lock (" + escape_for_terminal(found) +
            ")"};
  }

  RefusalText operator()(const lock::NotALock& it) const {
    using If = lock::NotALock::If;
    if (it.breakable == If::hash) {
      return {name() + ": a hash that might not be a lock: its owners are not UUID:NUMBER",
              "if it is a lock, unlock --force --kind hash breaks it"};
    }
    return {
        name() + ": the name is in use by something else (" + escape_for_terminal(it.found) + ")",
        it.breakable == If::simple
            ? "if it is a lock, and no semaphore that nobody holds, --kind simple breaks it"
            : ""};
  }

  RefusalText operator()(const lock::NoCounter& it) const {
    return {name() + ": no fencing token from " +
            escape_for_terminal(lock::KeyNames(refused.subject()).token) + ": " +
            escape_for_terminal(it.why)};
  }

  RefusalText operator()(const lock::NoTokens& it) const {
    return {
        name() + (it.kind == lock::Kind::read
                      ? ": a reader has no fencing token: the next reader's token would outdate "
                        "it while both hold the lock"
                      : ": a semaphore has no fencing tokens: the newest one would shut out the "
                        "other holders"),
        "leave out --fence"};
  }

  RefusalText operator()(const lock::NoOuterToken& /*it*/) const {
    return {name() +
                ": the outer run has no valid fencing token (it drew none, or there is a higher "
                "one), and several servers cannot draw one for a nested run",
            "give --fence to the outer run, too"};
  }

  RefusalText operator()(const lock::ReaderAbove& /*it*/) const {
    return {name() +
            ": a process above this one reads: a reader cannot become the writer (take the write "
            "lock first)"};
  }

  RefusalText operator()(const lock::NeedsOneServer& it) const {
    return {name() + ": several independent servers cannot keep a " +
                lock::traits_of(it.kind).name + (it.kind == lock::Kind::semaphore ? "" : " lock") +
                (it.kind == lock::Kind::fair ? ", because each has its own queue" : ""),
            "give one server (-r)"};
  }

  RefusalText operator()(const lock::Twins& it) const {
    return {describe(it) + " (" + refused.subject() + ")", "name each server once (-r)"};
  }

 private:
  [[nodiscard]] std::string name() const { return escape_for_terminal(refused.subject()); }
};

std::string describe(lock::Purpose purpose) {
  using Purpose = lock::Purpose;
  switch (purpose) {
    case Purpose::take:
      return "take the lock";
    case Purpose::reenter:
      return "re-enter the lock";
    case Purpose::renew:
      return "renew the lock";
    case Purpose::ask_for_lock:
      return "ask for the lock";
    case Purpose::ask_for_hold:
      return "ask for the hold";
    case Purpose::release:
      return "release the lock";
    case Purpose::raise_token:
      return "make the fencing token known";
    case Purpose::check_token:
      return "check the token";
    case Purpose::listen:
      break;
  }
  return "listen";
}

// A server whose clock was set back has no uptime, so it may have started long ago.
std::string describe_fresh(Milliseconds delay) {
  return "may have started within the last " + format_duration(delay) +
         " and may have forgotten a lock";
}

// Servers report whole seconds.
Milliseconds time_left(const lock::JustStarted& it) {
  return std::max(it.delay - it.up, Milliseconds(1000));
}

// Returns the end of a message: each failure's sentence once, and one for all servers that have
// just started. If these have enough votes, of which `missing` are missing, it says when to try
// again.
std::string reasons(const std::vector<std::exception_ptr>& failures, std::size_t missing) {
  std::set<std::string> texts;
  std::vector<std::string> started;
  std::vector<Milliseconds> waits;
  Milliseconds delay{0};
  for (const std::exception_ptr& failure : failures) {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      const auto* failed = dynamic_cast<const lock::Failed*>(&error);
      const auto* why = failed ? std::get_if<lock::JustStarted>(&failed->why()) : nullptr;
      if (why == nullptr) {
        texts.insert(sentence_of(error));
        continue;
      }
      started.push_back(failed->subject());
      waits.push_back(time_left(*why));
      delay = why->delay;
    } catch (const redis::Interrupted&) {  // the session ends
    }
  }
  std::ranges::sort(waits);
  if (!started.empty()) {
    texts.insert(join(started, ", ") + ": " + describe_fresh(delay) + ": no vote yet");
  }
  std::string text = texts.empty() ? "" : ": " + join({texts.begin(), texts.end()}, "; ");
  if (missing == 0 || waits.size() < missing) return text;
  return text + "; try again in " + format_duration(waits[missing - 1]);
}

// The words of each failure.
struct FailureWording {
  const std::string& subject;

  std::string operator()(const lock::TooFew& it) const {
    return "too few of the " + std::to_string(it.servers) + " servers answered, " +
           std::to_string(it.needed) + " are needed to " + describe(it.purpose) +
           reasons(it.failures, it.needed + it.failures.size() + it.silent - it.servers) +
           (it.silent > 0 ? "; " + std::to_string(it.silent) + " did not answer in time" : "");
  }

  std::string operator()(const lock::NoOwner& it) const {
    return "no owner is known to have a majority of the " + std::to_string(it.servers) +
           " servers, and some of them fail" + reasons(it.failures, 1);
  }

  std::string operator()(const lock::LostCounters& it) const {
    return std::to_string(it.servers) + " without a counter, which may have been lost";
  }

  std::string operator()(const lock::LateToken& it) const {
    return escape_for_terminal(subject) +
           ": too late: the lease ended, or the lock was deleted, before " +
           std::to_string(it.needed) + " of the " + std::to_string(it.servers) +
           " servers knew its fencing token";
  }

  std::string operator()(const lock::JustStarted& it) const {
    return subject + ": " + describe_fresh(it.delay) + ": no vote for another " +
           format_duration(time_left(it));
  }

  std::string operator()(const lock::TooFewReplicas& it) const {
    return subject + ": the lock is on " + plural(static_cast<std::size_t>(it.found), "replica") +
           ", and must be on " + std::to_string(it.needed) + ": given back";
  }

  std::string operator()(const lock::SlowAnswers& it) const {
    return subject + ": answers take longer than the lease of " + format_duration(it.lease);
  }

  std::string operator()(const lock::CutOff& /*it*/) const {
    return subject + ": restarted while it was searched";
  }

  std::string operator()(const lock::NoThread& it) const {
    return "cannot start a thread to ask " + subject + ": " + it.why;
  }
};

struct NoteWording {
  std::string operator()(const lock::Absence& it) const {
    const std::string why = sentence_of(it.why);
    return describe_server(it.server) +
           (why.find(it.url) == std::string::npos ? " (" + it.url + ")" : "") +
           " takes no part: " + why;
  }
  std::string operator()(const lock::Twins& it) const { return describe(it); }
};

}  // namespace

RefusalText describe_refused(const lock::Refused& refused) {
  return std::visit(RefusalWording{refused}, refused.why());
}

std::string sentence_of(const std::exception& error) {
  if (const auto* refused = dynamic_cast<const lock::Refused*>(&error)) {
    return describe_refused(*refused).sentence;
  }
  if (const auto* failed = dynamic_cast<const lock::Failed*>(&error)) {
    return std::visit(FailureWording{failed->subject()}, failed->why());
  }
  return error.what();
}

std::string sentence_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return sentence_of(known);
  }
}

std::vector<std::string> news_of_absentees(const Globals& globals) {
  using Which = lock::Absentees::Which;
  std::vector<std::string> lines;
  if (globals.quiet) return lines;
  for (const auto& note : globals.absentees->news(globals.verbose ? Which::all : Which::lasting)) {
    lines.push_back(std::visit(NoteWording{}, note));
  }
  return lines;
}

}  // namespace rlock::cli
