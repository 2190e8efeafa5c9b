// Errors in words, with what the user can do about them.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "cli/settings/globals.hpp"

namespace rlock::cli {

// Returns the message of an error. It names the option by which the user can mend it, if any. A
// message about a server begins with `locks`, those that were asked for. To be used after
// globals.session_options() where a server was asked.
[[nodiscard]] std::string describe_error(const Error& error, const Globals& globals,
                                         const std::vector<std::string>& locks = {});

// Returns the messages about servers of a quorum that take no part in it, one line each. Returns no
// message twice. With -q, returns nothing. Only with -v, also reports servers that are down.
[[nodiscard]] std::vector<std::string> unreachable_server_changes(const Globals& globals);

}  // namespace rlock::cli
