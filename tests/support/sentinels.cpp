#include "sentinels.hpp"

#include <algorithm>
#include <stdexcept>

#include "wait_until.hpp"

namespace rlock::test {
namespace {

std::string field(const std::vector<std::string>& flat, const std::string& name) {
  const auto found = std::find(flat.begin(), flat.end(), name);
  return found == flat.end() || found + 1 == flat.end() ? "" : *(found + 1);
}

std::string password_in(const std::vector<std::string>& args) {
  const auto found = std::find(args.begin(), args.end(), "--requirepass");
  return found == args.end() ? "" : *(found + 1);
}

}  // namespace

std::unique_ptr<Server> lone_sentinel(const Server& server, int epoch, const std::string& host) {
  const std::string name = Sentinels::k_master;
  const std::string count = std::to_string(epoch);
  ServerOptions options{.args = {"--sentinel"}};
  options.config =
      "sentinel resolve-hostnames yes\nsentinel announce-hostnames yes\n"
      "sentinel monitor " +
      name + " " + host + " " + std::to_string(server.port()) +
      " 2\nsentinel down-after-milliseconds " + name + " 600000\n" + "sentinel config-epoch " +
      name + " " + count + "\nsentinel current-epoch " + count + "\n";
  return std::make_unique<Server>(options);
}

bool tell_of_failover(const Server& sentinel, const Server& old, const Server& fresh, int epoch) {
  const std::string port = std::to_string(fresh.port());
  const std::string count = std::to_string(epoch);
  const std::string hello = "127.0.0.1,1," + std::string(40, 'a') + "," + count + "," +
                            Sentinels::k_master + ",127.0.0.1," + port + "," + count;
  return wait_until([&] {
    old.command({"PUBLISH", "__sentinel__:hello", hello});
    return sentinel.list({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", Sentinels::k_master}).at(1) ==
           port;
  });
}

Sentinels::Sentinels(const SentinelOptions& options) {
  for (int i = 0; i <= options.replicas; ++i) {
    ServerOptions server{.args = options.server_args};
    const std::vector<std::string> common{"--repl-diskless-sync-delay", "0",
                                          "--repl-ping-replica-period", "1"};
    server.args.insert(server.args.end(), common.begin(), common.end());
    if (i == 0) {
      server.args.insert(server.args.end(), options.first_args.begin(), options.first_args.end());
    } else {
      server.args.insert(server.args.end(),
                         {"--replicaof", "127.0.0.1 " + std::to_string(servers_[0]->port())});
    }
    servers_.push_back(std::make_unique<Server>(server));
  }
  const std::string name = k_master;
  const std::string password = password_in(options.server_args);
  const std::string config =
      "sentinel monitor " + name + " 127.0.0.1 " + std::to_string(servers_[0]->port()) + " 2\n" +
      "sentinel down-after-milliseconds " + name + " " + std::to_string(options.down_after_ms) +
      "\n" + "sentinel failover-timeout " + name + " 1500\n" +
      (password.empty() ? "" : "sentinel auth-pass " + name + " " + password + "\n") +
      options.sentinel_config;
  for (int i = 0; i < options.sentinels; ++i) {
    ServerOptions sentinel{.args = options.sentinel_args, .config = config};
    sentinel.args.emplace_back("--sentinel");
    sentinels_.push_back(std::make_unique<Server>(sentinel));
  }
  if (!wait_until([this] { return is_settled(); })) {
    throw std::runtime_error("the sentinels did not come together:\n" + sentinels_[0]->log());
  }
}

bool Sentinels::is_settled() {
  for (std::size_t i = 1; i < servers_.size(); ++i) {
    if (servers_[i]->command({"INFO", "replication"}).find("master_link_status:up") ==
        std::string::npos) {
      return false;
    }
  }
  for (const auto& sentinel : sentinels_) {
    const auto seen = sentinel->list({"SENTINEL", "MASTER", k_master});
    if (field(seen, "num-slaves") != std::to_string(servers_.size() - 1)) return false;
    if (field(seen, "num-other-sentinels") != std::to_string(sentinels_.size() - 1)) return false;
    if (field(seen, "flags") != "master") return false;
  }
  return true;
}

std::string Sentinels::url() const {
  std::vector<std::uint16_t> ports;
  for (const auto& sentinel : sentinels_) ports.push_back(sentinel->port());
  return url_of(ports);
}

std::string Sentinels::url_of(const std::vector<std::uint16_t>& ports, const std::string& master) {
  std::string url = "redis-sentinel://";
  for (const std::uint16_t port : ports) {
    url += (url.ends_with('/') ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
  }
  return url + "#" + master;
}

Server& Sentinels::master() {
  for (const auto& sentinel : sentinels_) {
    if (sentinel->pid() < 0) continue;
    const auto address = sentinel->list({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", k_master});
    for (const auto& server : servers_) {
      if (address.at(1) == std::to_string(server->port())) return *server;
    }
  }
  throw std::runtime_error("no sentinel knows the master");
}

bool Sentinels::wait_for_master(const Server& server) {
  return wait_until([&] {
    return std::all_of(sentinels_.begin(), sentinels_.end(), [&](const auto& sentinel) {
      return sentinel->pid() < 0 ||
             sentinel->list({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", k_master}).at(1) ==
                 std::to_string(server.port());
    });
  });
}

}  // namespace rlock::test
