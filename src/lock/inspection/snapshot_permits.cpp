#include "lock/inspection/snapshot_permits.hpp"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "base/escape.hpp"
#include "base/integer.hpp"
#include "lock/inspection/snapshot_request.hpp"
#include "lock/words/owner_info.hpp"
#include "lua_limits.hpp"

namespace rlock::lock {
namespace {

using Infos = std::unordered_map<std::string, std::string>;

const std::string k_made_with = "permits";  // the side key's field
constexpr auto k_for_ever_ms = static_cast<double>(lua::k_for_ever.count());
constexpr std::size_t k_redisson_id_bytes = 16;
constexpr std::int64_t k_longest_unnoticed_ms = 60'000;

// Returns a permit as people know it: Redisson shows its bytes as digits.
std::string shown(const std::string& permit) {
  return permit.size() == k_redisson_id_bytes ? to_hex(permit) : permit;
}

void add_holder(Snapshot& snapshot, const std::string& permit, double end, const Infos& infos) {
  Holder& holder = snapshot.holders.emplace_back();
  holder.owner = shown(permit);
  const bool lasts = end - static_cast<double>(snapshot.time_ms) > k_for_ever_ms;
  if (!lasts) holder.ends_ms = static_cast<std::int64_t>(end);
  const std::int64_t left = lasts ? -1 : *holder.ends_ms - snapshot.time_ms;
  if (snapshot.ttl_ms != -1)
    snapshot.ttl_ms = lasts ? -1 : std::max(snapshot.ttl_ms.value_or(0), left);
  const auto told = infos.find(permit);
  if (told == infos.end()) return;
  OwnerInfo info = parse_owner_info(told->second);
  holder.about = std::move(info.about);
  holder.since_ms = info.since_ms;
  holder.kind = info.kind;
}

}  // namespace

bool read_permits(Snapshot& snapshot, const std::vector<redis::Reply>& items) {
  const std::string& type = items[k_type].as_text();
  const bool has_permits = items[k_has_permits].as_integer() == 1;
  const auto& content = items[k_content].as_array();
  const auto number = type == "string" && !content.empty()
                          ? parse_integer<std::int64_t>(content[0].as_text())
                          : std::nullopt;
  if (!number && !(type == "none" && has_permits)) return false;
  Infos infos;
  const auto& told = items[k_info].as_array();
  for (std::size_t i = 0; i + 1 < told.size(); i += 2) {
    infos.emplace(told[i].as_text(), told[i + 1].as_text());
  }
  const auto made_with = infos.find(k_made_with);
  if (!has_permits && made_with == infos.end()) return false;

  Snapshot::Permits permits;
  if (made_with != infos.end()) permits.made_with = parse_integer<std::int64_t>(made_with->second);
  const std::int64_t out = items[k_permits_out].as_integer();
  permits.total = number.value_or(0) + out;
  snapshot.kind = Snapshot::Kind::semaphore;
  snapshot.ttl_ms.reset();
  const auto& ends = items[k_permits].as_array();
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
    const std::string& permit = ends[i].as_text();
    const double end = std::strtod(ends[i + 1].as_text().c_str(), nullptr);
    permits.ends.emplace_back(permit, end);
    if (end > static_cast<double>(snapshot.time_ms)) {
      add_holder(snapshot, permit, end, infos);
    } else {
      ++permits.ended;
    }
  }
  permits.available = number.value_or(0) + permits.ended;
  snapshot.held = !snapshot.holders.empty();
  snapshot.permits = std::move(permits);
  return true;
}

void find_permit_problems(Snapshot& snapshot) {
  if (!snapshot.permits) return;
  const Snapshot::Permits& permits = *snapshot.permits;
  if (permits.ended > 0) {
    const auto ago = snapshot.time_ms - static_cast<std::int64_t>(permits.ends.front().second);
    if (ago > k_longest_unnoticed_ms) {
      snapshot.problems.push_back(
          EndedPermits{static_cast<std::size_t>(permits.ended), Milliseconds(ago)});
    }
  }
  if (permits.made_with && *permits.made_with != permits.total) {
    snapshot.problems.push_back(PermitsDiffer{permits.total, *permits.made_with});
  }
}

}  // namespace rlock::lock
