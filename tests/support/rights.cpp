#include "rights.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "support/words.hpp"

namespace rlock::test {
namespace {

constexpr const char* k_admin_password = "of-the-tests";

std::string chosen_rights() {
  const char* value = std::getenv("RLOCK_TEST_RIGHTS");
  const std::string rights = value != nullptr ? value : "";
  if (!rights.empty() && rights != "plain" && rights != "fair") {
    throw std::runtime_error("RLOCK_TEST_RIGHTS is neither plain nor fair: " + rights);
  }
  return rights;
}

bool is_look(const Words& argv) {
  static const std::set<std::string> k_looks{"doctor", "inspect-queue", "list", "watch"};
  static const std::set<std::string> k_others{"acquire", "evict", "exec",
                                              "fence",   "renew", "unlock"};
  for (const std::string& word : argv) {
    if (k_looks.contains(word)) return true;
    if (k_others.contains(word)) return false;
  }
  return false;
}

}  // namespace

std::vector<Words> documented_rights() {
  std::ifstream page(std::string(RLOCK_SOURCE_DIR) + "/man/rlock.1");
  std::vector<Words> blocks;
  bool is_section = false;
  bool is_block = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(".S")) is_section = line == ".Ss Access control";
    if (line.starts_with(".Bd") && is_section) blocks.emplace_back();
    if (line.starts_with(".")) {
      is_block = is_section && line.starts_with(".Bd");
    } else if (is_block) {
      std::istringstream words(line);
      for (std::string word; words >> word;) blocks.back().push_back(word);
    }
  }
  if (blocks.size() != 4) {
    throw std::runtime_error("rlock(1) does not have its four blocks of rights");
  }
  return blocks;
}

std::vector<Words> restricted_users() {
  const std::string rights = chosen_rights();
  if (rights.empty()) return {};
  const std::vector<Words> blocks = documented_rights();
  // Without "ACL SETUSER".
  Words locker(blocks[0].begin() + 2, blocks[0].end());
  if (rights == "fair") {
    for (const Words& more : {blocks[1], blocks[2]}) {
      locker.insert(locker.end(), more.begin(), more.end());
    }
  }
  return {locker,
          {blocks[3].begin() + 2, blocks[3].end()},
          {"default", "on", ">" + std::string(k_admin_password), "~*", "&*", "+@all"}};
}

std::vector<std::string> admin_login() {
  return chosen_rights().empty() ? Words{} : Words{"AUTH", k_admin_password};
}

void add_login(const std::vector<std::string>& argv, EnvChanges& env) {
  if (chosen_rights().empty()) return;
  env.try_emplace("RLOCK_USER", is_look(argv) ? "looker" : "locker");
  env.try_emplace("RLOCK_PASSWORD", "password");
  env.try_emplace("REDISCLI_AUTH", k_admin_password);
}

}  // namespace rlock::test
