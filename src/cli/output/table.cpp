#include "cli/output/table.hpp"

#include <algorithm>
#include <numeric>

#include "base/text_width.hpp"

namespace rlock::cli {
namespace {

constexpr std::size_t k_gap = 2;
constexpr std::size_t k_narrowest = 8;
// One cell that is wider does not move all others: a long table of such lines would be enormous.
constexpr std::size_t k_widest = 200;

}  // namespace

void Table::add_column(Column column, std::vector<std::string> cells) {
  columns_.push_back(std::move(column));
  rows_.resize(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) rows_[i].push_back(std::move(cells[i]));
}

void Table::drop_last_column() {
  columns_.pop_back();
  for (auto& row : rows_) row.pop_back();
}

std::vector<std::size_t> Table::widths(std::optional<std::size_t> room) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(display_width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row.at(i)));
    }
  }
  if (!room) {
    for (std::size_t& width : widths) width = std::min(width, k_widest);
  }
  std::size_t total = std::accumulate(widths.begin(), widths.end(), k_gap * (widths.size() - 1));
  while (room && total > *room) {
    std::size_t* widest = nullptr;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (columns_[i].width != Column::Width::flexible || widths[i] <= k_narrowest) continue;
      if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
    }
    if (widest == nullptr) break;
    --*widest;
    --total;
  }
  return widths;
}

std::string Table::to_text(std::optional<std::size_t> room) const {
  const std::vector<std::size_t> all_widths = widths(room);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string text;
  const std::size_t gaps = k_gap * all_widths.size();  // the last is the newline's
  const std::size_t widest = std::accumulate(all_widths.begin(), all_widths.end(), gaps);
  text.reserve((rows_.size() + 1) * (room ? std::min(widest, *room + 1) : widest));
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_cut = room && columns_[i].width == Column::Width::flexible;
      const std::string cell = is_cut ? fit(cells[i], all_widths[i]) : cells[i];
      const std::size_t width = display_width(cell);
      const std::string padding(all_widths[i] - std::min(all_widths[i], width), ' ');
      if (i > 0) line += std::string(k_gap, ' ');
      line += columns_[i].align == Column::Align::right ? padding + cell : cell + padding;
    }
    line.resize(line.find_last_not_of(' ') + 1);
    text += (room ? fit(line, *room) : line) + "\n";
  };
  add_line(titles);
  for (const auto& row : rows_) add_line(row);
  return text;
}

}  // namespace rlock::cli
