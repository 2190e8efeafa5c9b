#include "cluster.hpp"

#include <algorithm>
#include <stdexcept>

#include "net.hpp"
#include "support/words.hpp"
#include "wait_until.hpp"

namespace rlock::test {
namespace {

constexpr std::size_t k_masters = 3;
constexpr std::size_t k_nobody = 99;
constexpr int k_most_tries = 10;

void expect_ok(const std::string& answer) {
  if (answer != "OK") throw std::runtime_error("a node of the cluster says " + answer);
}

}  // namespace

Cluster::Cluster(const std::vector<std::string>& args) {
  const auto start_node = [&] {
    ServerOptions options{
        .args = {"--cluster-enabled", "yes", "--cluster-port", std::to_string(free_port()),
                 "--cluster-node-timeout", "5000", "--cluster-announce-ip", "127.0.0.1",
                 "--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration",
                 "no", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}};
    options.args.insert(options.args.end(), args.begin(), args.end());
    nodes_.push_back(std::make_unique<Server>(options));
  };
  for (int tries = 0; nodes_.size() < 2 * k_masters;) {
    try {
      start_node();
    } catch (const std::runtime_error&) {  // somebody else may have got the second port
      if (++tries == k_most_tries) throw;
    }
  }
  constexpr const char* k_ranges[] = {"0", "5460", "5461", "10922", "10923", "16383"};
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    expect_ok(nodes_[i]->command({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)}));
    if (i < k_masters) {
      expect_ok(
          nodes_[i]->command({"CLUSTER", "ADDSLOTSRANGE", k_ranges[2 * i], k_ranges[2 * i + 1]}));
    }
    if (i == 0) continue;
    const auto bus = nodes_[0]->list({"CONFIG", "GET", "cluster-port"}).at(1);
    expect_ok(nodes_[i]->command(
        {"CLUSTER", "MEET", "127.0.0.1", std::to_string(nodes_[0]->port()), bus}));
  }
  const bool met = wait_until([this] {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& node) {
      return has(node->command({"CLUSTER", "INFO"}), "cluster_known_nodes:6");
    });
  });
  if (!met) throw std::runtime_error("the nodes of the cluster did not meet");
  for (std::size_t i = k_masters; i < nodes_.size(); ++i) {
    // A node takes a master only when it has heard of it directly.
    std::string answer;
    wait_until([&] {
      answer = nodes_[i]->command({"CLUSTER", "REPLICATE", id(i - k_masters)});
      return answer == "OK";
    });
    expect_ok(answer);
  }
  if (!wait_until_whole()) throw std::runtime_error("the cluster did not come together");
}

void Cluster::set_node_timeout(std::chrono::milliseconds timeout) {
  for (const auto& node : nodes_) {
    if (node->pid() < 0) continue;
    expect_ok(
        node->command({"CONFIG", "SET", "cluster-node-timeout", std::to_string(timeout.count())}));
  }
}

std::string Cluster::url() const {
  std::string url = "redis-cluster://";
  for (std::size_t i = 0; i < k_masters; ++i) {
    url += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(nodes_[i]->port());
  }
  return url;
}

std::string Cluster::id(std::size_t node) { return nodes_[node]->command({"CLUSTER", "MYID"}); }

std::size_t Cluster::number_of(const std::string& port) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (std::to_string(nodes_[i]->port()) == port) return i;
  }
  return k_nobody;
}

int Cluster::slot_of(const std::string& key) {
  for (const auto& node : nodes_) {
    if (node->pid() >= 0) return std::stoi(node->command({"CLUSTER", "KEYSLOT", key}));
  }
  throw std::runtime_error("no node of the cluster runs");
}

std::size_t Cluster::owner_seen_by(std::size_t node, int slot) {
  // A line a node: "id host:port@bus flags ... connected first-last ...".
  RespClient client = nodes_[node]->connect();
  const auto lines = client.call({"CLUSTER", "NODES"});
  std::string text = lines.at(0);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t port_at = line.find(':');
    const std::string port = line.substr(port_at + 1, line.find('@') - port_at - 1);
    const std::size_t linked = line.find(" connected");
    if (!has(line, "master") || linked == std::string::npos) continue;
    std::size_t from = line.find(' ', linked + 1);
    while (from != std::string::npos) {
      const std::size_t to = std::min(line.find(' ', from + 1), line.size());
      const std::string range = line.substr(from + 1, to - from - 1);
      from = to == line.size() ? std::string::npos : to;
      if (range.empty() || range.front() == '[') continue;
      const std::size_t dash = range.find('-');
      const int first = std::stoi(range);
      const int last = dash == std::string::npos ? first : std::stoi(range.substr(dash + 1));
      if (first <= slot && slot <= last) return number_of(port);
    }
  }
  return k_nobody;
}

