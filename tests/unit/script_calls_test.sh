#!/usr/bin/env bash
# A call of a script that lacks an argument, has two of them swapped or one too many, does not
# compile. Prints each that does. The arguments have names: arrows_test.sh sees to that.
#   script_calls_test.sh PROGRAM SOURCE_DIR
set -euo pipefail

generated=$(dirname -- "$1")/src
source=$2
if [[ ! -f $generated/lua_scripts.hpp ]]; then
    echo "skipped: no generated headers beside the program"
    exit 77
fi

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
compile=("${CXX:-c++}" -std=c++20 -Werror=missing-field-initializers -Wall -Wextra -I"$source/src" -I"$generated")
# With this header precompiled, a call takes a tenth of the time.
echo '#include "lua_scripts.hpp"' >"$work/scripts.hpp"
"${compile[@]}" -x c++-header "$work/scripts.hpp"

# Whether the compiler takes the text for a call of renew.lua.
compiles() {
    "${compile[@]}" -fsyntax-only -include "$work/scripts.hpp" -x c++ - >/dev/null 2>&1 <<END
using namespace rlock;
const Key lock("job"), info("rlock_info:{job}");
const std::string owner = "u:1";
const Milliseconds lease(30000);
const decltype(lua::acquire::Call::fencing) fencing = "${2:-peek}";
const redis::ScriptCall call = lua::renew::Call{$1};
END
}

failed=0
refused() {
    if compiles "$2" "${3:-peek}"; then
        echo "compiles: $1"
        failed=1
    fi
}

whole='.lock = lock, .lease = lease, .owner = owner, .info = info, .latch = std::nullopt'
if ! compiles "$whole"; then
    echo "does not compile: $whole"
    exit 1
fi
refused "an argument is forgotten" '.lock = lock, .lease = lease, .info = info, .latch = std::nullopt'
refused "the last one is forgotten" '.lock = lock, .lease = lease, .owner = owner, .info = info'
refused "the key is forgotten" '.lease = lease, .owner = owner, .info = info, .latch = std::nullopt'
refused "two are swapped" '.lock = lock, .owner = owner, .lease = lease, .info = info, .latch = std::nullopt'
refused "a key for a text" '.lock = lock, .lease = lease, .owner = info, .info = info, .latch = std::nullopt'
refused "a text for a key" '.lock = lock, .lease = lease, .owner = owner, .info = owner, .latch = std::nullopt'
refused "a number without a unit" '.lock = lock, .lease = 30000, .owner = owner, .info = info, .latch = std::nullopt'
refused "one too many" "$whole, .keep = lease"
refused "another word" "$whole" peak
exit "$failed"
