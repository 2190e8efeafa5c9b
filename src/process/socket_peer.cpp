#include "process/socket_peer.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include "base/fd.hpp"

namespace rlock::process {

std::optional<ino_t> peer_of_socket(ino_t inode) {
  const Fd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  struct {
    nlmsghdr header;
    unix_diag_req body;
  } request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = AF_UNIX;
  request.body.udiag_ino = static_cast<std::uint32_t>(inode);
  request.body.udiag_show = UDIAG_SHOW_PEER;
  request.body.udiag_cookie[0] = request.body.udiag_cookie[1] = static_cast<std::uint32_t>(-1);
  if (::send(netlink.get(), &request, sizeof request, 0) < 0) return std::nullopt;

  alignas(nlmsghdr) std::array<char, 4096> reply{};
  const ssize_t size = ::recv(netlink.get(), reply.data(), reply.size(), 0);
  const auto* const header = reinterpret_cast<const nlmsghdr*>(reply.data());
  const std::size_t before = NLMSG_LENGTH(sizeof(unix_diag_msg));
  if (size < static_cast<ssize_t>(before) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY)
    return std::nullopt;
  for (std::size_t at = NLMSG_ALIGN(before);
       at + sizeof(rtattr) <= static_cast<std::size_t>(size);) {
    rtattr attribute{};
    std::memcpy(&attribute, reply.data() + at, sizeof attribute);
    std::uint32_t peer = 0;
    if (attribute.rta_len < sizeof attribute) break;
    if (attribute.rta_type == UNIX_DIAG_PEER && attribute.rta_len == RTA_LENGTH(sizeof peer)) {
      std::memcpy(&peer, reply.data() + at + RTA_LENGTH(0), sizeof peer);
      return peer;
    }
    at += RTA_ALIGN(attribute.rta_len);
  }
  return std::nullopt;
}

}  // namespace rlock::process
