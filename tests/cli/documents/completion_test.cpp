// rlock completion: what it prints is what the packages install, and works where a shell sources
// it.
#include <string>

#include <doctest/doctest.h>

#include "support/contents.hpp"
#include "support/process.hpp"
#include "support/words.hpp"

using namespace rlock::test;

namespace {

ProcessOptions with_program() { return {.env = {{"RLOCK", rlock_program()}}}; }

}  // namespace

TEST_CASE("completion prints the file of each shell, and knows no other shell") {
  const std::string folder = RLOCK_SOURCE_DIR "/completions/";
  for (const auto& [shell, file] : {std::pair("bash", "rlock.bash"), std::pair("zsh", "_rlock"),
                                    std::pair("fish", "rlock.fish")}) {
    const Result result = run({rlock_program(), "completion", shell});
    CHECK(result.status == 0);
    CHECK(result.out == contents(folder + file));
    CHECK(result.err.empty());
  }
  for (const Words& words : {Words{"csh"}, Words{""}, Words{}, Words{"bash", "zsh"}}) {
    Words argv{rlock_program(), "completion"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Result result = run(argv);
    CHECK(result.status == 64);
    CHECK(result.out.empty());
    CHECK(is_one_message(result.err));
  }
}

TEST_CASE("completion: a shell that sources what is printed completes rlock") {
  CHECK(run({"bash", "--norc", "-c", "source <(\"$RLOCK\" completion bash); complete -p rlock"},
            with_program())
            .out == "complete -F _rlock rlock\n");
  CHECK(run({"zsh", "-f", "-c",
             "autoload -U compinit; compinit -D; source <($RLOCK completion zsh); print "
             "$_comps[rlock]"},
            with_program())
            .out == "_rlock\n");
  CHECK(has(run({"fish", "--no-config", "-c",
                 "$RLOCK completion fish | source; complete -C 'rlock inspect'"},
                with_program())
                .out,
            "inspect-queue"));
}
