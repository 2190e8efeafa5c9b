#include "explore/differential/store_maker.hpp"

#include <cstdlib>
#include <utility>

namespace rlock::explore {

std::string StoreMaker::owner() { return r_.chance(85) ? hero_ : odd_owner(r_); }

void StoreMaker::pass() {
  const std::int64_t ms = r_.chance(30) ? std::abs(moment(r_) - k_now_ms) : r_.between(1, 3000);
  history_.steps.push_back({Step::What::advance, "pass", {}, {}, {}, ms});
}

void StoreMaker::command(const Words& words) {
  history_.steps.push_back({Step::What::command, words[0], {}, words});
}

void StoreMaker::script(const char* name, const Words& keys, Words args, bool publishes) {
  // In a cluster, those that publish are told so.
  if (publishes && r_.chance(15)) args.emplace_back("sharded");
  history_.steps.push_back({Step::What::script, name, keys, std::move(args)});
}

void StoreMaker::listen() {
  std::vector<std::string> channels{names_.channel, names_.read_write_channel,
                                    names_.semaphore_channel};
  for (const std::string& of : k_owners) channels.push_back(names_.channel + ":" + of);
  for (const std::string& name : channels) {
    if (r_.chance(30)) history_.listened.push_back(name);
    if (r_.chance(10)) history_.listened_in_shard.push_back(name);
  }
}

void StoreMaker::end(const std::string& key, std::size_t percent) {
  if (r_.chance(percent))
    command(
        {"pexpire", key, number(r_.chance(25) ? r_.between(1, 70000) : r_.between(1, 100000000))});
}

void StoreMaker::garbage(const std::string& key) {
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

void StoreMaker::make_lock(const Names& names) {
  if (r_.chance(15)) return;
  if (r_.chance(3)) return garbage(names.lock);
  switch (r_.chance(92) ? kind_ : static_cast<Kind>(r_.below(5))) {
    case Kind::plain:
    case Kind::fair:
      command({"hset", names.lock, owner(), number(r_.between(1, 3))});
      if (r_.chance(8)) command({"hset", names.lock, owner(), r_.chance(50) ? "2" : odd_text(r_)});
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

void StoreMaker::make_read_write(const Names& names) {
  const bool is_read = r_.chance(60);
  command({"hset", names.lock, "mode", r_.chance(95) ? is_read ? "read" : "write" : odd_text(r_)});
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

void StoreMaker::make_semaphore(const Names& names) {
  const bool is_ours = r_.chance(65);
  if (r_.chance(90))
    command({"set", names.lock, r_.chance(95) ? number(r_.between(-1, 3)) : odd_text(r_)});
  Words members = k_owners;
  members.push_back(owner());
  for (const std::string& member : members) {
    if (!r_.chance(member == hero_ ? 85 : 40)) continue;
    const std::string ends =
        r_.chance(93) ? number(moment(r_))
                      : r_.pick(Words{"inf", "92233720368547758", "1.5", "-3", "1800000000000.5"});
    command({"zadd", names.permits, ends, member});
    if (r_.chance(50)) command({"hset", names.info, member, told_json(r_)});
  }
  if (is_ours) command({"hset", names.info, "permits", number(r_.between(1, 3))});
  if (is_ours || r_.chance(20)) {
    for (const std::string& key : {names.lock, names.permits, names.info}) end(key, 90);
  }
}

void StoreMaker::make_beside(const Names& names) {
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

void StoreMaker::make_queue(const Names& names) {
  Words waiters = k_owners;
  for (std::size_t i = waiters.size(); i > 1; --i) std::swap(waiters[i - 1], waiters[r_.below(i)]);
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

}  // namespace rlock::explore
