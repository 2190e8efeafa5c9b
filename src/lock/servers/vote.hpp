// What several servers have answered.
#pragma once

#include <algorithm>
#include <exception>
#include <optional>
#include <vector>

namespace rlock::lock {

// What came of asking one server: nothing yet, an answer, or what went wrong.
template <typename Answer>
struct Vote {
  std::optional<Answer> answer{};
  std::exception_ptr failure{};

  [[nodiscard]] bool is_in() const { return answer || failure; }
};

template <typename Votes, typename Matches>
[[nodiscard]] std::size_t count_votes(const Votes& votes, Matches matches) {
  return static_cast<std::size_t>(std::count_if(votes.begin(), votes.end(), matches));
}

template <typename Answer>
[[nodiscard]] std::size_t count_answers(const std::vector<Vote<Answer>>& votes, Answer answer) {
  return count_votes(votes, [&](const auto& vote) { return vote.answer == answer; });
}

template <typename Answer>
[[nodiscard]] std::vector<std::exception_ptr> failures_of(const std::vector<Vote<Answer>>& votes) {
  std::vector<std::exception_ptr> failures;
  for (const auto& vote : votes) {
    if (vote.failure) failures.push_back(vote.failure);
  }
  return failures;
}

}  // namespace rlock::lock
