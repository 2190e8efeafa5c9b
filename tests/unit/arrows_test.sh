#!/usr/bin/env bash
# Checks which rooms of src may include which, and which libraries they may use (ARCHITECTURE.md has the drawing); that
# the arguments of scripts have names; and that a unit test lies as the file that it tests.
#   arrows_test.sh PROGRAM SOURCE_DIR
set -euo pipefail

# What a room may include, apart from itself: patterns of rooms (lock/* stands for all below lock) and libraries. "lua"
# are the headers that the build makes of lua/; of tls, only module.hpp is for others: it loads the rest.
declare -A allowed=(
    [main]="cli cli/terminal base"
    [cli]="cli/commands cli/taking cli/output cli/settings cli/parsing cli/terminal redis base CLI"
    [cli/commands]="cli/* lock lock/* process redis base"
    [cli/watching]="cli/output cli/settings cli/terminal lock/inspection lock/words redis base"
    [cli/taking]="cli/output cli/settings cli/terminal lock lock/* process redis base"
    [cli/output]="cli/settings cli/terminal lock/inspection lock/servers lock/words redis base nlohmann"
    [cli/settings]="cli/parsing cli/terminal lock/kinds lock/servers lock/words redis base"
    [cli/parsing]="CLI"
    [cli/terminal]="base"
    [lock]="lock/kinds lock/servers lock/words base lua"
    [lock/inspection]="lock/servers lock/words redis base lua"
    [lock/holding]="lock/kinds lock/servers lock/words redis base lua"
    [lock/kinds]="lock/servers lock/words redis base lua"
    [lock/servers]="lock/words redis base lua"
    [lock/words]="base lua nlohmann"
    [redis]="tls/module.hpp base hiredis"
    [tls]="openssl"
    [process]="base"
    [base]=""
)

# Prints the includes below the directory $1 that are not allowed.
check_includes() (
    cd -- "$1"
    grep -rEo --include='*.[ch]pp' '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"][^>"]*[./][^>"]*' . | sort |
        sed -E 's|^\./([^:]*):[^<"]*[<"](.*)|\1 \2|' | while read -r file header; do
            room=${file%/*} target=${header%/*} row=${file%/*}
            [[ $file != main.cpp ]] || row=main
            case $header in
                tls/module.hpp) [[ $room == tls ]] || target=$header ;;
                lua_*) target=lua ;;
                sys/* | net/* | netinet/* | arpa/* | *.h) [[ $header =~ ^(hiredis|openssl)/ ]] || continue ;;
            esac
            [[ -v "allowed[$row]" ]] || { echo "$file: there is no such room"; continue; }
            is_allowed=
            for pattern in "$room" ${allowed[$row]}; do
                # shellcheck disable=SC2053  # a pattern it is
                [[ $target != $pattern ]] || is_allowed=yes
            done
            [[ -n $is_allowed ]] || echo "$file: \"$header\": $row may not include $target"
        done
)

# Prints the calls of scripts whose arguments are told apart by their places only: most keys of a script
# have one type, and the compiler would take two that are swapped.
nameless_arguments() {
    { grep -rPzo --include='*.[ch]pp' 'lua::\w+::Call( \w+)?[{(](?!\s*+\.)' "$1" || true; } | tr '\0' '\n' |
        sed -E 's|^([^:]*):(.*)|\1: \2: name the arguments|'
}

# Prints the unit tests whose file src lacks: tests/unit/A/B/c_test.cpp tests src/A/B/c.
homeless_tests() {
    local name
    find "$1/tests/unit" -name '*_test.cpp' -printf '%P\n' | sort | while read -r name; do
        name=${name%_test.cpp}
        [[ $name == quorum_token/simulation || -e $1/src/$name.cpp || -e $1/src/$name.hpp ]] ||
            echo "tests/unit/${name}_test.cpp: src has no such file"
    done
}

violations=$(check_includes "$2/src" && nameless_arguments "$2/src" && homeless_tests "$2")
if [[ -n $violations ]]; then
    echo "$violations"
    exit 1
fi

# What finds nothing must be able to find something.
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
mkdir -p -- "$scratch"/{base,cli/output,lock/kinds,other,redis}
echo '#include "redis/url.hpp"' >"$scratch/base/a.cpp"
echo ' # include <CLI/CLI.hpp>' >"$scratch/cli/output/b.hpp"
echo '#include "lock/holding/waiting.hpp"' >"$scratch/lock/kinds/c.cpp"
echo '#include "base/error.hpp"' >"$scratch/other/d.cpp"
echo '#include "tls/session.hpp"' >"$scratch/redis/e.cpp"
echo '#include "lua_limits.hpp"' >"$scratch/cli/output/f.cpp"
found=$(check_includes "$scratch" | wc -l)
((found == 6)) || { echo "self-check: $found of 6 were found"; exit 1; }
echo "no violation"
