#include "redis/reply.hpp"

#include <string>

#include <doctest/doctest.h>

#include "support/words.hpp"

using namespace rlock::redis;
using rlock::ExitStatus;
using std::string_literals::operator""s;
using rlock::test::has;

namespace {

constexpr std::size_t k_limit = 4096;

Reply parse(const std::string& bytes, std::size_t limit = k_limit) {
  ReplyParser parser(limit);
  parser.feed(bytes);
  auto reply = parser.next();
  REQUIRE(reply);
  CHECK_FALSE(parser.next());
  return *reply;
}

// A reply in a form that can be compared.
std::string show(const Reply& reply) {
  switch (reply.type) {
    case Reply::Type::nil:
      return "nil";
    case Reply::Type::integer:
      return ":" + std::to_string(reply.integer);
    case Reply::Type::string:
      return "$" + reply.text;
    case Reply::Type::status:
      return "+" + reply.text;
    case Reply::Type::error:
      return "-" + reply.text;
    case Reply::Type::array:
      break;
  }
  std::string text = "[";
  for (const Reply& item : reply.items) text += (text == "[" ? "" : " ") + show(item);
  return text + "]";
}

// What the parser makes of `bytes`, which come in pieces of `size`, without strings above 4 bytes.
std::string show_short(const std::string& bytes, std::size_t size) {
  ReplyParser parser(k_limit);
  parser.skip_longer(4);
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    parser.feed(std::string_view(bytes).substr(at, size));
    while (const auto reply = parser.next()) text += show(*reply) + " ";
  }
  return text;
}

// What the parser says against `bytes`, empty if it wants more of them.
std::string complaint(const std::string& bytes, std::size_t limit = k_limit) {
  try {
    ReplyParser parser(limit);
    parser.feed(bytes);
    while (const auto reply = parser.next()) {
    }
    return "";
  } catch (const ProtocolError& error) {
    CHECK(error.status() == ExitStatus::wrong_kind);
    return error.what();
  }
}

std::string bulk(const std::string& text) {
  return "$" + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

}  // namespace

TEST_CASE("every type of RESP2 is understood") {
  CHECK(show(parse("+OK\r\n")) == "+OK");
  CHECK(show(parse("-ERR no\r\n")) == "-ERR no");
  CHECK(show(parse(":42\r\n")) == ":42");
  CHECK(show(parse(":-1\r\n")) == ":-1");
  CHECK(show(parse(":9223372036854775807\r\n")) == ":9223372036854775807");
  CHECK(show(parse("$5\r\nhello\r\n")) == "$hello");
  CHECK(show(parse("$0\r\n\r\n")) == "$");
  CHECK(show(parse("$4\r\na\r\nb\r\n")) == "$a\r\nb");
  CHECK(show(parse("$3\r\na\0b\r\n"s)) == "$a\0b"s);
  CHECK(show(parse("$-1\r\n")) == "nil");
  CHECK(show(parse("*-1\r\n")) == "nil");
  CHECK(show(parse("*0\r\n")) == "[]");
  CHECK(show(parse("*2\r\n:1\r\n$-1\r\n")) == "[:1 nil]");
}

TEST_CASE("lists may hold lists") {
  CHECK(show(parse("*3\r\n*2\r\n:1\r\n*0\r\n*1\r\n*1\r\n+x\r\n-e\r\n")) == "[[:1 []] [[+x]] -e]");
}

TEST_CASE("a stream may be cut at any byte") {
  const std::string stream =
      "*3\r\n$3\r\nfoo\r\n*2\r\n:12\r\n$-1\r\n+OK\r\n:7\r\n-ERR x\r\n" + bulk("a\r\nb");
  const std::string expected = "[$foo [:12 nil] +OK]:7-ERR x$a\r\nb";
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    CAPTURE(cut);
    ReplyParser parser(k_limit);
    std::string seen;
    for (const auto& part : {stream.substr(0, cut), stream.substr(cut)}) {
      parser.feed(part);
      while (const auto reply = parser.next()) seen += show(*reply);
    }
    CHECK(seen == expected);
  }
  ReplyParser parser(k_limit);
  std::string seen;
  for (const char byte : stream) {
    parser.feed({&byte, 1});
    while (const auto reply = parser.next()) seen += show(*reply);
  }
  CHECK(seen == expected);
}

TEST_CASE("nothing is returned before a reply is whole") {
  ReplyParser parser(k_limit);
  CHECK_FALSE(parser.next());
  parser.feed("*2\r\n:1\r\n");
  CHECK_FALSE(parser.next());
  parser.feed("");
  CHECK_FALSE(parser.next());
  parser.feed(":2\r\n");
  CHECK(parser.next());
}

TEST_CASE("a reply of more bytes than the limit is refused") {
  CHECK(complaint(bulk(std::string(100, 'x')), 200).empty());
  CHECK_FALSE(complaint(bulk(std::string(300, 'x')), 200).empty());
  CHECK_FALSE(complaint(std::string(300, '+'), 200).empty());
}

