// Cluster: every command goes to the node that has the lock, whatever the cluster goes through.
// Labels: long server
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "cli/servers/cluster_fixture.hpp"
#include "support/net.hpp"
#include "support/rights.hpp"

using namespace rlock::test;
using namespace std::chrono_literals;

TEST_CASE("cluster: every command goes to the owner of the lock's slot") {
  for (std::size_t node = 0; node < 3; ++node) {
    const std::string name = cluster().name_on(node);
    CAPTURE(name);
    CHECK(invoke({"exec", name, "--", "true"}).status == 0);
    const Result acquired = invoke({"acquire", "--no-watchdog", "--lease", "60s", name});
    REQUIRE(acquired.status == 0);
    const std::string owner = acquired.out.substr(0, acquired.out.find('\n'));
    CHECK(cluster().node(node).command({"HGET", name, owner}) == "1");
    CHECK(invoke({"exec", "-n", name, "--", "true"}).status == 75);
    CHECK(invoke({"renew", "--owner", owner, name}).status == 0);
    CHECK(has(invoke({"inspect-queue", "--json", name}).out, owner));
    CHECK(has(invoke({"list", "--json"}).out, "\"" + name + "\""));
    CHECK(invoke({"unlock", "--owner", owner, name}).status == 0);
  }
  CHECK(cluster().keys().empty());
}

TEST_CASE("cluster: list and doctor look at every master") {
  Words names;
  for (std::size_t node = 0; node < 3; ++node) {
    names.push_back(cluster().name_on(node));
    REQUIRE(invoke({"acquire", "--no-watchdog", "--lease", "60s", names.back()}).status == 0);
    cluster().command(names.back(), {"PERSIST", names.back()});
  }
  std::sort(names.begin(), names.end());
  const Result listed = invoke({"list"});
  CHECK(listed.out.find(names[0]) < listed.out.find(names[1]));
  CHECK(listed.out.find(names[1]) < listed.out.find(names[2]));
  CHECK(has(listed.out, names[2]));
  const Result stuck = invoke({"doctor"});
  CHECK(stuck.status == 1);
  for (const std::string& name : names) CHECK(has(stuck.out, name + ": problem: no_expiry"));
  for (std::size_t node = 0; node < 3; ++node) {
    CHECK(has(stuck.out, "redis://127.0.0.1:" + std::to_string(cluster().node(node).port())));
  }
  CHECK(has(stuck.out, "looked at the server and 3 locks"));
  for (const std::string& name : names) {
    CHECK(invoke({"unlock", "--force", "--yes", name}).status == 0);
  }
  CHECK(invoke({"doctor"}).status == 0);
  check_nothing_left();
}

TEST_CASE("cluster: a fair queue, its eviction, and who watches it") {
  const std::string name = cluster().name_on(1);
  Holder holder(name, {"--fair", "--lease", "10m"});
  holder.wait_until_held();
  Process watch(words({"watch", "--json", name, cluster().name_on(2)}));
  watch.wait_for_stdout("\"held\"");
  Holder first(name, {"--fair"});
  const std::string queue = "redisson_lock_queue:{" + name + "}";
  REQUIRE(wait_until([&] { return cluster().command(queue, {"LLEN", queue}) == "1"; }));
  Holder second(name, {"--fair"});
  REQUIRE(wait_until([&] { return cluster().command(queue, {"LLEN", queue}) == "2"; }));
  watch.wait_for_stdout("\"queued\"");
  const std::string head = cluster().command(queue, {"LINDEX", queue, "0"});
  CHECK(invoke({"evict", name, head}).status == 0);  // it queues again, at the end
  holder.release();
  second.wait_until_held();
  watch.wait_for_stdout("\"released\"");
  second.release();
  first.wait_until_held();
  first.release();
  check_nothing_left();
}

