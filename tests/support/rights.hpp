// The rights that rlock(1) says are enough, and runs of the tests under them.
//
// With the environment variable RLOCK_TEST_RIGHTS each throw-away server has the users "locker" and
// "looker", as documented; the default user may do everything, but has a password, which fixtures
// and redis-cli know. Each program that a test starts is a locker, and those of rlock's commands
// that are for looking are lookers. The variable says what a locker may do: "plain" (the rights for
// plain locks) or "fair" (all).
#pragma once

#include <string>
#include <vector>

#include "spawn.hpp"

namespace rlock::test {

// The words of the literal blocks in rlock(1), section "Access control": the first is the command
// that makes the locker, the second what fair locks need besides, the third what fencing tokens
// need besides, the fourth the command for one who only looks. Throws std::runtime_error when the
// page has not exactly these.
std::vector<std::vector<std::string>> documented_rights();

// The users of a server, each as the words of its directive "user"; none without the variable.
std::vector<std::vector<std::string>> restricted_users();

// The command that logs a fixture in; empty without the variable.
std::vector<std::string> admin_login();

// Makes a program that is to be started log in as it should; nothing without the variable.
void add_login(const std::vector<std::string>& argv, EnvChanges& env);

}  // namespace rlock::test
