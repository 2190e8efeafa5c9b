#include "base/duration.hpp"

#include <doctest/doctest.h>

using rlock::format_duration;
using rlock::Milliseconds;
using rlock::parse_duration;

TEST_CASE("parse_duration understands the units of the manual") {
  CHECK(parse_duration("500ms") == Milliseconds(500));
  CHECK(parse_duration("30s") == Milliseconds(30'000));
  CHECK(parse_duration("5m") == Milliseconds(300'000));
  CHECK(parse_duration("1h") == Milliseconds(3'600'000));
  CHECK(parse_duration("1d") == Milliseconds(86'400'000));
  CHECK(parse_duration("1.5s") == Milliseconds(1500));
  CHECK(parse_duration(".5s") == Milliseconds(500));
  CHECK(parse_duration(".1") == Milliseconds(100));
  CHECK(parse_duration("0") == Milliseconds(0));
  CHECK(parse_duration("2") == Milliseconds(2000));
}

TEST_CASE("parse_duration understands the usual names of the units") {
  for (const char* text : {"2w",
                           "2week",
                           "2weeks",
                           "14d",
                           "14day",
                           "14days",
                           "336h",
                           "336hr",
                           "336hrs",
                           "336hour",
                           "336hours",
                           "20160m",
                           "20160min",
                           "20160mins",
                           "20160minute",
                           "20160minutes",
                           "1209600s",
                           "1209600sec",
                           "1209600secs",
                           "1209600second",
                           "1209600seconds",
                           "1209600000ms",
                           "1209600000msec",
                           "1209600000msecs",
                           "1209600000millis",
                           "1209600000millisecond",
                           "1209600000milliseconds"}) {
    CAPTURE(text);
    CHECK(parse_duration(text) == Milliseconds(std::chrono::hours(14 * 24)));
  }
  CHECK(parse_duration("1.5w") == Milliseconds(907'200'000));
}

TEST_CASE("parse_duration understands several units, the largest first") {
  CHECK(parse_duration("1h04m") == Milliseconds(3'840'000));
  CHECK(parse_duration("6m38s") == Milliseconds(398'000));
  CHECK(parse_duration("4d03h") == Milliseconds(356'400'000));
  CHECK(parse_duration("1w2days3hours4min5.5s6ms") == Milliseconds(788'645'506));
  for (const char* text : {"1m2h", "5m5m", "5m5min", "1h30", "1h 30m", "1h,30m", "h30m", "1h30m ",
                           "1h-30m", "1h..5m", "99y", "876000h1ms"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("parse_duration understands what format_duration shows") {
  for (const long long span :
       {0LL, 1LL, 999LL, 1000LL, 59'000LL, 60'000LL, 398'000LL, 3'599'000LL, 3'600'000LL,
        3'840'000LL, 86'340'000LL, 86'400'000LL, 356'400'000LL, 3'153'600'000'000LL}) {
    CHECK(parse_duration(format_duration(Milliseconds(span))) == Milliseconds(span));
  }
}

TEST_CASE("parse_duration is exact, and rounds up what is finer than a millisecond") {
  CHECK(parse_duration("0.0001s") == Milliseconds(1));
  CHECK(parse_duration("0.00000000001s") == Milliseconds(1));
  CHECK(parse_duration("1.0001ms") == Milliseconds(2));
  CHECK(parse_duration("0.1s") == Milliseconds(100));
  CHECK(parse_duration("0.29s") == Milliseconds(290));
  CHECK(parse_duration("0.001h") == Milliseconds(3600));
  CHECK(parse_duration("007s") == Milliseconds(7000));
}

TEST_CASE("a duration has at most 100 years") {
  CHECK(parse_duration("876000h") == Milliseconds(std::chrono::hours(876'000)));
  for (const char* text : {"876000.000001h", "876001h", "3153600000001ms", "18446744073709551615",
                           "18446744073709551616ms", "99999999999999999999999999s"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("parse_duration refuses everything else") {
  for (const char* text : {"", "s", "ms", "-1s", "+1s", "1e3s", "1 s", "1S", "1M", "0x10", "inf",
                           "nan", "1.2.3s", "1.", ".", ".s", "1.-5s", " 1s", "1s "}) {
    CAPTURE(text);
    CHECK_FALSE(parse_duration(text));
  }
}

TEST_CASE("format_duration shows the two largest units") {
  CHECK(format_duration(Milliseconds(850)) == "850ms");
  CHECK(format_duration(Milliseconds(12'300)) == "12s");
  CHECK(format_duration(Milliseconds(200'000)) == "3m20s");
  CHECK(format_duration(Milliseconds(7'500'000)) == "2h05m");
  CHECK(format_duration(Milliseconds(356'400'000)) == "4d03h");
}