TEST_CASE("cluster: a release is published in both ways, and either wakes") {
  const std::string name = cluster().name_on(2);
  const std::string channel = "redisson_lock__channel:{" + name + "}";
  for (const char* publish : {"PUBLISH", "SPUBLISH"}) {
    CAPTURE(publish);
    // The lease ends after the test.
    cluster().command(name, {"HSET", name, "u:1", "1"});
    cluster().command(name, {"PEXPIRE", name, "600000"});
    Holder waiter(name, {"--lease", "10m"});
    REQUIRE(come_to_wait(name));
    cluster().command(name, {"DEL", name});
    cluster().command(name, {publish, channel, "0"});
    waiter.wait_until_held();
    RespClient all = cluster().node(0).connect();
    CHECK(all.call({"SUBSCRIBE", channel}).at(0) == "subscribe");
    RespClient shard = cluster().node(2).connect();
    CHECK(shard.call({"SSUBSCRIBE", channel}).at(0) == "ssubscribe");
    waiter.release();
    // What comes next is the answer, or a message that came before.
    CHECK(wait_until([&] { return all.call({"PING"}).at(0) == "message"; }));
    CHECK(wait_until([&] { return shard.call({"PING"}).at(0) == "smessage"; }));
  }
  check_nothing_left();
}

TEST_CASE("cluster: the documented rights are enough, and a redirection is no matter of rights") {
  auto rights = documented_rights();
  Words locker = rights[0];
  for (const Words& more : {rights[1], rights[2]}) {
    locker.insert(locker.end(), more.begin(), more.end());
  }
  for (Words user : {locker, rights[3]}) {
    for (const char* more : {"+cluster|slots", "+asking", "+ping", "+ssubscribe", "+spublish",
                             "+pubsub|shardchannels"}) {
      user.emplace_back(more);
    }
    for (std::size_t i = 0; i < 6; ++i) CHECK(cluster().node(i).command(user) == "OK");
  }
  const auto as = [&](const std::string& user, Words more) {
    more.insert(more.begin(), {"--user", user});
    return run(words(more), {.env = {{"RLOCK_PASSWORD", "password"}}});
  };
  for (std::size_t node = 0; node < 3; ++node) {
    const std::string name = cluster().name_on(node);
    for (const char* kind : {"reentrant", "fair"}) {
      const Result result = as("locker", {"exec", "--kind", kind, name, "--", "true"});
      CAPTURE(result.err);
      CHECK(result.status == 0);
    }
    REQUIRE(invoke({"acquire", "--no-watchdog", "--lease", "60s", name}).status == 0);
    CHECK(has(as("looker", {"list"}).out, name));
    CHECK(has(as("looker", {"inspect-queue", name}).out, "held"));
    CHECK(as("looker", {"doctor"}).status == 0);
    CHECK(as("locker", {"unlock", "--force", "--yes", name}).status == 0);
  }
  for (std::size_t i = 0; i < 6; ++i) {
    const Words denied = cluster().node(i).list({"ACL", "LOG"});
    for (const std::string& word : denied) CAPTURE(word);
    // Whether there are notifications, watch and doctor find out by trying.
    CHECK(denied.empty());
    cluster().node(i).command({"ACL", "LOG", "RESET"});
  }
  check_nothing_left();
}

TEST_CASE(
    "cluster: readers share, and a writer is woken on each node, and a moved slot keeps both") {
  const auto waits = [](const std::string& name) {
    const std::string channel = "redisson_rwlock:{" + name + "}";
    Server& owner = cluster().node(cluster().owner(name));
    return wait_until([&] {
      return owner.list({"PUBSUB", "NUMSUB", channel}).at(1) == "1" &&
             owner.list({"PUBSUB", "SHARDNUMSUB", channel}).at(1) == "1";
    });
  };
  for (std::size_t node = 0; node < 3; ++node) {
    const std::string name = cluster().name_on(node);
    auto reader = std::make_unique<Holder>(name, Words{"-s", "--lease", "9s"});
    reader->wait_until_held();
    CHECK(invoke({"exec", "-s", "-n", name, "--", "true"}).status == 0);
    CHECK(invoke({"exec", "-x", "-n", name, "--", "true"}).status == 75);
    if (node == 0) {
      const Words fields = cluster().node(0).list({"HKEYS", name});
      const std::string owner = fields.at(fields.at(0) == "mode" ? 1 : 0);
      // The lock moves first: the key of the hold must not be made anew there.
      const Words keys = cluster().node(0).keys();
      cluster().begin_move(name, 1);
      cluster().move_keys(name, {name}, 1);
      CHECK(invoke({"renew", "--timeout", "1s", "--lease", "1s", "--owner", owner, name}).status ==
            69);
      cluster().move_keys(name, keys, 1);
      cluster().end_move(name, 1);
      REQUIRE(wait_until([&] { return cluster().owner(name) == 1; }));
      for (int i = 0; i < 2; ++i) {
        long seen = 0;
        REQUIRE(wait_until([&] { return (seen = pttl(name)) < 6500; }));
        REQUIRE(wait_until([&] { return pttl(name) > seen; }));
      }
      CHECK(invoke({"exec", "-x", "-n", name, "--", "true"}).status == 75);
    }
    // Whether the next one comes soon, by a message: else it asks again after 5 s.
    const auto wakes = [&](Holder& holder, Holder& next) {
      REQUIRE(waits(name));
      const auto start = std::chrono::steady_clock::now();
      holder.release();
      next.wait_until_held();
      return std::chrono::steady_clock::now() - start < 4s;
    };
    bool wakes_writer = false;
    bool wakes_reader = false;
    static_cast<void>(one_succeeds([&] {
      Holder writer(name, {"-x", "--lease", "10m"});
      wakes_writer = wakes(*reader, writer) || wakes_writer;
      auto next = std::make_unique<Holder>(name, Words{"-s", "--lease", "10m"});
      wakes_reader = wakes(writer, *next) || wakes_reader;
      reader = std::move(next);
      return wakes_writer && wakes_reader;
    }));
    CHECK(wakes_writer);
    CHECK(wakes_reader);
    reader->release();
    if (node == 0) cluster().move_slot(name, 0);
  }
  check_nothing_left();
}