TEST_CASE("the limit counts a reply as a whole, however it arrives") {
  ReplyParser parser(10'000);
  const auto feed = [&] {
    parser.feed("*100\r\n");
    for (int i = 0; i < 100; ++i) {
      parser.feed(bulk(std::string(1500, 'x')));
      (void)parser.next();
    }
  };
  CHECK_THROWS_AS(feed(), ProtocolError);
}

TEST_CASE("the limit starts again with each reply") {
  ReplyParser parser(1000);
  for (int i = 0; i < 50; ++i) {
    parser.feed("*2\r\n" + bulk(std::string(800, 'x')) + ":1\r\n");
    CHECK(parser.next());
  }
}

TEST_CASE("a list of more elements than the limit is refused when it is announced") {
  CHECK(complaint("*4096\r\n").empty());
  CHECK(has(complaint("*4097\r\n"), "too large"));
  CHECK(has(complaint("*2147483647\r\n"), "too large"));
  CHECK_FALSE(complaint("*9223372036854775807\r\n").empty());
  // Nested lists share one limit.
  CHECK(complaint("*2\r\n*4000\r\n").empty());
  CHECK(has(complaint("*97\r\n*4000\r\n"), "too large"));
}

TEST_CASE("lists nested without end are refused") {
  std::string bytes;
  for (int i = 0; i < 1000; ++i) bytes += "*1\r\n";
  CHECK_FALSE(complaint(bytes).empty());
}

TEST_CASE("garbage is refused, and its bytes do not reach the message") {
  for (const char* bytes :
       {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\x16\x03\x01", "\x1b[2J",
        "$x\r\n", "$-2\r\n", "*-2\r\n", "*x\r\n", ":x\r\n", ":99999999999999999999\r\n", ":\r\n",
        "\r\n", "*1\r\n\x1b[2J\r\n"}) {
    CAPTURE(bytes);
    const std::string text = complaint(bytes);
    CHECK_FALSE(text.empty());
    CHECK(text.find("the server's answer makes no sense") == 0);
    CHECK_FALSE(has(text, "\x1b"));
  }
}

TEST_CASE("garbage behind a good element is called what it is") {
  CHECK_FALSE(has(complaint("*2\r\n:1\r\n?\r\n"), "too large"));
}

TEST_CASE("the types of RESP3 are refused") {
  for (const char* bytes :
       {"%1\r\n+a\r\n:1\r\n", "~1\r\n:1\r\n", ",1.5\r\n", "#t\r\n", "(123\r\n", "=5\r\ntxt:a\r\n",
        ">1\r\n:1\r\n", "!3\r\nERR\r\n", "|1\r\n+a\r\n:1\r\n"}) {
    CAPTURE(bytes);
    CHECK_FALSE(complaint(bytes).empty());
  }
}

TEST_CASE("a reply of another type than the expected one is an error, not a default") {
  CHECK(parse(":5\r\n").as_integer() == 5);
  CHECK(parse("+OK\r\n").as_text() == "OK");
  CHECK(parse("$1\r\nx\r\n").as_text() == "x");
  CHECK(parse("$1\r\nx\r\n").as_optional_text() == "x");
  CHECK_FALSE(parse("$-1\r\n").as_optional_text());
  CHECK(parse("*1\r\n:1\r\n").as_array(1).size() == 1);
  CHECK_THROWS_AS((void)parse("+5\r\n").as_integer(), ProtocolError);
  CHECK_THROWS_AS((void)parse(":5\r\n").as_text(), ProtocolError);
  CHECK_THROWS_AS((void)parse("-ERR\r\n").as_text(), ProtocolError);
  CHECK_THROWS_AS((void)parse("$-1\r\n").as_text(), ProtocolError);
  CHECK_THROWS_AS((void)parse(":5\r\n").as_optional_text(), ProtocolError);
  CHECK_THROWS_AS((void)parse("*1\r\n:1\r\n").as_array(2), ProtocolError);
  CHECK_THROWS_AS((void)parse("$-1\r\n").as_array(), ProtocolError);
}

TEST_CASE("reply: a string that is too long becomes nil, however its bytes are cut") {
  const std::string long_text =
      "$20000\r\n" + std::string(10000, '\n') + std::string(10000, '$') + "\r\n";
  const std::string bytes = "*3\r\n$4\r\n\r\n$5\r\n" + long_text + ":7\r\n" + "+a status\r\n" +
                            long_text + "$-1\r\n$0\r\n\r\n-an error\r\n";
  for (const std::size_t size : {1, 2, 3, 7, 4096, 50000}) {
    CAPTURE(size);
    CHECK(show_short(bytes, size) == "[$\r\n$5 nil :7] +a status nil nil $ -an error ");
  }
}

TEST_CASE("reply: nonsense is refused where long strings are skipped, too") {
  for (const char* bytes :
       {"$x\r\n", "$-2\r\n", "$99999999999999999999\r\n", "$3\r\nabcd\r\n", "?\r\n"}) {
    CAPTURE(bytes);
    CHECK_THROWS_AS(static_cast<void>(show_short(bytes, 1)), ProtocolError);
  }
  CHECK_THROWS_AS(static_cast<void>(show_short("+" + std::string(5000, 'x'), 100)), ProtocolError);
}
