// Any bytes as RLOCK_HELD. The input is three lines (a name, an owner, a run), and then the value.

#include <algorithm>
#include <string>

#include "fuzz/require.hpp"
#include "lock/words/held.hpp"

using namespace rlock;
using namespace rlock::fuzz;
using lock::find_held;

namespace {

// Runs are our own: letters and digits. A name or an owner may be anything of 1 to 1024 bytes.
bool is_run(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char byte) {
    return std::string_view("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
               .find(byte) != std::string_view::npos;
  });
}

bool has_size(std::string_view text) { return !text.empty() && text.size() <= 1024; }

bool same(const std::optional<lock::HeldEntry>& a, const std::optional<lock::HeldEntry>& b) {
  if (!a || !b) return !a && !b;
  return a->owner == b->owner && a->runs == b->runs;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view held = as_text(data, size);
  const std::string_view name = take_until(held, '\n');
  const std::string_view owner = take_until(held, '\n');
  const std::string_view run = take_until(held, '\n');

  const auto before = find_held(held, name);
  if (before) require(!before->owner.empty(), "an owner is something");
  if (!has_size(name) || !has_size(owner) || !is_run(run) || size > 100'000) return 0;

  const std::string after = lock::with_held(held, name, owner, run);
  const auto found = find_held(after, name);
  require(found && found->owner == owner, "what was written is found");
  require(found->runs == run || found->runs.ends_with("/" + std::string(run)), "the run is added");
  if (before && before->owner == owner) {
    require(found->runs == before->runs + "/" + std::string(run), "after those before");
  }
  for (const std::string_view other : {"job", "a b", "other", ""}) {
    if (other != name)
      require(same(find_held(after, other), find_held(held, other)), "others stay");
  }
  const std::string twice = lock::with_held(after, name, owner, run);
  require(find_held(twice, name)->runs == found->runs + "/" + std::string(run), "runs are counted");
  return 0;
}