TEST_CASE("cluster: names whose keys would lie in different slots are refused") {
  for (const char* name : {"a{b", "a}b{", "a{}b", "{", "{}x"}) {
    CAPTURE(name);
    for (const Words& command :
         {Words{"exec", name, "--", "true"}, Words{"acquire", "--no-watchdog", name},
          Words{"unlock", "--owner", "u:1", name}, Words{"inspect-queue", name}}) {
      CAPTURE(command[0]);
      check_refused(invoke(command), 64, "bad name for a cluster");
    }
  }
  for (const char* name : {"a}b", "{a}b", "x{y}z"}) {
    CAPTURE(name);
    CHECK(invoke({"exec", name, "--", "true"}).status == (std::string(name) == "a}b" ? 64 : 0));
  }
  CHECK(cluster().keys().empty());
}

TEST_CASE("cluster: what is no cluster, not there or asked in a wrong way is said in one line") {
  Server single;
  check_refused(
      run(rlock_argv("-r", "redis-cluster://127.0.0.1:" + std::to_string(single.port()), "list")),
      78, "not a node of a cluster");
  const std::string port = std::to_string(free_port());
  check_refused(run(rlock_argv("-r", "redis-cluster://127.0.0.1:" + port, "list")), 69,
                "no node answers");
  const std::string name = cluster().name_on(1);
  check_refused(run(rlock_argv("-r", cluster().node(0).tcp_url(), "exec", name, "--", "true")), 78,
                "use redis-cluster://");
  // A seed that is dead, one that hangs and one that lives.
  single.pause();
  const std::string url = "redis-cluster://127.0.0.1:" + port +
                          ",127.0.0.1:" + std::to_string(single.port()) +
                          ",127.0.0.1:" + std::to_string(cluster().node(4).port());
  CHECK(run(rlock_argv("-r", url, "exec", name, "--", "true")).status == 0);
}

TEST_CASE("cluster: a lock whose slot is being moved hides no other") {
  const std::string name = cluster().name_on(0);
  const std::string other = cluster().name_on(0);
  for (const std::string& one : {name, other}) {
    REQUIRE(invoke({"acquire", "--no-watchdog", "--lease", "10m", one}).status == 0);
  }
  cluster().begin_move(name, 1);
  cluster().move_keys(name, {"rlock_info:{" + name + "}"}, 1);
  const Result result = invoke({"--timeout", "2s", "list"});
  CAPTURE(result.err);
  CHECK(result.status == 69);
  CHECK(has(result.out, other));
  check_refused(invoke({"--timeout", "2s", "doctor"}), 69, "TRYAGAIN");
  cluster().move_keys(name, {name}, 1);
  cluster().end_move(name, 1);
  cluster().move_slot(name, 0);
  for (const std::string& one : {name, other}) {
    CHECK(invoke({"unlock", "--force", "-y", one}).status == 0);
  }
  CHECK(cluster().keys().empty());
}

