// Small socket helpers. All descriptors are close-on-exec. Failures throw std::system_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fd.hpp"

namespace rlock::test {

// Makes fd non-blocking.
void set_nonblocking(int fd);

// Listens on 127.0.0.1 on a port that the kernel chooses; non-blocking. Sets port.
UniqueFd listen_loopback(std::uint16_t& port);

// Connects within 5 s and returns a blocking socket.
UniqueFd connect_loopback(std::uint16_t port);
UniqueFd connect_unix(const std::string& path);

// True if this machine can bind ::1.
bool has_ipv6();

// Returns a port below the ephemeral range that was free on 127.0.0.1 (and on ::1, if there) just
// now.
std::uint16_t free_port();

// What one non-blocking read or write gave.
enum class IoState { done, again, closed };

// Appends to `into` what can be read now, at most `limit` bytes. closed: end of file or an error.
// With done, at least one byte has been added.
IoState read_some(int fd, std::string& into, std::size_t limit = 65536);

// Sends (MSG_NOSIGNAL) what the socket takes now and sets sent to its size. closed: the peer is
// gone.
IoState send_some(int fd, std::string_view data, std::size_t& sent);

}  // namespace rlock::test
