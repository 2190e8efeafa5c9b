// rlock __complete: prints the names that the completions of shells offer. No help text mentions
// it. It reports no errors, and stops early enough not to annoy a user.

#include <memory>
#include <set>
#include <sys/stat.h>

#include "base/fd.hpp"
#include "base/glob.hpp"
#include "cli/commands/commands.hpp"
#include "cli/settings/settings.hpp"
#include "lock/inspection/lock_scan.hpp"
#include "lock/inspection/snapshot.hpp"
#include "redis/local_server.hpp"
#include "redis/masters.hpp"
#include "redis/server_error.hpp"

namespace rlock::cli {
namespace {

constexpr Milliseconds k_bound{300};  // for everything together
constexpr std::size_t k_most = 1000;

struct CompleteOptions {
  std::string what;  // names, holders or waiters
  std::string start;
  std::string lock;  // the lock of the holders or waiters; empty: any lock
};

class Offers {
 public:
  explicit Offers(const CompleteOptions& options) : options_(options) {}

  // What has been found stays also when this throws.
  void look(redis::Client& client) {
    if (options_.what != "names" && !options_.lock.empty()) {
      add(lock::take_snapshot(client, options_.lock));
      return;
    }
    redis::Masters masters(client);
    const bool is_name = options_.what == "names";
    masters.for_each([&](redis::Client& master) {
      lock::LockScan scan(master, {is_name ? literal_glob(options_.start) + "*" : "*", ""});
      while (!scan.is_done() && found_.size() < k_most) {
        const std::vector<std::string> names = scan.next();
        if (!is_name) {
          lock::take_snapshots(client, names, [this](const auto& snapshot) {
            if (snapshot) add(*snapshot);
          });
          continue;
        }
        for (const std::string& name : names) add(name);
      }
    });
  }

  // Returns them, each with a NUL after it: no name that can be typed has one.
  [[nodiscard]] std::string text() const {
    std::string text;
    for (const std::string& offer : found_) (text += offer) += '\0';
    return text;
  }

 private:
  void add(const std::string& offer) {
    if (found_.size() < k_most && !offer.empty() && offer.starts_with(options_.start) &&
        offer.find('\0') == std::string::npos) {
      found_.insert(offer);
    }
  }

  void add(const lock::Snapshot& snapshot) {
    if (snapshot.ambiguity != lock::Ambiguity::none) return;  // it may be no owner
    if (options_.what == "holders") {
      for (const lock::Holder& holder : snapshot.holders) add(holder.owner);
    } else {
      for (const lock::Waiter& waiter : snapshot.waiters) add(waiter.owner);
    }
  }

  const CompleteOptions& options_;
  std::set<std::string> found_;
};

// Returns whether the password can be read without taking it away from somebody, as from a pipe.
bool is_password_repeatable(const Globals& globals) {
  const std::string file = globals.settings().get("password-file").value;
  struct stat status {};
  return file.empty() || (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode));
}

int run_complete(Globals globals, const CompleteOptions& options) {
  globals.quiet = true;
  Alarm alarm;
  alarm.set(after(BootClock::now(), k_bound));
  Offers offers(options);
  try {
    if (!is_password_repeatable(globals)) return 0;
    auto servers = globals.clients_options();
    for (redis::ClientOptions& server : servers) {
      // Of a cluster, one that hangs leaves time for the others.
      server.timeout = k_bound / 2 / static_cast<int>(servers.size());
      server.wake_fd = alarm.fd();
      redis::Endpoint& endpoint = server.endpoint;
      if (endpoint.transport == redis::Endpoint::Transport::local) {  // none is started for this
        endpoint.transport = redis::Endpoint::Transport::unix_socket;
        endpoint.path = redis::local_socket(endpoint.path);
      }
      try {
        redis::Client client(server);
        offers.look(client);
      } catch (const Error&) {  // perhaps the next one
      }
    }
  } catch (const Error&) {  // what was found is better than nothing
  } catch (const redis::Interrupted&) {
  }
  print(offers.text());
  return 0;
}

}  // namespace

Action set_up_complete(OptionSet command, const Invocation& invocation) {
  const auto options = std::make_shared<CompleteOptions>();
  command.set_usage("rlock __complete names|holders|waiters -- START [NAME]");
  command.add_argument("WHAT", &options->what);
  command.add_argument("START", &options->start);
  command.add_argument("NAME", &options->lock, "", OptionSet::Need::optional);
  return [&invocation, options] { return run_complete(invocation.globals, *options); };
}

}  // namespace rlock::cli
