#!/usr/bin/env bash
# Checks the rules of ARCHITECTURE.md, and prints each violation: which room may include which, which
# libraries a room may use, which names files may have, that lock makes no sentences and no commands, that
# only cli names options, that the arguments of scripts have names, and that a unit test lies as the file that
# it tests.
#   arrows_test.sh PROGRAM SOURCE_DIR
set -euo pipefail

# The rooms that a room may include, apart from itself: patterns, in which lock/* stands for all
# rooms below lock. lock/kinds/* is the room of any kind of lock.
declare -A allowed=(
    [main]="cli cli/terminal base"
    [cli]="cli/commands cli/taking cli/output cli/settings cli/parsing cli/terminal redis base"
    [cli/commands]="cli/* lock lock/* process redis base"
    [cli/watching]="cli/output cli/settings cli/terminal lock/inspection lock/words redis base"
    [cli/taking]="cli/output cli/settings cli/terminal lock lock/* process redis base"
    [cli/output]="cli/settings cli/terminal lock/inspection lock/servers lock/words redis base"
    [cli/settings]="cli/parsing cli/terminal lock/kinds/* lock/servers lock/words redis base"
    [cli/parsing]=""
    [cli/terminal]="base"
    [lock]="lock/kinds lock/kinds/* lock/servers lock/words base"
    [lock/inspection]="lock/servers lock/words redis base"
    [lock/holding]="lock/kinds lock/servers lock/words redis base"
    [lock/kinds/*]="lock/kinds/plain lock/kinds lock/servers lock/words redis base"
    [lock/kinds]="lock/servers lock/words redis base"
    [lock/servers]="lock/words redis base"
    [lock/words]="base"
    [redis]="tls base"
    [tls]=""
    [process]="base"
    [base]=""
)
# Only these files of cli see processes.
sees_processes='^cli/(commands/exec|taking/(background_watchdog|taking))\.[ch]pp$'
# These unit tests are of no file of src: quorum_token/simulation tests a design.
tests_no_file="quorum_token/simulation"

# Sets `room` to the room of a file, or of a header. The build makes two headers of lua/.
find_room() {
    case $1 in
        lua_scripts.hpp) room=lock/servers ;;
        lua_limits.hpp) room=lock/words ;;
        */*) room=${1%/*} ;;
        main.cpp) room=main ;;
        *) room="?" ;;
    esac
}

is_room() { [[ -v "allowed[$1]" || $1 =~ ^lock/kinds/[a-z_]+$ ]]; }

# Whether room $1 may include room $2.
may_include() {
    local pattern
    for pattern in ${allowed[$1]-${allowed[lock/kinds/*]}}; do
        # shellcheck disable=SC2053  # a pattern it is
        [[ $2 != $pattern ]] || return 0
    done
    return 1
}

# Prints what is wrong with the include of $2 in the file $1.
check_include() {
    local file=$1 header=$2 room target
    find_room "$header"
    target=$room
    find_room "$file"
    case $header in
        hiredis/*) [[ $room == redis ]] || echo "$file: <$header> belongs to src/redis" ;;
        openssl/*) [[ $room == tls ]] || echo "$file: <$header> belongs to src/tls" ;;
        CLI/*) [[ $file == cli/app.cpp || $room == cli/parsing ]] || echo "$file: <$header> belongs to src/cli/parsing" ;;
        nlohmann/*) [[ $file == cli/* || $file == lock/words/owner_info.cpp ]] ||
            echo "$file: <$header> belongs to src/cli" ;;
        lua_*) [[ $file == lock/* ]] || echo "$file: \"$header\" belongs to src/lock" ;;
        *..*) echo "$file: \"$header\": includes start at src/" ;;
    esac
    case $file:$header in
        lock/*:base/shell_quote.hpp | lock/*:base/wording.hpp | lock/*:base/duration.hpp)
            echo "$file: \"$header\": lock tells facts; cli/output puts them into words" ;;
    esac
    if [[ $target == "$room" ]] || ! is_room "$target"; then return 0; fi
    if ! may_include "$room" "$target"; then
        echo "$file: \"$header\": $room may not include $target"
    elif [[ $target == tls && $header != tls/module.hpp ]]; then
        # Another file: what it loads.
        echo "$file: \"$header\": of tls, only module.hpp is for others"
    elif [[ $target == process && ! $file =~ $sees_processes ]]; then
        echo "$file: \"$header\": only exec, background_watchdog and taking may include process"
    fi
}

check_name() {
    local file=$1 room
    find_room "$file"
    is_room "$room" || echo "$file: no such room"
    case ${file##*/} in
        *util* | *manager* | *helper*) echo "$file: a name that says nothing" ;;
    esac
}

