#include "redis/url.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/words.hpp"

using rlock::Error;
using rlock::ExitStatus;
using rlock::redis::Endpoint;
using rlock::redis::HostAndPort;
using rlock::redis::parse_url;
using rlock::test::has;

namespace {

// What parse_url says against `url`.
std::string complaint(const std::string& url) {
  try {
    const Endpoint endpoint = parse_url(url);
    return "accepted as " + endpoint.display();
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::usage);
    return error.what();
  }
}

}  // namespace

TEST_CASE("a host alone is enough") {
  const Endpoint endpoint = parse_url("redis://db.example");
  CHECK(endpoint.transport == Endpoint::Transport::tcp);
  CHECK(endpoint.host == "db.example");
  CHECK(endpoint.port == 6379);
  CHECK(endpoint.database == 0);
  CHECK(endpoint.credentials.user.empty());
  CHECK(endpoint.credentials.password.empty());
  CHECK(endpoint.display() == "redis://db.example:6379");
}

TEST_CASE("every part of a redis URL arrives where it belongs") {
  const Endpoint endpoint = parse_url("redis://bob:s3cret@10.0.0.1:7000/5");
  CHECK(endpoint.host == "10.0.0.1");
  CHECK(endpoint.port == 7000);
  CHECK(endpoint.database == 5);
  CHECK(endpoint.credentials.user == "bob");
  CHECK(endpoint.credentials.password == "s3cret");
  CHECK(endpoint.display() == "redis://10.0.0.1:7000/5");
}

TEST_CASE("user and password may each be missing") {
  CHECK(parse_url("redis://:pw@h").credentials.user.empty());
  CHECK(parse_url("redis://:pw@h").credentials.password == "pw");
  CHECK(parse_url("redis://bob@h").credentials.user == "bob");
  CHECK(parse_url("redis://bob@h").credentials.password.empty());
  CHECK(parse_url("redis://bob:@h").credentials.password.empty());
  CHECK(parse_url("redis://@h").host == "h");
}

TEST_CASE("a password may hold colons, and what is percent-encoded") {
  CHECK(parse_url("redis://:a:b@h").credentials.password == "a:b");
  CHECK(parse_url("redis://:p%40s%2Fs%3F%23%25@h").credentials.password == "p@s/s?#%");
  CHECK(parse_url("redis://:a@b@h").credentials.password == "a@b");
  CHECK(parse_url("redis://b%C3%B6b:x@h").credentials.user == "b\u00f6b");
}

TEST_CASE("IPv6 addresses stand in brackets") {
  CHECK(parse_url("redis://[::1]").host == "::1");
  CHECK(parse_url("redis://[::1]").display() == "redis://[::1]:6379");
  const Endpoint endpoint = parse_url("redis://:pw@[fe80::1%25eth0]:7000/1");
  CHECK(endpoint.host == "fe80::1%eth0");
  CHECK(endpoint.port == 7000);
  CHECK(endpoint.database == 1);
  CHECK(endpoint.display() == "redis://[fe80::1%25eth0]:7000/1");
  CHECK(has(complaint("redis://::1"), "brackets"));
  CHECK(has(complaint("redis://[::1"), "'[' without ']'"));
  CHECK(has(complaint("redis://[::1]x"), "only ':port' may follow ']'"));
  CHECK(has(complaint("redis://[]"), "no host"));
}

TEST_CASE("several hosts of one URL, and a / in a password, are told as what they are") {
  for (const char* hosts : {"a,b", "a:1,b:2", "[::1],b", "u:pw@a:1,b:2/0"}) {
    CAPTURE(hosts);
    CHECK(has(complaint(std::string("redis://") + hosts), "Redlock takes a URL for each"));
  }
  CHECK(parse_url("redis://:a,b@h").credentials.password == "a,b");
  for (const char* url : {"redis://:pa/ss@h:1", "rediss://u:/@h", "redis-sentinel://:a/b@h/0#m"}) {
    CAPTURE(url);
    CHECK(has(complaint(url), "in a password, write / as %2F"));
  }
}

TEST_CASE("the scheme is not case-sensitive") {
  CHECK(parse_url("REDIS://h").host == "h");
  CHECK(parse_url("Unix:///tmp/s").path == "/tmp/s");
  CHECK(parse_url("LOCAL:").transport == Endpoint::Transport::local);
}

TEST_CASE("an empty path after the host is no database") {
  CHECK(parse_url("redis://h/").database == 0);
  CHECK(parse_url("redis://h:1/").port == 1);
}

