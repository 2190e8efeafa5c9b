#!/usr/bin/env bash
# The rules of the house (ARCHITECTURE.md): which room may include which, which libraries a room may
# use, how long a file may be and how none may be called.  Prints each violation.
#   arrows_test.sh PROGRAM SOURCE_DIR
set -euo pipefail

# The rooms that a room may include, apart from itself.
declare -A allowed=(
    [main]="cli base"
    [cli]="lock process redis base"
    [lock]="redis base"
    [redis]="tls base"
    [tls]=""
    [process]="base"
    [base]=""
)
# Only these files of cli see processes.
sees_processes='^cli/(exec|exec_plan|list|watch|acquire|background_watchdog|taking)\.[ch]pp$'
longest_source=260
longest_header=110

room_of() {
    case $1 in
        */*) echo "${1%%/*}" ;;
        main.cpp) echo main ;;
        *) echo "?" ;;
    esac
}

# Prints what is wrong with the include of $2 in the file $1.
check_include() {
    local file=$1 header=$2 room target
    room=$(room_of "$file")
    case $header in
        hiredis/*) [[ $room == redis ]] || echo "$file: <$header> belongs to src/redis" ;;
        openssl/*) [[ $room == tls ]] || echo "$file: <$header> belongs to src/tls" ;;
        CLI/*) [[ $room == cli ]] || echo "$file: <$header> belongs to src/cli" ;;
        nlohmann/*) [[ $room == cli || $file == lock/owner_info.cpp ]] ||
            echo "$file: <$header> belongs to src/cli" ;;
        *..*) echo "$file: \"$header\": includes start at src/" ;;
    esac
    target=$(room_of "$header")
    [[ $target != "$room" && -v "allowed[$target]" ]] || return 0
    if [[ " ${allowed[$room]} " != *" $target "* ]]; then
        echo "$file: \"$header\": $room may not include $target"
    elif [[ $target == tls && $header != tls/module.hpp ]]; then
        # Another file: what it loads.
        echo "$file: \"$header\": of tls, only module.hpp is for others"
    elif [[ $room/$target == cli/process && ! $file =~ $sees_processes ]]; then
        echo "$file: \"$header\": only exec, exec_plan, list, watch, acquire, background_watchdog and taking may include process"
    fi
}

check_file() {
    local file=$1 lines most=$longest_source
    if [[ ! -v "allowed[$(room_of "$file")]" ]]; then
        echo "$file: no such room"
        return
    fi
    case ${file##*/} in
        *util* | *manager* | *helper*) echo "$file: a name that says nothing" ;;
    esac
    [[ $file != *.hpp ]] || most=$longest_header
    lines=$(wc -l <"$file")
    ((lines <= most)) || echo "$file: $lines lines, at most $most"
}

# Prints all violations below the directory $1.
check_tree() (
    cd -- "$1"
    find . -type f \( -name '*.[ch]pp' -o -name '*.[ch]' -o -name '*.cc' \) -printf '%P\n' | sort |
        while read -r file; do
            check_file "$file"
        done
    grep -rEn --include='*.[ch]pp' '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]' . |
        sed -E 's|^\./([^:]*):[0-9]*:[^<"]*[<"]([^>"]*).*|\1 \2|' | sort |
        while read -r file header; do
            check_include "$file" "$header"
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
violations=$(check_tree "$source_dir/src")
if [[ -n $violations ]]; then
    echo "$violations"
    exit 1
fi

# What finds nothing must be able to find something: planted in a copy.
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
cp -r -- "$source_dir/src" "$scratch/src"
plant base/clock.cpp '#include "redis/url.hpp"\n' '"redis/url.hpp": base may not include redis'
plant lock/lease.hpp '# include "process/child.hpp"\n' '"process/child.hpp": lock may not'
plant process/child.cpp '#include "lock/lease.hpp"\n' '"lock/lease.hpp": process may not'
plant main.cpp '#include "lock/lease.hpp"\n' '"lock/lease.hpp": main may not include lock'
plant cli/renew.cpp '#include "process/child.hpp"\n' '"process/child.hpp": only exec,'
plant cli/renew.cpp '#include <hiredis/hiredis.h>\n' '<hiredis/hiredis.h> belongs to src/redis'
plant redis/socket.cpp '#include "tls/failure.hpp"\n' '"tls/failure.hpp": of tls, only module.hpp'
plant redis/socket.cpp '#include <openssl/ssl.h>\n' '<openssl/ssl.h> belongs to src/tls'
plant tls/session.cpp '#include "base/error.hpp"\n' '"base/error.hpp": tls may not include base'
plant cli/renew.cpp '#include "tls/module.hpp"\n' '"tls/module.hpp": cli may not include tls'
plant lock/held.cpp ' #include <CLI/CLI.hpp>\n' '<CLI/CLI.hpp> belongs to src/cli'
plant lock/lock_util.cpp '\n' 'a name that says nothing'
plant util/x.hpp '\n' 'no such room'
plant lock/long.hpp "$(printf '\\n%.0s' {1..111})" '111 lines, at most 110'
plant lock/long.cpp "$(printf '\\n%.0s' {1..261})" '261 lines, at most 260'
found=$(check_tree "$scratch/src")
for complaint in "${expected[@]}"; do
    if [[ $found != *"$complaint"* ]]; then
        echo "self-check: not found: $complaint"
        exit 1
    fi
done
echo "no violation"