# Prints the texts of lock, process, redis and tls that name an option, such as "--fence" or "-s".
# redis/local_server.cpp names the options of redis-server.
named_options() {
    grep -rnoE --include='*.[ch]pp' '"([^"\\]|\\.)*"' lock process redis tls | sort |
        sed -nE '/^redis\/local_server\.cpp:/d
            s/^([^:]*):[0-9]+:("(.*[ (])?(--[a-z]|-[A-Za-z][^A-Za-z0-9-]).*)/\1: \2: only cli names options/p'
}

# Prints the sentences of lock, which belong to cli/output: texts with a letter and a space, outside of
# comments. Only what a redis::ProtocolError says of a reply is a part of a sentence of redis.
sentences() {
    local text='"([^"\\]|\\.)*"'
    grep -rnoE --include='*.[ch]pp' "//.*|'([^'\\\\]|\\\\.)+'|ProtocolError\($text|$text" lock | sort |
        sed -nE 's/^([^:]*):[0-9]+:(".*([A-Za-z].* | .*[A-Za-z]).*")$/\1: \2: lock tells facts; cli\/output has the words/p'
}

# Prints the calls of scripts whose arguments are told apart by their places only: most keys of a script
# have one type, and the compiler would take two that are swapped.
nameless_arguments() {
    { grep -rPzo --include='*.[ch]pp' 'lua::\w+::Call( \w+)?[{(](?!\s*+\.)' . || true; } | tr '\0' '\n' |
        sed -E 's|^\./([^:]*):(.*)|\1: \2: name the arguments|'
}

# Prints all violations below the directory $1.
check_tree() (
    cd -- "$1"
    mapfile -t files < <(find . -type f \( -name '*.[ch]pp' -o -name '*.[ch]' -o -name '*.cc' \) -printf '%P\n' | sort)
    for file in "${files[@]}"; do
        check_name "$file"
    done
    grep -rEn --include='*.[ch]pp' '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' . |
        sed -E 's|^\./([^:]*):[0-9]*:[^<"]*[<"]([^>"]*).*|\1 \2|' | sort |
        while read -r file header; do
            check_include "$file" "$header"
        done
    named_options
    sentences
    nameless_arguments
)

# Prints the unit tests of the directory $1 whose file src lacks: tests/unit/A/B/c_test.cpp tests src/A/B/c.
check_mirror() (
    cd -- "$1"
    local name
    find tests/unit -name '*_test.cpp' -printf '%P\n' | sort | while read -r name; do
        name=${name%_test.cpp}
        [[ " $tests_no_file " == *" $name "* || -e src/$name.cpp || -e src/$name.hpp ]] ||
            echo "tests/unit/${name}_test.cpp: src has no such file"
    done
)

# Adds the text $2 to the file $1 of the copy; check_tree must then complain about $1 with $3.
declare -a expected=()
plant() {
    mkdir -p -- "$(dirname -- "$scratch/src/$1")"
    printf '%b' "$2" >>"$scratch/src/$1"
    expected+=("$1: $3")
}

source_dir=$2
violations=$(check_tree "$source_dir/src" && check_mirror "$source_dir")
if [[ -n $violations ]]; then
    echo "$violations"
    exit 1
fi

# What finds nothing must be able to find something: planted in a copy.
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
cp -r -- "$source_dir/src" "$scratch/src"
plant base/clock.cpp '#include "redis/url.hpp"\n' '"redis/url.hpp": base may not include redis'
plant lock/words/lease.hpp '# include "process/child.hpp"\n' '"process/child.hpp": lock/words may not'
plant lock/words/lease.hpp '#include "lock/servers/session.hpp"\n' '"lock/servers/session.hpp": lock/words may not include lock/servers'
plant lock/servers/session.hpp '#include "lock/kinds/lock.hpp"\n' '"lock/kinds/lock.hpp": lock/servers may not include lock/kinds'
plant lock/kinds/plain/plain.hpp '#include "lock/kinds/fair/fair.hpp"\n' '"lock/kinds/fair/fair.hpp": lock/kinds/plain may not'
plant lock/kinds/other/x.hpp '#include "lock/kinds/fair/fair.hpp"\n' '"lock/kinds/fair/fair.hpp": lock/kinds/other may not'
plant lock/inspection/repair.hpp '#include "lock/holding/waiting.hpp"\n' '"lock/holding/waiting.hpp": lock/inspection may not'
plant lock/inspection/listened.cpp '#include "base/shell_quote.hpp"\n' '"base/shell_quote.hpp": lock tells facts'
plant lock/servers/session.cpp '#include "base/wording.hpp"\n' '"base/wording.hpp": lock tells facts'
plant lock/inspection/server_health.cpp '#include "base/duration.hpp"\n' '"base/duration.hpp": lock tells facts'
plant lock/holding/waiting.cpp '#include "base/duration.hpp"\n' '"base/duration.hpp": lock tells facts'
plant lock/make_lock.cpp 'throw Refused(name, "it is in use"); // "no"\n' '"it is in use": lock tells facts'
plant lock/words/kind.cpp 'f(":: \\"a\\", or b", x);\n' '":: \"a\", or b": lock tells facts'
plant lock/kinds/layout.hpp 'const char* k_why = "redis://a: " "away"; // the rest\n' '"redis://a: ": lock tells facts'
plant lock/make_lock.cpp 'throw Error("--fence: not for a reader");\n' '"--fence: not for a reader": only cli names options'
plant lock/inspection/repair.cpp 'f("take it with (-s)", -x, "or \\"-x\\"");\n' '"take it with (-s)": only cli names options'
plant redis/url.cpp 'f("a", -x, "give -r");\n' '"give -r": only cli names options'
plant tls/failure.cpp 'f("give --tls-ca");\n' '"give --tls-ca": only cli names options'
plant process/caller.cpp 'f("give --pid");\n' '"give --pid": only cli names options'
plant process/child.cpp '#include "lock/words/lease.hpp"\n' '"lock/words/lease.hpp": process may not'
plant main.cpp '#include "lock/words/lease.hpp"\n' '"lock/words/lease.hpp": main may not include lock/words'
plant cli/output/table.cpp '#include "cli/watching/watch_screen.hpp"\n' '"cli/watching/watch_screen.hpp": cli/output may not include cli/watching'
plant cli/settings/toml.cpp '#include "cli/output/table.hpp"\n' '"cli/output/table.hpp": cli/settings may not include cli/output'
plant cli/commands/renew.cpp '#include "process/child.hpp"\n' '"process/child.hpp": only exec,'
plant cli/commands/renew.cpp '#include <hiredis/hiredis.h>\n' '<hiredis/hiredis.h> belongs to src/redis'
plant redis/socket.cpp '#include "tls/failure.hpp"\n' '"tls/failure.hpp": of tls, only module.hpp'
plant redis/socket.cpp '#include <openssl/ssl.h>\n' '<openssl/ssl.h> belongs to src/tls'
plant tls/session.cpp '#include "base/error.hpp"\n' '"base/error.hpp": tls may not include base'
plant cli/commands/renew.cpp '#include "tls/module.hpp"\n' '"tls/module.hpp": cli/commands may not include tls'
plant cli/commands/renew.cpp ' #include <CLI/CLI.hpp>\n' '<CLI/CLI.hpp> belongs to src/cli/parsing'
plant lock/lock_util.cpp '\n' 'a name that says nothing'
plant util/x.hpp '\n' 'no such room'
plant cli/output/table.cpp '#include "lua_limits.hpp"\n' '"lua_limits.hpp" belongs to src/lock'
plant lock/words/lease.hpp '#include "lua_scripts.hpp"\n' '"lua_scripts.hpp": lock/words may not'
plant lock/make_lock.cpp 'f(lua::renew::Call{\n    lock, info});\n' 'lua::renew::Call{: name the arguments'
plant lock/inspection/repair.cpp 'const lua::renew::Call call(lock, info);\n' 'lua::renew::Call call(: name the arguments'
plant lock/other/x.hpp '\n' 'no such room'
found=$(check_tree "$scratch/src")
for complaint in "${expected[@]}"; do
    if [[ $found != *"$complaint"* ]]; then
        echo "self-check: not found: $complaint"
        exit 1
    fi
done
mkdir -p -- "$scratch/tests/unit/"{lock/words,quorum_token}
touch -- "$scratch/tests/unit/"{lock/words/lease,lock/lease,lock_words_lease,quorum_token/simulation}_test.cpp
found=$(check_mirror "$scratch")
if [[ $found != "tests/unit/lock/lease_test.cpp: src has no such file
tests/unit/lock_words_lease_test.cpp: src has no such file" ]]; then
    echo "self-check: the unit tests that mirror no file: $found"
    exit 1
fi
echo "no violation"