std::size_t Cluster::owner(const std::string& key) {
  const int slot = slot_of(key);
  std::vector<int> votes(nodes_.size(), 0);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i]->pid() < 0) continue;
    const std::size_t seen = owner_seen_by(i, slot);
    if (seen != k_nobody) ++votes[seen];
  }
  return static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

std::string Cluster::name_on(std::size_t node) {
  for (int tried = 0; tried < 1000; ++tried) {
    std::string name = "job" + std::to_string(++names_);
    if (owner_seen_by(node, slot_of(name)) == node) return name;
  }
  throw std::runtime_error("node " + std::to_string(node) +
                           " keeps no slots: is it a replica now?");
}

std::string Cluster::command(const std::string& key, const std::vector<std::string>& args) {
  return nodes_[owner(key)]->command(args);
}

std::vector<std::string> Cluster::keys() {
  std::vector<std::string> all;
  for (const auto& node : nodes_) {
    if (node->pid() < 0 || node->command({"ROLE"}).find("master") != 0) continue;
    const auto keys = node->keys();
    all.insert(all.end(), keys.begin(), keys.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

void Cluster::begin_move(const std::string& key, std::size_t to) {
  const std::size_t from = owner(key);
  const std::string slot = std::to_string(slot_of(key));
  expect_ok(nodes_[to]->command({"CLUSTER", "SETSLOT", slot, "IMPORTING", id(from)}));
  expect_ok(nodes_[from]->command({"CLUSTER", "SETSLOT", slot, "MIGRATING", id(to)}));
}

void Cluster::move_keys(const std::string& key, const std::vector<std::string>& keys,
                        std::size_t to) {
  std::vector<std::string> args{"MIGRATE", "127.0.0.1", std::to_string(nodes_[to]->port()), "", "0",
                                "5000",    "KEYS"};
  args.insert(args.end(), keys.begin(), keys.end());
  const std::string answer = nodes_[owner(key)]->command(args);
  if (answer != "NOKEY") expect_ok(answer);  // all of them have expired meanwhile
}

void Cluster::end_move(const std::string& key, std::size_t to) {
  const std::string slot = std::to_string(slot_of(key));
  const std::string new_owner = id(to);
  const std::size_t from = owner(key);
  expect_ok(nodes_[to]->command({"CLUSTER", "SETSLOT", slot, "NODE", new_owner}));
  expect_ok(nodes_[from]->command({"CLUSTER", "SETSLOT", slot, "NODE", new_owner}));
}

void Cluster::move_slot(const std::string& key, std::size_t to) {
  const std::size_t from = owner(key);
  const std::string slot = std::to_string(slot_of(key));
  begin_move(key, to);
  while (true) {
    const auto keys = nodes_[from]->list({"CLUSTER", "GETKEYSINSLOT", slot, "100"});
    if (keys.empty()) break;
    move_keys(key, keys, to);
  }
  end_move(key, to);
}

bool Cluster::wait_for_takeover(const std::string& key, std::size_t before) {
  const int slot = slot_of(key);
  return wait_until([&] {
    std::size_t owner = k_nobody;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->pid() < 0) continue;
      const std::size_t seen = owner_seen_by(i, slot);
      if (seen == before || seen == k_nobody || (owner != k_nobody && seen != owner)) return false;
      if (!has(nodes_[i]->command({"CLUSTER", "INFO"}), "cluster_state:ok")) return false;
      owner = seen;
    }
    return true;
  });
}

bool Cluster::is_whole() {
  int in_step = 0;
  for (const auto& node : nodes_) {
    if (!has(node->command({"CLUSTER", "INFO"}), "cluster_state:ok")) return false;
    const std::string replication = node->command({"INFO", "replication"});
    if (has(replication, "master_link_status:up")) ++in_step;
    const std::string view = node->command({"CLUSTER", "NODES"});
    if (has(view, "fail") || has(view, "disconnected")) return false;
  }
  return in_step == static_cast<int>(k_masters);
}

bool Cluster::wait_until_whole() {
  return wait_until([this] { return is_whole(); });
}

}  // namespace rlock::test
