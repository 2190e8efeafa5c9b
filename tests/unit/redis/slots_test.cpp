// Slots of a cluster, by the cluster specification's own examples, and what its nodes say of them.
#include "redis/slots.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace rlock::redis;

namespace {

Reply text(const std::string& value) {
  Reply reply;
  reply.type = Reply::Type::string;
  reply.text = value;
  return reply;
}

Reply number(std::int64_t value) {
  Reply reply;
  reply.type = Reply::Type::integer;
  reply.integer = value;
  return reply;
}

Reply array(std::vector<Reply> items) {
  Reply reply;
  reply.type = Reply::Type::array;
  reply.items = std::move(items);
  return reply;
}

Reply node(const Reply& host, std::int64_t port) { return array({host, number(port), text("id")}); }

const HostAndPort k_asked{"asked", 7000};

}  // namespace

TEST_CASE("slot_of: the CRC16 of the key, or of its hash tag") {
  CHECK(slot_of("123456789") == 12739);
  CHECK(slot_of("foo") == 12182);
  CHECK(slot_of("") == 0);
  CHECK(slot_of("{user1000}.following") == slot_of("{user1000}.followers"));
  CHECK(slot_of("redisson_lock__channel:{job}") == slot_of("job"));
  CHECK(slot_of("foo{}{bar}") == slot_of("foo{}{bar}"));
  CHECK(slot_of("foo{}{bar}") != slot_of("bar"));
  CHECK(slot_of("foo{{bar}}zap") == slot_of("{bar"));
  CHECK(slot_of("foo{bar}{zap}") == slot_of("bar"));
  CHECK(slot_of("a{b") != slot_of("b"));
}

TEST_CASE("SlotMap: owners, replicas, and nodes that do not tell their host") {
  SlotMap map(array({array({number(0), number(99), node(text("h1"), 1), node(text("h2"), 2)}),
                     array({number(100), number(100), node(Reply{}, 3)}),
                     array({number(16383), number(16383), node(text(""), 3)})}),
              k_asked);
  CHECK(map.owner(0) == HostAndPort{"h1", 1});
  CHECK(map.owner(99) == HostAndPort{"h1", 1});
  CHECK(map.owner(100) == HostAndPort{"asked", 3});
  CHECK(map.owner(16383) == HostAndPort{"asked", 3});
  CHECK_FALSE(map.owner(101));
  CHECK(map.nodes().size() == 3);
  CHECK(map.masters().size() == 2);
  map.move(101, {"h4", 4});
  CHECK(map.owner(101) == HostAndPort{"h4", 4});
  CHECK(map.masters().size() == 3);
  CHECK_FALSE(SlotMap().owner(5));
}

TEST_CASE("SlotMap: nonsense is refused") {
  for (const auto& [first, last, port] : {std::tuple{-1, 5, 1}, std::tuple{0, 16384, 1},
                                          std::tuple{0, 5, 0}, std::tuple{0, 5, 65536}}) {
    CHECK_THROWS_AS(
        SlotMap(array({array({number(first), number(last), node(text("h"), port)})}), k_asked),
        ProtocolError);
  }
  CHECK_THROWS_AS(SlotMap(array({array({number(0), number(5)})}), k_asked), ProtocolError);
}

TEST_CASE("parse_redirect: where MOVED and ASK send") {
  const Redirect moved = parse_redirect("MOVED 3999 10.0.0.1:6381", k_asked);
  CHECK(moved.slot == 3999);
  CHECK(moved.node == HostAndPort{"10.0.0.1", 6381});
  CHECK(parse_redirect("ASK 1 ::1:6381", k_asked).node == HostAndPort{"::1", 6381});
  CHECK(parse_redirect("MOVED 1 :6381", k_asked).node == HostAndPort{"asked", 6381});
  for (const char* bad : {"MOVED", "MOVED 1", "MOVED 1 h", "MOVED x h:1", "MOVED 16384 h:1",
                          "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 h:x"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(static_cast<void>(parse_redirect(bad, k_asked)), ProtocolError);
  }
}
