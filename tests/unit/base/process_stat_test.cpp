#include "base/process_stat.hpp"

#include <string>
#include <unistd.h>

#include <doctest/doctest.h>

using rlock::parse_process_stat;
using rlock::read_process_stat;

namespace {

// From Linux 6.1, with another name of the program.
const std::string k_rest =
    " S 11 12 13 34816 40 4194368 5 0 0 0 0 0 0 0 20 0 1 0 98765 8 9 18446744073709551615 1 1\n";

}  // namespace

TEST_CASE("process_stat: what a program is called does not move the other fields") {
  for (const std::string name : {"sh", "a b", ") Z 1 (", "", "two\nlines"}) {
    const auto stat = parse_process_stat("77 (" + name + ")" + k_rest);
    REQUIRE(stat.has_value());
    CHECK(stat->pid == 77);
    CHECK(stat->name == name);
    CHECK(stat->state == 'S');
    CHECK(stat->parent == 11);
    CHECK(stat->group == 12);
    CHECK(stat->session == 13);
    CHECK(stat->has_only_forked());
    CHECK(stat->start == 98765);
    CHECK_FALSE(stat->is_dead());
  }
}

TEST_CASE("process_stat: a process with threads that work is not dead, whatever its state") {
  std::string rest = k_rest;
  rest[1] = 'Z';
  CHECK(parse_process_stat("77 (sh)" + rest)->is_dead());
  rest.replace(rest.find(" 20 0 1 "), 8, " 20 0 2 ");
  CHECK_FALSE(parse_process_stat("77 (sh)" + rest)->is_dead());
}

TEST_CASE("process_stat: a line that is cut off is none") {
  const std::string line = "77 (sh)" + k_rest;
  for (const std::size_t size : {0U, 2U, 5U, 7U, 10U, 30U, 60U}) {
    CHECK_FALSE(parse_process_stat(line.substr(0, size)).has_value());
  }
}

TEST_CASE("process_stat: this process, and none") {
  const auto self = read_process_stat(::getpid());
  REQUIRE(self.has_value());
  CHECK(self->parent == ::getppid());
  CHECK(self->group == ::getpgrp());
  CHECK(self->session == ::getsid(0));
  CHECK_FALSE(self->has_only_forked());
  CHECK_FALSE(read_process_stat(0).has_value());
}
