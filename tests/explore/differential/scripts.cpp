// The scripts, with keys and arguments as src/lock sends them, on a store with locks of every kind,
// queues, semaphores, and garbage.
#include <algorithm>
#include <map>

#include "explore/differential/inputs.hpp"

namespace rlock::explore {
namespace {

const Words k_owners{
    "11111111-1111-4111-8111-111111111111:1", "22222222-2222-4222-8222-222222222222:7",
    "33333333-3333-4333-8333-333333333333:1", "44444444-4444-4444-8444-444444444444:12"};
const Words k_holds{"a1", "b2", "c3"};  // identifiers

// The names of a lock's keys, as lock/key_names.
struct Names {
  explicit Names(const std::string& name) : lock(name) {
    const bool is_braced = name[0] == '{';
    const std::string inner = is_braced ? name : "{" + name + "}";
    channel = "redisson_lock__channel:" + inner;
    read_write_channel = "redisson_rwlock:" + inner;
    semaphore_channel = "redisson_sc:" + inner;
    permits = inner + ":timeout";
    queue = "redisson_lock_queue:" + inner;
    scores = "redisson_lock_timeout:" + inner;
    token = "redisson_lock_token:" + inner;
    info = (is_braced ? "rlock_info_braced:" : "rlock_info:") + inner;
    latch_prefix = "redisson_unlock_latch:" + inner + ":";
    reader_prefix = inner + ":";
  }
  [[nodiscard]] std::string latch(const std::string& hold) const { return latch_prefix + hold; }