TEST_CASE("bad ports are refused") {
  for (const char* port : {"0", "65536", "-1", "+1", "x", "", "6379x", " 6379", "99999999999999"}) {
    CAPTURE(port);
    CHECK(has(complaint("redis://h:" + std::string(port)), "the port must be a number"));
  }
  CHECK(parse_url("redis://h:65535").port == 65535);
  CHECK(parse_url("redis://h:1").port == 1);
}

TEST_CASE("bad databases are refused") {
  for (const char* database : {"x", "-1", "-0", "+1", "1/", "1x", "1000001", "9999999999999999"}) {
    CAPTURE(database);
    CHECK(has(complaint("redis://h/" + std::string(database)), "the database must be a number"));
    CHECK(has(complaint("unix:///s?db=" + std::string(database)), "the database must be a number"));
  }
  CHECK(has(complaint("unix:///s?db="), "the database must be a number"));
}

TEST_CASE("a missing host is refused") {
  for (const char* url :
       {"redis://", "redis:///1", "redis://:6379", "redis://user:pw@", "redis://user:pw@:6379/0"}) {
    CAPTURE(url);
    CHECK(has(complaint(url), "no host"));
  }
}

TEST_CASE("queries and fragments are refused, and the message helps with passwords") {
  CHECK(has(complaint("redis://h?db=1"), "%3F"));
  CHECK(has(complaint("redis://h/1#x"), "%23"));
}

TEST_CASE("bad percent-encoding is refused, also a NUL") {
  CHECK(has(complaint("redis://h%2"), "bad %-encoding in the host"));
  CHECK(has(complaint("redis://%zz:x@h"), "bad %-encoding in the user"));
  CHECK(has(complaint("redis://:x%@h"), "bad %-encoding in the password"));
  CHECK(has(complaint("unix:///a%"), "bad %-encoding in the path"));
  CHECK(has(complaint("redis://h%00.example"), "NUL in the host"));
  CHECK(has(complaint("unix:///a%00b"), "NUL in the path"));
}

TEST_CASE("a unix URL has a path and may have a database") {
  const Endpoint endpoint = parse_url("unix:///run/redis/redis.sock?db=3");
  CHECK(endpoint.transport == Endpoint::Transport::unix_socket);
  CHECK(endpoint.path == "/run/redis/redis.sock");
  CHECK(endpoint.database == 3);
  CHECK(endpoint.display() == "unix:///run/redis/redis.sock?db=3");
  CHECK(parse_url("unix:/run/s").path == "/run/s");
  CHECK(parse_url("unix:/run/s").display() == "unix:///run/s");
  CHECK(parse_url("unix:///a%20b%3Fdb=7").path == "/a b?db=7");
  CHECK(parse_url("unix:///a%20b%3Fdb=7").database == 0);
  CHECK(has(complaint("unix://"), "must start with '/'"));
  CHECK(has(complaint("unix:relative"), "must start with '/'"));
  CHECK(has(complaint("unix://host/s"), "must start with '/'"));
  CHECK(has(complaint("unix:///s?x=1"), "'?db=N'"));
  CHECK(has(complaint("unix:///s?"), "'?db=N'"));
}

TEST_CASE("a local URL may have a directory") {
  CHECK(parse_url("local:").transport == Endpoint::Transport::local);
  CHECK(parse_url("local:").path.empty());
  CHECK(parse_url("local://").path.empty());
  CHECK(parse_url("local:/var/lib/rlock").path == "/var/lib/rlock");
  CHECK(parse_url("local:///var/lib/rlock").path == "/var/lib/rlock");
  CHECK(parse_url("local:/d").display() == "local:/d");
  CHECK(parse_url("local:").display() == "local:");
  CHECK(has(complaint("local:dir"), "must start with '/'"));
}

TEST_CASE("rediss is redis with TLS") {
  const Endpoint endpoint = parse_url("rediss://u:p@h:7000/2");
  CHECK(endpoint.transport == Endpoint::Transport::tls);
  CHECK(endpoint.host == "h");
  CHECK(endpoint.port == 7000);
  CHECK(endpoint.database == 2);
  CHECK(endpoint.display() == "rediss://h:7000/2");
}

