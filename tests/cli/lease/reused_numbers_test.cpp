// Other processes get the numbers of the command, of its group, or of the guardian.
// Labels: unsanitized
#include <fstream>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "support/process.hpp"
#include "support/server.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

// Runs a bash script in a PID namespace of its own, in which `new_process_with PID COMMAND`
// starts the command, $victim, with that number. It has the program as $rlock, the server as $url
// and a directory as $dir. Returns nothing, and says so, where there is no namespace to be had.
std::optional<Result> run_in_namespace(const Server& server, const std::string& script) {
  const std::string path = server.directory() + "/in_namespace.sh";
  std::ofstream(path) << "rlock=$1; url=$2; dir=$3\n"
                         "new_process_with() {\n"
                         "  local pid=$1; shift\n"
                         "  echo $((pid - 1)) >/proc/sys/kernel/ns_last_pid\n"
                         "  \"$@\" & victim=$!\n"
                         "  [ $victim = $pid ] && echo reused\n"
                         "}\n"
                      << script
                      << "kill -0 $victim && echo victim lives\n"
                         "kill -9 $victim\n";
  const Result result = run({"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "bash",
                             path, rlock_program(), server.unix_url(), server.directory()});
  if (!has(result.err, "unshare")) return result;
  MESSAGE("skipped: no PID namespace to be had: " << result.err);
  return std::nullopt;
}

}  // namespace

TEST_CASE("rlock does not kill a process group that has got the number of the command's") {
  const Server server;
  const auto result = run_in_namespace(
      server,
      "$rlock exec -q -r $url --at-most 3s --kill-after 5s job -- sh -c 'echo $$ >$0/group; "
      "env --ignore-signal=TERM setsid sh -c \"touch $0/deaf; exec sleep 1000\" & "
      "exec sleep 1000' $dir &\n"
      "while [ ! -e $dir/deaf ]; do sleep 0.02; done\n"
      "group=$(cat $dir/group)\n"
      "while [ -e /proc/$group/stat ] && ! grep -q ') Z' /proc/$group/stat; do sleep 0.02; done\n"
      "new_process_with $group setsid sleep 1000\n"
      "wait %1; echo status=$?\n");
  if (!result) return;
  CAPTURE(result->out);
  CAPTURE(result->err);
  // rlock keeps the number as long as it may kill by it: it reaps the leader last.
  CHECK(result->out == "status=124\nvictim lives\n");
}

TEST_CASE("rlock does not kill a process that has got the number of its guardian") {
  const Server server;
  // The guardian cannot be replaced: there is no descriptor for it.
  const auto result = run_in_namespace(
      server,
      "mkfifo $dir/go\n"
      "$rlock exec -r $url job -- sh -c 'touch $0/started; read line <$0/go' $dir & holder=$!\n"
      "while [ ! -e $dir/started ]; do sleep 0.02; done\n"
      "guardian=$(grep -l lock-guardian /proc/[0-9]*/comm | cut -d / -f 3)\n"
      "limit=0; while [ -e /proc/$holder/fd/$limit ]; do limit=$((limit + 1)); done\n"
      "prlimit --pid $holder --nofile=$limit:$limit\n"
      "kill -9 $guardian\n"
      "while [ -e /proc/$guardian ]; do sleep 0.02; done\n"
      "new_process_with $guardian sleep 1000\n"
      "echo >$dir/go\n"
      "wait $holder; echo status=$?\n");
  if (!result) return;
  CAPTURE(result->out);
  CAPTURE(result->err);
  CHECK(result->out == "reused\nstatus=0\nvictim lives\n");
}

TEST_CASE("a guardian does not kill a process group that has got the number of the command's") {
  const Server server({.args = {"--unixsocketperm", "777"}});
  // One process cannot be killed, so that the guardian goes on when its rlock has died.
  const auto result = run_in_namespace(
      server,
      "chmod 777 $dir; cp /usr/bin/setpriv $dir/become-root; chmod 4755 $dir/become-root\n"
      "as_nobody='setpriv --reuid nobody --clear-groups'\n"
      "$as_nobody $rlock exec -q -r $url --lease 6s job -- sh -c 'echo $$ >$0/group; "
      "$0/become-root --reuid 0 setsid sh -c \"echo \\$\\$ >$0/unkillable; exec sleep 1000\" & "
      "exec sleep 1000' $dir & holder=$!\n"
      "while [ ! -s $dir/unkillable ]; do sleep 0.02; done\n"
      "guardian=$(grep -l lock-guardian /proc/[0-9]*/comm | cut -d / -f 3)\n"
      "group=$(cat $dir/group)\n"
      "kill -STOP $holder\n"
      "until grep -q ') Z' /proc/$group/stat; do sleep 0.02; done\n"
      "kill -KILL $holder\n"
      "while [ -e /proc/$group ]; do sleep 0.02; done\n"
      "new_process_with $group $as_nobody setsid sleep 1000\n"
      "pauses() { sed -n 's/^voluntary_ctxt_switches:\t//p' /proc/$guardian/status; }\n"
      "enough=$(($(pauses) + 20))\n"
      "while [ $(pauses) -lt $enough ]; do sleep 0.02; done\n"
      "kill -9 $(cat $dir/unkillable)\n"
      "while [ -e /proc/$guardian ]; do sleep 0.02; done; echo guardian has ended\n");
  if (!result) return;
  CAPTURE(result->out);
  CAPTURE(result->err);
  CHECK(result->out == "reused\nguardian has ended\nvictim lives\n");
}
