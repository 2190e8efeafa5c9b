// Rows of text in aligned columns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rlock::cli {

struct Column {
  enum class Align { left, right };
  enum class Width { whole, flexible };  // flexible: may be cut where the terminal is narrow

  std::string title;
  Align align = Align::left;
  Width width = Width::whole;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns = {}) : columns_(std::move(columns)) {}

  // Add a row with a cell for each column, or a column with a cell for each row. The cells must be
  // harmless for a terminal already.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void add_column(Column column, std::vector<std::string> cells);
  void drop_last_column();

  // Returns the table, its titles first, each line with a newline. No line is wider than `room`
  // columns, if that is given: flexible columns are cut, the widest first, then the lines. Else
  // nothing is cut; a cell of more than 200 columns stands out of line.
  [[nodiscard]] std::string to_text(std::optional<std::size_t> room) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths(std::optional<std::size_t> room) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace rlock::cli