TEST_CASE("redis-sentinel names the sentinels and the master") {
  const Endpoint endpoint = parse_url("redis-sentinel://u:p%2C@a,b:7000,[::1]/3#my%20main");
  CHECK(endpoint.transport == Endpoint::Transport::sentinel);
  CHECK(endpoint.seeds == std::vector<HostAndPort>{{"a", 26379}, {"b", 7000}, {"::1", 26379}});
  CHECK(endpoint.master == "my main");
  CHECK(endpoint.database == 3);
  CHECK(endpoint.credentials.password == "p,");
  CHECK(endpoint.display() == "redis-sentinel://a:26379,b:7000,[::1]:26379/3#my%20main");
  CHECK(parse_url("redis-sentinel://a#m").database == 0);
  CHECK(parse_url("redis-sentinel://a/#m").master == "m");
  CHECK(has(complaint("redis-sentinel://a,b/0"), "the master's name is missing"));
  CHECK(has(complaint("redis-sentinel://a,a:26379#m"), "named twice"));
  CHECK(has(complaint("redis-sentinel://a,#m"), "no host"));
}

TEST_CASE("redis-cluster names some nodes, and no database") {
  const Endpoint endpoint = parse_url("redis-cluster://:p@a,b:7000");
  CHECK(endpoint.transport == Endpoint::Transport::cluster);
  CHECK(endpoint.seeds == std::vector<HostAndPort>{{"a", 6379}, {"b", 7000}});
  CHECK(endpoint.credentials.password == "p");
  CHECK(endpoint.display() == "redis-cluster://a:6379,b:7000");
  CHECK(parse_url("redis-cluster://a/").seeds.size() == 1);
  CHECK(has(complaint("redis-cluster://a/1"), "nothing may follow the hosts"));
  CHECK(has(complaint("redis-cluster://a,a"), "named twice"));
}

TEST_CASE("everything else is no URL, and the message shows how one looks") {
  for (const char* url : {"", "h", "http://h", "redis:/h", "redis:h", "//h", "redis"}) {
    CAPTURE(url);
    CHECK(has(complaint(url), "no known scheme"));
    CHECK(has(complaint(url), "redis://[user[:password]@]host[:port][/db]"));
  }
}

TEST_CASE("no message and no display repeats a password") {
  for (const char* url :
       {"redis://u:SECRET@", "redis://u:SECRET@h:x", "redis://u:SECRET@h/x", "redis://u:SECRET%@h",
        "redis://u:SEC/SECRET@h", "redis://u:SECRET?@h", "redis://u:SECRET#@h", "redis://u:SECRET",
        "redis://:SECRET@[::1", "redis://:SECRET@::1", "http://u:SECRET@h", "rediss://u:SECRET@h",
        "redis-sentinel://u:SECRET@h", "redis-cluster://u:SECRET@h", "u:SECRET@h",
        "redis://u:SECRET@h:7000/1", "redis://SECRET@h"}) {
    CAPTURE(url);
    CHECK_FALSE(has(complaint(url), "SECRET"));
  }
}

TEST_CASE("display is harmless for a terminal, and a URL for the same server") {
  for (const char* url : {"redis://h%1B%5B2J", "redis://%0A", "redis://a%2Fb%40c", "redis://a%3Ab",
                          "unix:///a%0Ab/c%20d", "unix:///a%3Fdb=1?db=2", "local:/x%1B",
                          "local:////x", "redis://[::1%25eth0]:1/2"}) {
    CAPTURE(url);
    const Endpoint endpoint = parse_url(url);
    const std::string shown = endpoint.display();
    CHECK(shown.find_first_of("\x1b\n") == std::string::npos);
    const Endpoint again = parse_url(shown);
    CHECK(again.transport == endpoint.transport);
    CHECK(again.host == endpoint.host);
    CHECK(again.port == endpoint.port);
    CHECK(again.path == endpoint.path);
    CHECK(again.database == endpoint.database);
  }
}

TEST_CASE("who leaves the scheme out is told which one may be meant, and nothing is repeated") {
  for (const auto& [text, meant] :
       std::vector<std::pair<std::string, std::string>>{{"127.0.0.1:7391", "redis://"},
                                                        {"web1:6379", "redis://"},
                                                        {"localhost", "redis://"},
                                                        {"redis.example.org", "redis://"},
                                                        {"/run/redis.sock", "unix://"}}) {
    CAPTURE(text);
    CHECK(complaint(text) == "bad server URL: put " + meant + " in front of it");
  }
  CHECK(has(complaint("redis://a redis://b"), "give each server separately"));
  for (const std::string text : {"user:secret@web1", "secret", "user:secret", "/a b", "a\x1b.b"}) {
    CAPTURE(text);
    CHECK_FALSE(has(complaint(text), "in front"));
    CHECK_FALSE(has(complaint(text), "secret"));
  }
}
