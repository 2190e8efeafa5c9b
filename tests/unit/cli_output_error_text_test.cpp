#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "cli/output/error_text.hpp"
#include "lock/servers/refusals.hpp"
#include "lock/words/refused.hpp"
#include "redis/server_error.hpp"
#include "support/words.hpp"
#include "unit/problem_text_fixture.hpp"

using namespace rlock;
using lock::Refused;
using redis::ServerError;
using test::has;

namespace {

std::string describe_error(const Error& error) {
  return cli::describe_error(error, test::AskedServer().globals);
}

std::string told_of_kind(const std::string& kind) {
  try {
    lock::refuse_kind("a\nb", kind);
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::wrong_kind);
    return describe_error(error);
  }
}

}  // namespace

TEST_CASE("a name that is in use is told with the option that takes it") {
  CHECK(told_of_kind("plain or fair lock") ==
        "a\\nb: in use as a plain or fair lock: leave out -s or -x, which take a read/write lock");
  CHECK(told_of_kind("read-write lock") ==
        "a\\nb: in use as a read/write lock: take it with -s or -x");
  CHECK(told_of_kind("string") ==
        "a\\nb: a string, not a lock of this kind: if it is a lock, take it with --kind simple; if "
        "it "
        "is a semaphore, with --permits");
  CHECK(told_of_kind("list") == "a\\nb: a list, not a lock");
  CHECK(told_of_kind("hash that is no lock") == "a\\nb: a hash that is not a lock");
  CHECK(told_of_kind("zset in place of its queue") ==
        "a\\nb: the name is in use by another kind of lock (zset in place of its queue)");
}

TEST_CASE("a lock that cannot be had in this way is told with the option to change") {
  using Why = Refused::Why;
  for (const auto& [why, advice] : {std::pair(Why::no_tokens, "leave out --fence"),
                                    {Why::no_token_drawn, "give --fence to"},
                                    {Why::needs_one_server, "one server (-r)"},
                                    {Why::needs_fresh_value, "leave out --token"},
                                    {Why::is_one_server, "each server once (-r)"}}) {
    const Refused refused(why, "job: no");
    CHECK(refused.status() == ExitStatus::usage);
    CHECK(describe_error(refused).starts_with("job: no: "));
    CHECK(has(describe_error(refused), advice));
  }
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
        "redis://b:6379: this user may not run a command that rlock's scripts need; see Access "
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