  std::string lock, channel, read_write_channel, semaphore_channel, permits, queue, scores, token,
      info, latch_prefix, reader_prefix;
};

Names some_names(Random& r) { return Names(r.chance(92) ? "L" : "{L}"); }

std::string number(std::int64_t value) { return std::to_string(value); }

// A moment near the clock's, in milliseconds.
std::int64_t moment(Random& r) {
  static const std::vector<std::int64_t> spans{
      0, 1, 500, 1000, 5000, 8000, 8001, 15000, 15001, 60000, 60001, 300000, 3600001, 7200000};
  const std::int64_t span = r.chance(60) ? r.pick(spans) : r.between(0, 100000);
  return k_now_ms + (r.chance(50) ? span : -span);
}

// Of readers whose holds end together, the first field of the hash would count.
std::string lease(Random& r) {
  static const std::vector<std::int64_t> leases{1, 10000, 30000, 30000, 86400000};
  return number(r.pick(leases) + (r.chance(90) ? r.between(0, 997) : 0));
}

std::string odd_owner(Random& r) {
  const std::size_t sort = r.below(40);
  if (sort == 0) return "plain text";
  if (sort == 1) return r.pick(k_owners) + ":write";
  if (sort == 2) return "\x01\x02 16 bytes \xff\xfe\xfd\x7f";  // as a permit of Redisson's
  return r.pick(k_owners);
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string list_of(Random& r, const Words& texts) {
  std::string list = "[";
  for (std::size_t i = r.below(4); i > 0; --i) list += quoted(r.pick(texts)) + (i > 1 ? "," : "");
  return list + "]";
}

// What is told of an owner.
std::string told_json(Random& r) {
  if (r.chance(6)) return odd_json(r);
  if (r.chance(3)) return odd_text(r);
  std::string json = "{";
  const auto add = [&](std::size_t percent, const char* name, const std::string& value) {
    if (r.chance(percent)) json += (json.size() > 1 ? "," : "") + quoted(name) + ":" + value;
  };
  const auto whole = [&](std::int64_t value) {
    return r.chance(88)   ? number(value)
           : r.chance(50) ? quoted(number(value))
                          : r.pick(Words{"1.5", "null", "\"x\"", "1e3", "{}"});
  };
  add(60, "kind",
      quoted(r.pick(Words{"reentrant", "fair", "simple", "read", "write", "semaphore"})));
  add(60, "host", quoted(r.pick(Words{"a.example", "h\\/x", "\xc3\xa4", "\xff"})));
  add(50, "process", quoted("1:2"));
  add(60, "since", whole(moment(r)));
  add(50, "seen", whole(moment(r)));
  add(50, "due", whole(moment(r)));
  add(40, "came", quoted(number(moment(r) * 1000 + r.between(0, 2))));
  add(20, "wait", whole(r.between(1000, 400000)));
  add(30, "token", quoted(number(k_now_ms * 1000 + r.between(-3, 3))));
  add(15, "kept", whole(moment(r)));
  add(15, "outlived", whole(moment(r)));
  add(15, "holds", whole(r.between(0, 3)));
  add(25, "entered", list_of(r, k_holds));
  add(25, "past", list_of(r, k_holds));
  add(15, "ended", list_of(r, k_holds));
  add(15, "latches", list_of(r, k_holds));
  if (r.chance(12)) {
    add(100, "peers",
        "{" + quoted(r.pick(k_owners)) + ":[" + whole(r.between(0, 400000)) + "," +
            whole(moment(r)) + "]}");
  }
  return json + "}";
}

std::string called_json(Random& r) {
  if (r.chance(10)) return told_json(r);
  std::string json = "{\"owner\":" + quoted(r.pick(k_owners)) + ",\"at\":" + number(moment(r));
  if (r.chance(50)) json += ",\"deaf\":" + list_of(r, k_owners);
  return json + "}";
}

// About to tell, as a client sends it.
std::string sent_json(Random& r) {
  if (r.chance(20)) return "";
  if (r.chance(8)) return odd_json(r);
  return "{\"command\":\"make \\\"x\\\" a/b\",\"host\":\"h" + number(r.between(1, 3)) +
         "\",\"pid\":" + number(r.between(1, 99)) + (r.chance(30) ? ",\"listens\":1}" : "}");
}

// Makes the random store, and the scripts' arguments.
class Maker {
 public:
  explicit Maker(Random& random)
      : r_(random),
        names_(some_names(random)),
        hero_(random.pick(k_owners)),
        kind_(static_cast<Kind>(random.below(5))) {}

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
  enum class Kind { plain, fair, simple, read_write, semaphore };

  // Mostly the one that the history is about.
  std::string owner() { return r_.chance(85) ? hero_ : odd_owner(r_); }

  void pass() {
    const std::int64_t ms = r_.chance(30) ? std::abs(moment(r_) - k_now_ms) : r_.between(1, 3000);
    history_.steps.push_back({Step::What::advance, "pass", {}, {}, {}, ms});
  }

  void command(const Words& words) {
    history_.steps.push_back({Step::What::command, words[0], {}, words});
  }

  void script(const char* name, const Words& keys, Words args, bool publishes = false) {
    // In a cluster, those that publish are told so.
    if (publishes && r_.chance(15)) args.emplace_back("sharded");
    history_.steps.push_back({Step::What::script, name, keys, std::move(args)});
  }

  void listen() {
    std::vector<std::string> channels{names_.channel, names_.read_write_channel,
                                      names_.semaphore_channel};
    for (const std::string& of : k_owners) channels.push_back(names_.channel + ":" + of);
    for (const std::string& name : channels) {
      if (r_.chance(30)) history_.listened.push_back(name);
      if (r_.chance(10)) history_.listened_in_shard.push_back(name);
    }
  }

  void end(const std::string& key, std::size_t percent = 80) {
    if (r_.chance(percent))
      command({"pexpire", key,
               number(r_.chance(25) ? r_.between(1, 70000) : r_.between(1, 100000000))});
  }

  void garbage(const std::string& key) {
    switch (r_.below(4)) {
      case 0:
        return command({"set", key, odd_text(r_)});
      case 1:
        return command({"hset", key, r_.chance(50) ? owner() : odd_text(r_), odd_text(r_)});
      case 2:
        return command({"rpush", key, owner()});
      default:
        return command({"zadd", key, number(moment(r_)), owner()});
    }
  }

  void make_lock(const Names& names) {
    if (r_.chance(15)) return;
    if (r_.chance(3)) return garbage(names.lock);
    switch (r_.chance(92) ? kind_ : static_cast<Kind>(r_.below(5))) {
      case Kind::plain:
      case Kind::fair:
        command({"hset", names.lock, owner(), number(r_.between(1, 3))});
        if (r_.chance(8))
          command({"hset", names.lock, owner(), r_.chance(50) ? "2" : odd_text(r_)});
        break;
      case Kind::simple:
        command({"set", names.lock, r_.chance(90) ? owner() : odd_text(r_)});
        break;
      case Kind::read_write:
        return make_read_write(names);
      case Kind::semaphore:
        return make_semaphore(names);
    }
    end(names.lock, 85);
  }

  // Whose end is last is the only reader that counts: so the ends differ.
  void make_read_write(const Names& names) {
    const bool is_read = r_.chance(60);
    command(
        {"hset", names.lock, "mode", r_.chance(95) ? is_read ? "read" : "write" : odd_text(r_)});
    if (!is_read)
      command({"hset", names.lock, (r_.chance(75) ? hero_ : r_.pick(k_owners)) + ":write",
               number(r_.between(1, 2))});
    for (const std::string& reader : k_owners) {
      if (!r_.chance(!is_read ? 15 : reader == hero_ ? 80 : 40)) continue;
      const std::int64_t holds = r_.between(r_.chance(90) ? 1 : 0, 3);
      command({"hset", names.lock, reader, r_.chance(96) ? number(holds) : odd_text(r_)});
      for (std::int64_t i = 1; i <= holds; ++i) {
        const std::string key = names.reader_prefix + reader + ":rwlock_timeout:" + number(i);
        if (r_.chance(85)) command({"set", key, "1", "px", number(r_.between(1, 90000000))});
      }
    }
    end(names.lock, 95);
  }

  void make_semaphore(const Names& names) {
    const bool is_ours = r_.chance(65);
    if (r_.chance(90))
      command({"set", names.lock, r_.chance(95) ? number(r_.between(-1, 3)) : odd_text(r_)});
    Words members = k_owners;
    members.push_back(owner());
    for (const std::string& member : members) {
      if (!r_.chance(member == hero_ ? 85 : 40)) continue;
      const std::string ends =
          r_.chance(93)
              ? number(moment(r_))
              : r_.pick(Words{"inf", "92233720368547758", "1.5", "-3", "1800000000000.5"});
      command({"zadd", names.permits, ends, member});
      if (r_.chance(50)) command({"hset", names.info, member, told_json(r_)});
    }
    if (is_ours) command({"hset", names.info, "permits", number(r_.between(1, 3))});
    if (is_ours || r_.chance(20)) {
      for (const std::string& key : {names.lock, names.permits, names.info}) end(key, 90);
    }
  }

  void make_beside(const Names& names) {
    if (r_.chance(kind_ == Kind::fair ? 85 : 15)) make_queue(names);
    if (r_.chance(4)) garbage(names.info);
    for (const std::string& of : k_owners) {
      if (r_.chance(25))
        command({"hset", names.info, r_.chance(85) ? of : of + ":write", told_json(r_)});
    }
    if (r_.chance(15)) command({"hset", names.info, "holder", owner()});
    if (r_.chance(35)) command({"hset", names.info, "called", called_json(r_)});
    end(names.info, 85);
    if (r_.chance(60)) {
      const std::int64_t near = k_now_ms * 1000 + r_.between(-2, 2);
      const Words tokens{number(near),
                         number(near + 5'000'000'000),
                         number(near - 5'000'000'000),
                         "9223372036854775807",
                         "12",
                         "-4",
                         "1799999999999999",
                         "1999999999999999999"};
      command({"set", names.token, r_.chance(92) ? r_.pick(tokens) : odd_text(r_)});
      end(names.token, 10);
    } else if (r_.chance(5)) {
      garbage(names.token);
    }
    for (const std::string& hold : k_holds) {
      if (!r_.chance(15)) continue;
      const std::string key = names.latch(hold);
      if (r_.chance(3)) {
        garbage(key);
      } else {
        command({"set", key,
                 r_.chance(55)   ? "entered"
                 : r_.chance(80) ? number(r_.between(0, 2))
                                 : odd_text(r_)});
      }
      end(key);
    }
  }

  void make_queue(const Names& names) {
    Words waiters = k_owners;
    for (std::size_t i = waiters.size(); i > 1; --i)
      std::swap(waiters[i - 1], waiters[r_.below(i)]);
    for (const std::string& waiter : waiters) {
      if (!r_.chance(60)) continue;
      if (r_.chance(93)) command({"rpush", names.queue, waiter});
      if (r_.chance(90))
        command({"zadd", names.scores,
                 r_.chance(97) ? number(moment(r_)) : r_.pick(Words{"inf", "1.5", "-7"}), waiter});
      if (r_.chance(60)) command({"hset", names.info, waiter, told_json(r_)});
    }
    if (r_.chance(3)) garbage(names.queue);
    if (r_.chance(3)) garbage(names.scores);
    for (const std::string& key : {names.queue, names.scores}) end(key, 50);
  }

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

  void call(std::size_t which) {
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
      case 9:
        return acquire("acquire_semaphore", {n.permits},
                       {number(r_.between(1, 3)), n.semaphore_channel}, false, true);
      case 10:
        return script("check_token", {n.token},
                      {r_.chance(50) ? token() : number(r_.between(0, 20)), shared()});
      case 11:
      case 12:
        return script("evict", {n.lock, n.channel, n.info, latch(), n.queue, n.scores},
                      {memory(), owner()}, true);
      case 13:
        return script("find_leftovers", {},
                      {k_all, n.latch_prefix + "*", "0", "rlock_info:*", r_.chance(80) ? "0" : "",
                       "redisson_unlock_latch:*", "0"});
      case 14: {
        Words args{k_all, r_.pick(Words{"*", "L", "?", "[{]*", "x*"}),
                   r_.pick(Words{"", "*", "L*"})};
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
      case 28: {
        Words keys{n.lock, n.channel, n.info, n.queue, n.scores};
        for (const std::string& hold : k_holds) {
          if (r_.chance(50)) keys.push_back(n.latch(hold));
        }
        return script("repair", keys,
                      {r_.chance(75) ? "repair" : "look", n.permits, n.semaphore_channel}, true);
      }
      default:
        return look();
    }
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

  Random& r_;
  Names names_;
  std::string hero_;
  Kind kind_;
  History history_;
};

}  // namespace

History random_scripts(Random& r) { return Maker(r).make(); }

}  // namespace rlock::explore