TEST_CASE("cluster: a holder and a waiter survive that their slot is moved") {
  const std::string name = cluster().name_on(0);
  Holder holder(name, {"--lease", "9s"});
  holder.wait_until_held();
  Holder waiter(name, {"--lease", "10m"});
  REQUIRE(come_to_wait(name));
  cluster().begin_move(name, 1);
  // Half of the lock's keys are here and half there for longer than the lease.
  cluster().move_keys(name, {name}, 1);
  Server& target = cluster().node(1);
  for (int i = 0; i < 2; ++i) {
    long seen = 0;
    const auto ttl = [&] {
      RespClient client = target.connect();
      client.call({"ASKING"});
      return std::stol(client.call({"PTTL", name}).at(0));
    };
    REQUIRE(wait_until([&] { return (seen = ttl()) < 6300; }));
    REQUIRE(wait_until([&] { return ttl() > seen; }));
  }
  CHECK(holder.process.running());
  // Nobody is granted it meanwhile.
  check_refused(run(words({"--timeout", "5s", "exec", "-n", name, "--", "true"})), 69,
                "a slot is being moved");
  cluster().move_keys(name, {"rlock_info:{" + name + "}"}, 1);
  cluster().end_move(name, 1);
  REQUIRE(wait_until([&] { return cluster().owner(name) == 1; }));
  REQUIRE(come_to_wait(name));
  holder.release();
  waiter.wait_until_held();
  CHECK(cluster().owner(name) == 1);
  cluster().move_slot(name, 0);
  waiter.release();
  check_nothing_left();
}

TEST_CASE(
    "cluster: permits are shared and told in both ways, are kept on the move, and leave nothing") {
  const std::string name = cluster().name_on(0);
  const std::string channel = "redisson_sc:{" + name + "}";
  const std::string permits = "{" + name + "}:timeout";
  Holder first(name, {"--permits", "2", "--lease", "10m"});
  first.wait_until_held();
  Holder second(name, {"--permits", "2", "--lease", "9s"});
  second.wait_until_held();
  {  // where somebody listens, the number stays
    RespClient all = cluster().node(1).connect();
    CHECK(all.call({"SUBSCRIBE", channel}).at(0) == "subscribe");
    RespClient shard = cluster().node(0).connect();
    CHECK(shard.call({"SSUBSCRIBE", channel}).at(0) == "ssubscribe");
    first.release();
    CHECK(wait_until([&] { return all.call({"PING"}).at(0) == "message"; }));
    CHECK(wait_until([&] { return shard.call({"PING"}).at(0) == "smessage"; }));
  }
  // A renewal needs the key of the permits only.
  cluster().begin_move(name, 1);
  cluster().move_keys(name, {permits}, 1);
  Server& target = cluster().node(1);
  const auto end = [&] {
    RespClient client = target.connect();
    client.call({"ASKING"});
    return client.call({"ZRANGE", permits, "0", "-1", "WITHSCORES"});
  };
  const Words before = end();
  REQUIRE(before.size() == 2);
  CHECK(wait_until([&] { return end() != before; }));
  CHECK(second.process.running());
  cluster().move_keys(name, {name, "rlock_info:{" + name + "}"}, 1);
  cluster().end_move(name, 1);
  REQUIRE(wait_until([&] { return cluster().owner(name) == 1; }));
  second.release();
  // The last of a release, for which nobody waits, may still be on its way: it does not follow a
  // slot that moves.
  CHECK(wait_until([] { return cluster().keys().empty(); }));
  cluster().move_slot(name, 0);
}

TEST_CASE("cluster: waiters that do not queue are counted, and who watches is not") {
  const Holder holder("counted");
  REQUIRE(wait_until([] { return cluster().command("counted", {"EXISTS", "counted"}) == "1"; }));
  const Holder first("counted");
  const Holder second("counted");
  CHECK(wait_until([] {
    return has(invoke({"inspect-queue", "--json", "counted"}).out, "\"listening\":2");
  }));
  CHECK(has(invoke({"list", "--json", "counted"}).out, "\"waiter_count\":2"));
  CHECK(has(invoke({"watch", "--for", "0", "counted"}).out, ", 2 waiting"));
}
