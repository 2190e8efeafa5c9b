// rlock acquire from shells of another kind: fish, and a shell that is process 1.
#include <unistd.h>

#include <doctest/doctest.h>

#include "cli/acquire_fixture.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

bool runs(const Words& argv) {
  try {
    return run(argv).status == 0;
  } catch (const std::exception&) {
    return false;
  }
}

// `argv` as process 1 of a PID namespace; nothing where the kernel does not let us make one.
Words as_process_1(const Words& words) {
  Words argv = {"unshare", "-pf", "--kill-child", "--mount-proc"};
  if (::geteuid() != 0) argv.emplace_back("-r");
  Words probe = argv;
  probe.emplace_back("true");
  if (!runs(probe)) return {};
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

}  // namespace

TEST_CASE("acquire --export=fish: code that fish reads, whatever the name is") {
  const Server server;
  const std::string name = "it's a \"job\" $x\n`y` \\n";
  ProcessOptions options{.env = {{"RLOCK_REDIS", server.unix_url()}, {"NAME", name}}};
  const Result result =
      run(rlock_argv("acquire", "--export=fish", "--no-watchdog", "--lease", "1h", name), options);
  CHECK(result.status == 0);
  const std::string owner = server.command({"HKEYS", name});
  CHECK(
      result.out.starts_with("set -gx RLOCK_NAME 'it\\'s a \"job\" $x'\\n'`y` \\\\n';\n"
                             "set -gx RLOCK_OWNER '" +
                             owner +
                             "';\n"
                             "set -gx RLOCK_KIND 'reentrant';\n"
                             "set -gx RLOCK_HELD 'it%27s"));
  CHECK(result.out.ends_with("set -eg RLOCK_TOKEN; true;\n"));
  server.command({"DEL", name});
  if (!runs({"fish", "-c", "true"})) {
    MESSAGE("not tested: no fish");
    return;
  }
  options.env["RLOCK"] = rlock_program();
  for (const char* form : {"eval ($RLOCK acquire --export=fish $NAME); or exit\n",
                           "eval ($RLOCK acquire --export=fish $NAME | string collect); or exit\n",
                           "$RLOCK acquire --export=fish $NAME | source; or exit\n"}) {
    CAPTURE(form);
    const Result fish =
        run({"fish", "--no-config", "-c",
             std::string(form) + "test \"$RLOCK_NAME\" = \"$NAME\"; or echo bad name\n"
                                 "set -q RLOCK_TOKEN; and echo token\n"
                                 "$RLOCK renew $NAME; echo $status\n"
                                 "$RLOCK unlock $NAME; echo $status\n"},
            options);
    CHECK(fish.out == "0\n0\n");
    CHECK(fish.err.empty());
    CHECK(comes_free(server, name));
  }
}

TEST_CASE("acquire --export=SHELL: a failure fails eval, and another shell is refused") {
  const Server server;
  server.command({"HSET", "job", "other:1", "1"});
  const ProcessOptions options{
      .env = {{"RLOCK_REDIS", server.unix_url()}, {"RLOCK", rlock_program()}}};
  Result result = run(rlock_argv("acquire", "--export=fish", "-n", "job"), options);
  CHECK(result.status == 75);
  CHECK(result.out == "sh -c 'exit 75';\n");
  result = run(rlock_argv("acquire", "--export=fish", "--no-such-option", "job"), options);
  CHECK(result.status == 64);
  CHECK(result.out == "sh -c 'exit 64';\n");
  result = run(rlock_argv("acquire", "--export=sh", "-n", "job"), options);
  CHECK(result.out == "(exit 75)\n");
  result = run(rlock_argv("acquire", "--export=csh", "-n", "job"), options);
  CHECK(result.status == 64);
  CHECK(result.out == "(exit 64)\n");
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "'csh' is neither sh"));
  if (!runs({"fish", "-c", "true"})) return;
  result = run({"fish", "--no-config", "-c",
                "eval ($RLOCK acquire --export=fish -q -n job); or exit; echo never"},
               options);
  CHECK(result.status == 75);
  CHECK(result.out.empty());
}

TEST_CASE("acquire: a shell that is process 1 is followed where it reads what is printed") {
  const Server server;
  const Shells shells(server);
  const auto script = [&](const std::string& text) { return as_process_1(shells.argv(text)); };
  if (script("true").empty()) {
    MESSAGE("not tested: no PID namespaces");
    return;
  }
  const Result result = run(script("owner=$(rlock acquire job) || exit; echo \"$$ $owner\"\n"
                                   "rlock unlock --owner \"$owner\" job; echo $?\n"
                                   "eval \"$(rlock acquire --export job)\" || exit\n"
                                   "rlock unlock job; echo $?\n"
                                   "owner=$(rlock acquire --pid $$ job) && echo followed\n"
                                   "rlock unlock --owner \"$owner\" job; echo $?\n"
                                   "rlock acquire job >\"$DIR/out\"; echo $?\n"
                                   "wc -c <\"$DIR/out\"\n"),
                            shells.options());
  CHECK(result.out.starts_with("1 "));
  CHECK(result.out.ends_with("\n0\n0\nfollowed\n0\n64\n0\n"));
  CHECK(is_one_message(result.err));
  CHECK(has(result.err, "; give --pid PID"));
  CHECK(server.command({"EXISTS", "job"}) == "0");

  // The kernel ends all of the namespace with it, so that nobody gives the lock back.
  CHECK(run(script("owner=$(" + k_take + "job) && echo held; true"), shells.options()).out ==
        "held\n");
  CHECK(shells.watchdogs_end());
  CHECK(server.command({"EXISTS", "job"}) == "1");
}
