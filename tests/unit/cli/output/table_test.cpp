#include "cli/output/table.hpp"

#include <doctest/doctest.h>

#include "base/text_width.hpp"
#include "support/words.hpp"

using rlock::cli::Column;
using rlock::cli::Table;
using rlock::test::has;

namespace {

Table locks() {
  Table table({{"NAME", Column::Align::left, Column::Width::flexible},
               {"TTL", Column::Align::right},
               {"HOLDER", Column::Align::left, Column::Width::flexible}});
  table.add_row({"backup", "28s", "web1 pid 4242 (backup)"});
  table.add_row({"a-much-longer-name", "5s", ""});
  return table;
}

}  // namespace

TEST_CASE("a table aligns its columns and leaves no space at the end of a line") {
  CHECK(locks().to_text(std::nullopt) ==
        "NAME                TTL  HOLDER\n"
        "backup              28s  web1 pid 4242 (backup)\n"
        "a-much-longer-name   5s\n");
}

TEST_CASE("a table on a pipe is not as wide as its widest cell in every line") {
  Table table({{"A", Column::Align::left, Column::Width::flexible}, {"B"}});
  const std::string wide(1'000'000, 'x');
  table.add_row({wide, "1"});
  table.add_row({"y", "2"});
  const std::string text = table.to_text(std::nullopt);
  CHECK(has(text, "\n" + wide + "  1\n"));
  CHECK(text.ends_with("\ny" + std::string(199, ' ') + "  2\n"));
}

TEST_CASE("a table cuts its flexible columns to a terminal, the widest first") {
  CHECK(locks().to_text(35) ==
        "NAME            TTL  HOLDER\n"
        "backup          28s  web1 pid 4242…\n"
        "a-much-longer…   5s\n");
}

TEST_CASE("no line of a table is wider than the terminal, however narrow") {
  for (const std::size_t room : {80U, 30U, 20U, 7U, 1U}) {
    const std::string text = locks().to_text(room);
    std::size_t start = 0;
    for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos;
         start = end + 1) {
      CHECK(rlock::display_width(text.substr(start, end - start)) <= room);
    }
  }
}
