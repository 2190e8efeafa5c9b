// The scripts, with keys and arguments as src/lock sends them, on a store with locks of every kind,
// queues, semaphores, and garbage.
#include <utility>

#include "explore/differential/inputs.hpp"
#include "explore/differential/store_maker.hpp"

namespace rlock::explore {
namespace {

// Makes the scripts' arguments, besides.
class Maker : StoreMaker {
 public:
  explicit Maker(Random& random) : StoreMaker(random) {}

  History make() {
    listen();
    if (r_.chance(93)) {
      make_lock(names_);
      make_beside(names_);
    }
    if (r_.chance(12)) {
      const Names twin(names_.lock == "L" ? "{L}" : "L");
      make_lock(twin);
      if (r_.chance(40)) make_beside(twin);
    }
    const std::size_t calls = 1 + r_.below(5);
    for (std::size_t i = 0; i < calls; ++i) {
      const bool is_fitting = r_.chance(75);
      while (true) {
        const std::size_t which = r_.below(k_calls);
        if (is_fitting && !fits(which)) continue;
        call(which);
        break;
      }
      if (r_.chance(10)) history_.steps.push_back(history_.steps.back());  // sent again
      if (r_.chance(25)) pass();
    }
    return std::move(history_);
  }

 private:
  std::string latch() { return names_.latch(r_.pick(k_holds)); }
  std::string span() { return r_.chance(40) ? "0" : lease(r_); }
  std::string memory() { return r_.pick(Words{"92000", "60000", "1000"}); }
  std::string token() { return number(k_now_ms * 1000 + r_.between(-3, 3)); }
  std::string standing() {
    return r_.pick(Words{"granted", "granted", "granted", "nested", "unproven", "reentered"});
  }
  std::string shared() { return r_.chance(30) ? "1" : "0"; }
  std::string side() { return r_.chance(50) ? "read" : "write"; }

  std::string delay() {
    return r_.chance(70) ? "" : r_.pick(Words{"5000", "999999000", "999999001", "2000000000"});
  }

  void acquire(const char* name, const Words& more_keys, const Words& more, bool can_fence,
               bool publishes = false) {
    const std::string fence = can_fence ? r_.pick(Words{"off", "draw", "draw", "peek"}) : "off";
    Words keys{names_.lock, names_.info, latch()};
    keys.insert(keys.end(), more_keys.begin(), more_keys.end());
    if (fence != "off") keys.push_back(names_.token);
    Words args{lease(r_), owner(), sent_json(r_)};
    if (can_fence) args.push_back(fence);
    args.insert(args.end(), more.begin(), more.end());
    script(name, keys, args, publishes);
  }

  // With a token or without.
  void reenter(const char* name, Words keys, const Words& more) {
    const std::string fence = r_.pick(Words{"off", "draw", "noted"});
    if (fence != "off") keys.push_back(names_.token);
    Words args{lease(r_), owner(), memory(), fence};
    args.insert(args.end(), more.begin(), more.end());
    script(name, keys, args);
  }

  Words with_owners(Words args) {
    for (const std::string& of : k_owners) {
      if (r_.chance(70)) args.push_back(of);
      if (r_.chance(40)) args.push_back(of + ":write");
    }
    return args;
  }

  static constexpr std::size_t k_calls = 30;
  // Keys that a step of a search looks at: so every search ends in one step, on the model as well.
  static constexpr const char* k_all = "100000";

  // Whether a call is one for locks of this kind.
  bool fits(std::size_t which) const {
    switch (kind_) {
      case Kind::plain:
        return which <= 1 || which == 18 || which == 19 || which == 22 || which == 26;
      case Kind::fair:
        return (which >= 2 && which <= 5) || which == 11 || which == 12 || which == 15 ||
               which == 19 || which == 22 || which == 23 || which == 26 || which == 27;
      case Kind::simple:
        return which == 6 || which == 15 || which == 18 || which == 19 || which == 22 ||
               which == 26;
      case Kind::read_write:
        return which == 7 || which == 8 || which == 15 || which == 20 || which == 24 || which == 26;
      case Kind::semaphore:
        return which == 9 || which == 16 || which == 21 || which == 25 || which == 26 ||
               which == 28;
    }
    return false;
  }

  void take(std::size_t which) {
    const Names& n = names_;
    switch (which) {
      case 0:
      case 1:
        return acquire("acquire", {n.queue}, {delay()}, true);
      case 2:
      case 3:
      case 4:
      case 5:
        return acquire("acquire_fair", {n.queue, n.scores},
                       {n.channel, r_.pick(Words{"0", "15000", "5000", "300000"})}, true, true);
      case 6:
        return acquire("acquire_simple", {}, {delay(), shared(), n.permits}, true);
      case 7:
        return acquire("acquire_read", {}, {n.reader_prefix}, false);
      case 8:
        return acquire("acquire_write", {}, {n.reader_prefix}, true);
      default:
        return acquire("acquire_semaphore", {n.permits},
                       {number(r_.between(1, 3)), n.semaphore_channel}, false, true);
    }
  }

