// inspect-queue on a terminal.
#include <algorithm>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/pty.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

const std::string k_uuid = "8f0dd3a5-6f4a-4a53-9f0e-2d51c4a1b0a";

// What a terminal of so many columns gets.
std::string screen(const Server& server, const std::string& name, unsigned short columns) {
  Pty pty(rlock_argv("inspect-queue", "-v", "-r", server.unix_url(), name), {.columns = columns});
  const auto result = pty.wait();
  CHECK(result.status == 0);
  return result.out;
}

// The columns of the widest line; what the tests have there is ASCII, but for "…". A hint is a
// command that stays whole, to be pasted.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::size_t width = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      if (!text.substr(start).starts_with("    hint: ")) widest = std::max(widest, width);
      start = i + 1;
      width = 0;
    } else if (c != '\r' && (static_cast<unsigned char>(c) & 0xC0U) != 0x80) {
      ++width;
    }
  }
  return widest;
}

void make_queue(const Server& server, const std::string& name, const std::string& host) {
  server.command({"HSET", name, k_uuid + "1:4711", "1"});
  server.command({"PEXPIRE", name, "600000"});
  const std::string now = server.list({"TIME"}).at(0) + "000";
  const auto tell = [&](const std::string& owner) {
    server.command({"HSET", "rlock_info:{" + name + "}", owner,
                    "{\"host\":\"" + host + "\",\"pid\":4711,\"user\":\"" + host +
                        "\",\"command\":\"backup.sh\",\"kind\":\"fair\",\"since\":" + now +
                        ",\"due\":9e15}"});
  };
  tell(k_uuid + "1:4711");
  for (const char* number : {"2:12", "3:77"}) {
    tell(k_uuid + number);
    server.command({"RPUSH", "redisson_lock_queue:{" + name + "}", k_uuid + number});
    server.command({"ZADD", "redisson_lock_timeout:{" + name + "}", now, k_uuid + number});
  }
  server.command({"ZADD", "redisson_lock_timeout:{" + name + "}", "1", "nobody"});
}

}  // namespace

TEST_CASE("inspect-queue fits a terminal of 80 columns, every owner whole") {
  Server server;
  make_queue(server, "job", "web12.a-long-name.example.org");
  const std::string text = screen(server, "job", 80);
  CAPTURE(text);
  CHECK(widest_line(text) <= 80);
  CHECK(has(text, "job: held (fair), expires in 9m"));
  CHECK(has(text, "\r\n    owner " + k_uuid + "1:4711\r\n"));
  CHECK(has(text, "\r\n    owner " + k_uuid + "3:77\r\n"));
  CHECK(has(text, "\r\n#  HOST "));
  CHECK(has(text, "  STATE\r\n"));
  CHECK(has(text, "  alive\r\n"));
  CHECK(has(text, "…"));
  CHECK(has(text, "  score_without_member: "));
}

TEST_CASE("inspect-queue has all in one line on a terminal of 200 columns") {
  Server server;
  make_queue(server, "job", "web12.a-long-name.example.org");
  const std::string text = screen(server, "job", 200);
  CAPTURE(text);
  CHECK(widest_line(text) <= 200);
  CHECK(has(text, "  alive  " + k_uuid + "3:77\r\n"));
  CHECK_FALSE(has(text, "…"));
}

TEST_CASE("inspect-queue cuts nothing on a pipe") {
  Server server;
  make_queue(server, "job", std::string(300, 'h'));
  const Result result = run(rlock_argv("inspect-queue", "-r", server.unix_url(), "job"),
                            {.env = {{"COLUMNS", "40"}}});
  CHECK(has(result.out, std::string(300, 'h') + "  4711  backup.sh"));
}

TEST_CASE("no name, field or host can touch the terminal that inspect-queue writes to") {
  Server server;
  const std::string evil = "a\x1b[2J\x1b]0;x\x07\n\xc2\x9b";
  make_queue(server, evil, "\\u001b[2J\\u009b\\n");
  server.command({"HSET", evil, evil, evil});
  for (const std::size_t columns : {80U, 200U}) {
    const std::string text = screen(server, evil, static_cast<unsigned short>(columns));
    CAPTURE(text);
    CHECK(widest_line(text) <= columns);
    CHECK(has(text, "\\x1b[2J"));
    CHECK(text.find_first_of("\x1b\x07") == std::string::npos);
    CHECK_FALSE(has(text, "\xc2\x9b"));
  }
}
