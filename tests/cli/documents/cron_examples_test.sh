#!/usr/bin/env bash
# docs/cron.md: runs each line of its crontabs as cron does, and each ExecStart= of its units as systemd
# does, on ten hosts at once and then on one that is late. One host runs the job, and nothing is printed.
# Usage: cron_examples_test.sh PROGRAM SOURCE_DIR
set -uo pipefail
unset BASH_ENV ENV
export LC_ALL=C

program=$1
document=$2/docs/cron.md
scratch=$(mktemp -d) || exit 1
mkdir "$scratch/bin" "$scratch/found"
ln -s "$program" "$scratch/bin/rlock"
for job in backup report poll restart-service; do
  printf '#!/bin/sh\necho >>%s/runs\nexit "${FAIL:-0}"\n' "$scratch" >"$scratch/bin/$job"
done
# All hosts agree on the slot, also where the test comes to the end of one.
printf '#!/bin/sh\nexec /bin/date -d @1795302248 "$@"\n' >"$scratch/bin/date"
printf '#!/bin/sh\necho >>%s/pings\n' "$scratch" >"$scratch/bin/curl"
chmod +x "$scratch"/bin/*
failures=0
lines=0
server=

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

clean_up() {
  [[ -z $server ]] || kill -9 "$server" 2>/dev/null
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

redis() { timeout 30 redis-cli -s "$scratch/s" "$@"; }

start_server() {
  local tries
  redis-server --port 0 --unixsocket "$scratch/s" --save '' --dir "$scratch" >"$scratch/log" 2>&1 &
  server=$!
  for ((tries = 0; tries < 600; ++tries)); do
    if [[ $(redis ping 2>/dev/null) == PONG ]]; then return; fi
    sleep 0.1
  done
  cat "$scratch/log"
  echo "no server can be started"
  exit 1
}

# blocks LANGUAGE: what stands in the document's blocks, in the places of this test.
blocks() {
  awk -v mark="\`\`\`$1" '/^```/ { inside = ($0 == mark); next } inside' "$document" |
    sed "s#/usr/local/bin#$scratch/bin#g; s#/usr/bin/rlock#$program#g; s#redis://redis.example.org#unix://$scratch/s#g"
}

# cron_command LINE: sets command and input, as cron does: the first % ends the command, others are
# ends of lines, and \% is a %.
cron_command() {
  local rest=$1 mark=$'\001'
  rest=${rest//\\%/$mark}
  command=${rest%%%*}
  input=
  [[ $rest == "$command" ]] || input=${rest#*%}
  input=${input//%/$'\n'}
  command=${command//$mark/%}
  input=${input//$mark/%}
}

# on_a_host NAME COMMAND ASSIGNMENT...: runs it with as little as cron gives; keeps what it prints.
on_a_host() {
  local name=$1 line=$2
  shift 2
  env -i HOME="$scratch" LOGNAME=me SHELL=/bin/sh PATH="$scratch/bin:/usr/bin:/bin" \
    RLOCK_REDIS="unix://$scratch/s" "$@" timeout 120 /bin/sh -c "$line" \
    <<<"$input" >"$scratch/found/$name" 2>&1
  echo "$?" >"$scratch/found/$name.status"
}

runs() { wc -l <"$scratch/runs"; }

# check LINE RUNS SKIPPED ASSIGNMENT...: ten hosts and a late one; SKIPPED is the status of a run that
# is skipped.
check() {
  local line=$1 expected=$2 skipped=$3 host hosts=() status
  shift 3
  ((++lines))
  redis flushall >/dev/null
  rm -f "$scratch"/found/*
  : >"$scratch/runs"
  : >"$scratch/pings"
  for host in 1 2 3 4 5 6 7 8 9 10; do
    on_a_host "$host" "$line" "$@" &
    hosts+=($!)
  done
  wait "${hosts[@]}"
  [[ $(runs) == "$expected" ]] || fail "$(runs) runs instead of $expected: $line"
  if ((expected == 1)); then
    on_a_host late "$line" "$@"
    [[ $(runs) == 1 ]] || fail "a late host runs it again: $line"
  fi
  for status in "$scratch"/found/*.status; do
    if [[ $(<"$status") == 0 && ! -s ${status%.status} ]]; then continue; fi
    if ((skipped != 0)) && [[ $(<"$status") == "$skipped" ]]; then continue; fi
    fail "status $(<"$status"), and it prints '$(<"${status%.status}")': $line"
  done
}

if ! command -v redis-server >/dev/null || ! command -v redis-cli >/dev/null; then
  echo "skipped: redis-server or redis-cli is not installed"
  exit 77
fi
start_server

# --- crontabs ------------------------------------------------------------------------------------

settings=()
first=
mailing=
while IFS= read -r line; do
  if [[ $line =~ ^([A-Z_]+)=(.*)$ ]]; then
    settings+=("$line")
    continue
  fi
  read -r _ _ _ _ _ line <<<"$line"
  cron_command "$line"
  expected=1
  [[ $command != *" -w "* ]] || expected=10
  check "$command" "$expected" 0 ${settings[@]+"${settings[@]}"}
  case $command in
    *report-* | *poll-*) slot=$(redis keys '*-[0-9]*' | grep -v '^rlock_info:') ;;&
    *report-*) [[ $slot == report-20261121T23 ]] || fail "a slot of the name $slot" ;;
    *curl*) [[ $(wc -l <"$scratch/pings") == 1 ]] || fail "$(wc -l <"$scratch/pings") hosts tell the monitor" ;;
    *poll-*) [[ $slot == poll-5984340 ]] || fail "a slot of the name $slot" ;;
    *'||'*) mailing=$command ;;
    *) [[ -n $first ]] || first=$command ;;
  esac
  settings_of_mailing=("${settings[@]+"${settings[@]}"}")
done < <(blocks crontab)
((lines == 8)) || fail "$lines lines of crontabs instead of 8"

# What is mailed.
input=
redis flushall >/dev/null
on_a_host failed "$mailing" "${settings_of_mailing[@]}" FAIL=3
[[ $(<"$scratch/found/failed") == 'backup: status 3' ]] || fail "of a job that fails: $(<"$scratch/found/failed")"
on_a_host verbose "${first/ -n / -v -n }"
[[ $(<"$scratch/found/verbose") == 'rlock: backup: not acquired: kept by --at-least until '* ]] || fail "-v: $(<"$scratch/found/verbose")"

# --- units ---------------------------------------------------------------------------------------

lines=0
while IFS= read -r line; do
  line=${line#ExecStart=}
  line=${line//%%/%}
  check "${line//\$\$/\$}" 1 75
done < <(blocks ini | grep '^ExecStart=')
((lines == 2)) || fail "$lines ExecStart= instead of 2"
if command -v systemd-analyze >/dev/null; then
  blocks ini | sed "/^ExecStart=.bin.sh/d" |
    awk -v folder="$scratch" '/^\[Unit\]/ { ++units } { print > (folder "/rlock-example." (units == 1 ? "service" : "timer")) }'
  found=$(timeout 60 systemd-analyze verify "$scratch/rlock-example.service" "$scratch/rlock-example.timer" 2>&1 | grep rlock-example)
  [[ -z $found ]] || fail "systemd-analyze: $found"
fi

# --- without a server ----------------------------------------------------------------------------

kill "$server"
wait "$server"
server=
on_a_host away "$first"
[[ $(<"$scratch/found/away.status") == 69 ]] || fail "without a server: status $(<"$scratch/found/away.status")"
[[ $(wc -l <"$scratch/found/away") == 1 ]] || fail "without a server: $(<"$scratch/found/away")"

if ((failures > 0)); then
  echo "$failures failures"
  exit 1
fi
echo "ok"
