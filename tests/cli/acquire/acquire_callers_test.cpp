// rlock acquire: which process needs the lock is shown, or acquire refuses.
#include <thread>
#include <unistd.h>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// Runs the program `argv[2:]` with one end of a pair of sockets as its stdout, prints what it wrote
// and its status, and waits for the end of stdin.
const std::string k_socket_pair =
    "python3 -c 'import socket, subprocess, sys\n"
    "ours, its = socket.socketpair()\n"
    "status = subprocess.run(sys.argv[1:], stdout=its).returncode\n"
    "its.close()\n"
    "print(len(ours.recv(100)), status, flush=True)\n"
    "sys.stdin.read()' ";

// The same with a connection of TCP, whose other end says nothing about its process.
const std::string k_tcp =
    "python3 -c 'import socket, subprocess, sys\n"
    "server = socket.create_server((\"127.0.0.1\", 0))\n"
    "its = socket.create_connection(server.getsockname())\n"
    "ours = server.accept()[0]\n"
    "sys.exit(subprocess.run(sys.argv[1:], stdout=its).returncode)' ";

// Lets the program `argv[1:]` inherit the end from which its output is read.
const std::string k_inherited =
    "python3 -c 'import os, subprocess, sys\n"
    "reading, its = os.pipe()\n"
    "os.set_inheritable(reading, True)\n"
    "print(subprocess.run(sys.argv[1:], stdout=its, close_fds=False).returncode)' ";

const std::string k_acquire = "\"$RLOCK\" acquire --lease 1h job";

void check_refused(const Server& server, const Shells& shells, const std::string& script) {
  CAPTURE(script);
  const Result refused = run(shells.argv(script), shells.options());
  CHECK(refused.out == "64\n");
  CHECK(is_one_message(refused.err));
  CHECK(has(refused.err, "give --pid PID ($$ in a shell), or --no-watchdog"));
  CHECK(server.keys().empty());
  CHECK(shells.watchdogs_end());
}

}  // namespace

TEST_CASE("acquire: refuses unless a process above it is seen to read what it prints") {
  const Server server;
  const Shells shells(server);
  check_refused(server, shells,
                "exec 3>&1; { " + k_acquire + "; echo $? >&3; } | cat >\"$DIR/out\"");
  check_refused(server, shells, "timeout 100 " + k_acquire + " | cat; echo 64");
  check_refused(server, shells, "o=$(timeout 100 " + k_acquire + "); echo $?");
  check_refused(server, shells, k_socket_pair + "timeout 100 " + k_acquire + " | sed 's/^0 //'");
  check_refused(server, shells, k_tcp + k_acquire + "; echo $?");
  check_refused(server, shells, k_inherited + "timeout 100 " + k_acquire);
}

TEST_CASE("acquire: refuses where /proc does not show who reads what it prints") {
  if (::geteuid() != 0) return;
  const Server server(ServerOptions{.args = {"--unixsocketperm", "777"}});
  const Shells shells(server.directory(), server.tcp_url());
  // Another user's process may not be looked at; nor may one outside of this PID namespace.
  check_refused(server, shells,
                "o=$(setpriv --reuid 65534 --clear-groups " + k_acquire + "); echo $?");
  // A sanitizer needs /proc itself, and some containers have no namespaces.
  if (!is_sanitized() && run({"unshare", "-m", "true"}).status == 0) {
    check_refused(server, shells,
                  "o=$(unshare -m sh -c 'umount -l /proc; exec " + k_acquire + "'); echo $?");
    check_refused(server, shells,
                  "unshare -m sh -c 'umount -l /proc; exec " + k_acquire + " >/dev/null'; echo $?");
  }
  check_refused(server, shells,
                "o=$(unshare -pf --kill-child sh -c '" + k_acquire + "; :'); echo 64");
}

TEST_CASE("acquire: a program that reads through a pair of sockets is followed") {
  const Server server;
  const Shells shells(server);
  Process program(shells.argv("exec " + k_socket_pair + k_acquire),
                  {.env = shells.options().env, .hold_stdin = true});
  program.wait_for_stdout("\n");
  const std::string owner = server.command({"HKEYS", "job"});
  CHECK(program.out() == std::to_string(owner.size() + 1) + " 0\n");
  CHECK(has(server.command({"HVALS", "rlock_info:{job}"}),
            "\"pid\":" + std::to_string(program.pid()) + ","));
  program.close_stdin();
  CHECK(comes_free(server));
  CHECK(shells.watchdogs_end());
}

TEST_CASE("acquire: --pid with the number of a thread is refused") {
  const Server server;
  std::thread([&] {
    const std::string number = std::to_string(::gettid());
    const Result refused =
        run(rlock_argv("acquire", "-r", server.unix_url(), "--pid", number, "job"));
    CHECK(refused.status == 64);
    CHECK(refused.err == "rlock: process " + number + ": this is the number of a thread\n");
  }).join();
  CHECK(server.keys().empty());
}