  void call(std::size_t which) {
    if (which <= 9) return take(which);
    const Names& n = names_;
    switch (which) {
      case 10:
        return script("check_token", {n.token},
                      {r_.chance(50) ? token() : number(r_.between(0, 20))});
      case 11:
        return script("evict_dead", {n.lock, n.channel, n.info, latch(), n.queue, n.scores},
                      {memory(), number(r_.between(0, 2)), "", owner()}, true);
      case 12:
        return script("evict", {n.lock, n.channel, n.info, latch(), n.queue, n.scores},
                      {memory(), owner()}, true);
      case 13:
        return script("find_leftovers", {},
                      {k_all, n.latch_prefix + "*", "0", "rlock_info:*", r_.chance(80) ? "0" : "",
                       "redisson_unlock_latch:*", "0"});
      case 14: {
        Words args{k_all, r_.pick(Words{"*", "L", "?", "[{]*", "x*"}),
                   r_.pick(Words{"", "*", "L*"}), r_.chance(50) ? "1" : "0"};
        if (r_.chance(20)) args.insert(args.end(), {"0", "", "0", ""});
        return script("find_locks", {}, args);
      }
      case 15: {
        const Words args{memory(), n.reader_prefix, n.semaphore_channel,
                         r_.chance(kind_ == Kind::simple ? 80 : 5) ? "simple" : "lock",
                         r_.chance(25) ? "look" : "only"};
        return script("force_release",
                      {n.lock, n.channel, n.info, latch(), n.queue, n.scores, n.read_write_channel},
                      with_owners(args), true);
      }
      case 16:
        return script("force_release_semaphore", {n.lock, n.info, latch(), n.permits},
                      with_owners({memory(), n.semaphore_channel, r_.chance(25) ? "look" : "only"}),
                      true);
      case 17:
        return script("held_kind", {n.lock}, {owner(), n.permits});
      case 18:
        return script("raise_token", {n.lock, n.info, n.token}, {owner(), token()});
      case 19:
        return reenter("reenter", {n.lock, latch(), n.info}, {});
      case 20:
        return reenter("reenter_read_write", {n.lock, latch(), n.info}, {n.reader_prefix, side()});
      case 21:
        return script("reenter_semaphore", {n.lock, latch(), n.info, n.permits},
                      {lease(r_), owner(), memory()});
      case 22:
      case 23:
        return script("release", {n.lock, n.channel, n.info, latch(), n.queue, n.scores},
                      {owner(), memory(), span(), r_.pick(Words{"0", "15000", "5000", "300000"}),
                       standing(), shared(), shared()},
                      true);
      case 24:
        return script("release_read_write", {n.lock, n.read_write_channel, n.info, latch()},
                      {owner(), memory(), span(), n.reader_prefix, standing(), side(), shared()},
                      true);
      case 25:
        return script("release_semaphore", {n.lock, n.info, latch(), n.permits},
                      {owner(), memory(), span(), standing(), n.semaphore_channel, shared()}, true);
      case 26:
        return renew();
      case 27:
      case 28:
        return repair();
      default:
        return look();
    }
  }

  void repair() {
    const Names& n = names_;
    if (r_.chance(50)) {
      return script("repair_queue", {n.lock, n.channel, n.info, n.queue, n.scores},
                    {r_.chance(75) ? "repair" : "look", r_.pick(Words{"0", "0", "1", "2"})}, true);
    }
    Words keys{n.lock, n.channel, n.info, n.queue, n.scores};
    for (const std::string& hold : k_holds) {
      if (r_.chance(50)) keys.push_back(n.latch(hold));
    }
    return script(
        "repair", keys,
        with_owners({r_.chance(75) ? "repair" : "look", n.token, n.permits, n.semaphore_channel}),
        true);
  }

  void renew() {
    const Names& n = names_;
    const Kind kind = r_.chance(85) ? kind_ : static_cast<Kind>(r_.below(5));
    switch (kind) {
      case Kind::plain:
      case Kind::fair:
      case Kind::simple:
        return script("renew", {n.lock}, {span(), owner(), n.info, r_.chance(50) ? "" : latch()});
      case Kind::read_write:
        return script("renew_read_write", {n.lock},
                      {span(), owner(), n.info, n.reader_prefix, side()}, true);
      case Kind::semaphore:
        return script("renew_semaphore", {n.permits}, {span(), owner(), n.info, n.lock});
    }
  }

  void look() {
    const Names& n = names_;
    if (r_.chance(30))
      return script("rights", {},
                    {n.channel, n.read_write_channel, n.semaphore_channel, n.lock, n.token, n.info,
                     n.queue, n.scores, n.latch("doctor")});
    script("snapshot", {n.lock, n.info, n.queue, n.scores, n.token},
           {n.channel, n.reader_prefix, r_.pick(Words{"2000", "-1", "0", "2"}), n.permits,
            n.read_write_channel, n.semaphore_channel, r_.chance(15) ? "1" : "0"});
  }
};

}  // namespace

History random_scripts(Random& r) { return Maker(r).make(); }

}  // namespace rlock::explore
