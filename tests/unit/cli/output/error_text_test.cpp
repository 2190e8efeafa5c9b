#include "cli/output/error_text.hpp"

#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "redis/server_error.hpp"
#include "unit/cli/output/problem_text_fixture.hpp"

using namespace rlock;
using redis::ServerError;

namespace {

std::string describe_error(const Error& error) {
  return cli::describe_error(error, test::AskedServer().globals);
}

}  // namespace

TEST_CASE("a message about a server begins with the lock, unless it names it") {
  const auto told = [](const Error& error) {
    return cli::describe_error(error, test::AskedServer().globals, {"job", "b"});
  };
  CHECK(told(redis::Unavailable("redis://a: restarted while it was searched")) ==
        "job and 1 more: redis://a: restarted while it was searched");
  CHECK(told(redis::Unavailable("job: too late")) == "job: too late");
  CHECK(told(Error(ExitStatus::usage, "c: a process above")) == "c: a process above");
}

TEST_CASE("a password that a server requires or rejects is told with the option for it") {
  CHECK(describe_error(ServerError("redis://a", "NOAUTH Authentication required.")) ==
        "redis://a: the server requires a password: give --password-file, or set RLOCK_PASSWORD; "
        "the server says: NOAUTH Authentication required.");
  CHECK(describe_error(ServerError("redis://a", "WRONGPASS no")) ==
        "redis://a: the server rejects the user or the password: check --user and "
        "--password-file; the server says: WRONGPASS no");
}

TEST_CASE("where a server does not name the right that is missing, rlock doctor does") {
  const auto told = [](const std::string& server) {
    test::SparseSettings sparse;
    sparse.globals.redis = {"redis://a", "redis://b", "redis://c"};
    (void)sparse.globals.session_options();
    const ServerError error(server, "ERR The user executing the script can't run this");
    return cli::describe_error(error, sparse.globals);
  };
  CHECK(told("redis://b:6379") ==
        "redis://b:6379: this user is not allowed to run a command that rlock's scripts need; see "
        "Access "
        "control in man rlock; the server says: ERR The user executing the script can't run this; "
        "to see which: rlock -r redis://b:6379 doctor");
  CHECK(told("else").ends_with("; to see which: rlock -r redis://a:6379 doctor"));
}

TEST_CASE("a refused TLS handshake is told with the options for it") {
  using Cause = redis::TlsRefused::Cause;
  for (const auto& [cause, text] :
       {std::pair(Cause::authorities, "no: give the right authority with --tls-ca"),
        {Cause::certificate_missing, "no: give --tls-cert and --tls-key"},
        {Cause::certificate_unknown,
         "no; if it requires a client certificate, give --tls-cert and --tls-key"},
        {Cause::certificate_rejected, "no of --tls-cert"},
        {Cause::other, "no"}}) {
    const redis::TlsRefused refused(cause, "no");
    CHECK(refused.status() == ExitStatus::permission);
    CHECK(describe_error(refused) == text);
  }
}

TEST_CASE("other errors are told as they are") {
  const ServerError odd("redis://a", "ODD");
  CHECK(describe_error(odd) == odd.what());
  CHECK(describe_error(Error(ExitStatus::lost, "job: lost")) == "job: lost");
}
