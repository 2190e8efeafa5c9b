#!/usr/bin/env bash
# docs/on-call.md: runs the commands of the page, and checks their output and what they repair.
# Usage: on_call_test.sh PROGRAM SOURCE_DIR
#
# Each section of the document gets a server of its own. Of its ```console blocks, lines that start
# with "$ " are run in order; the lines below such a line are what it must print, to stdout and
# stderr together. "..." stands for any text, and alone on a line for any lines; runs of spaces are
# one, as the widths of columns differ.
set -uo pipefail
unset BASH_ENV ENV
export LC_ALL=C

program=$1
source_dir=$2
document=${3:-$source_dir/docs/on-call.md}
scratch=$(mktemp -d) || exit 1
mkdir "$scratch/bin" "$scratch/data"
ln -s "$program" "$scratch/bin/rlock"
for variable in $(compgen -e | grep -E '^RLOCK_|^REDISCLI_'); do unset "$variable"; done
export PATH=$scratch/bin:$PATH HOME=$scratch XDG_CONFIG_HOME=$scratch TERM=dumb
export WAITER_LOG=$scratch/waiter RLOCK_PRACTICE=1
failures=0
server=
command_pid=

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# wait_until COMMAND...: asks again and again, for a minute; fails if it stays false.
wait_until() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  return 1
}

redis() { timeout 30 redis-cli -u "$RLOCK_REDIS" "$@"; }

# Whether our server answers at that port, not another that had it already.
is_up() { [[ $(redis INFO server 2>/dev/null | tr -d '\r') == *process_id:$server$'\n'* ]]; }
is_up_or_gone() { is_up || ! kill -0 "$server" 2>/dev/null; }

start_server() {
  local attempt port
  for ((attempt = 0; attempt < 20; ++attempt)); do
    port=$((20000 + RANDOM % 12000))
    redis-server --bind 127.0.0.1 --port "$port" --dir "$scratch/data" --save '' \
      --appendonly yes >"$scratch/server.log" 2>&1 &
    server=$!
    export RLOCK_REDIS=redis://127.0.0.1:$port
    wait_until is_up_or_gone
    if is_up; then return; fi
    stop_server
  done
  cat "$scratch/server.log"
  echo "no server can be started"
  exit 1
}

# The scripts' waiters end with the server, and rlock's guardians end what they guard.
stop_server() {
  local line
  if [[ -z $server ]]; then return; fi
  kill -9 "$server" 2>/dev/null
  wait "$server" 2>/dev/null
  server=
  if [[ -f $scratch/waiters ]]; then
    while read -r line; do kill "$line" 2>/dev/null; done <"$scratch/waiters"
  fi
  rm -rf "$scratch/data" "$scratch/waiters" "$WAITER_LOG"
  mkdir "$scratch/data"
}

clean_up() {
  [[ -z $command_pid ]] || kill "$command_pid" 2>/dev/null
  stop_server
  rm -rf "$scratch"
}

trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# --- the document --------------------------------------------------------------------------------

# Prints the titles of the sections, a line each.
titles() { sed -n 's/^## //p' "$document"; }

# Prints what the console blocks of the section $1 hold.
console_of() {
  awk -v title="$1" '
    /^## / { inside = (substr($0, 4) == title) }
    /^```/ { in_block = (inside && $0 == "```console"); next }
    in_block' "$document"
}

squeeze() { tr -s ' ' | sed 's/^ //; s/ $//'; }

# is_like EXPECTED FOUND: one line.
is_like() {
  local pattern=$1
  pattern=${pattern//\\/\\\\}
  pattern=${pattern//\*/\\*}
  pattern=${pattern//\?/\\?}
  pattern=${pattern//\[/\\[}
  pattern=${pattern//.../*}
  # shellcheck disable=SC2053  # it is a pattern
  [[ $2 == $pattern ]]
}

# matches EXPECTED_FILE FOUND_FILE
matches() {
  local expected found at=0 any=0 line
  mapfile -t expected < <(squeeze <"$1")
  mapfile -t found < <(squeeze <"$2")
  for line in "${expected[@]}"; do
    if [[ $line == ... ]]; then
      any=1
      continue
    fi
    while ((any && at < ${#found[@]})) && ! is_like "$line" "${found[at]}"; do ((++at)); done
    if ((at >= ${#found[@]})) || ! is_like "$line" "${found[at]}"; then return 1; fi
    ((++at))
    any=0
  done
  ((any || at == ${#found[@]}))
}

check_output() {
  if matches "$scratch/expected" "$scratch/found"; then return; fi
  fail "$1: \$ $2"
  sed 's/^/  expected: /' "$scratch/expected"
  sed 's/^/  printed:  /' "$scratch/found"
}

# Whether the command that runs has asked a question, or has ended.
has_asked() { [[ -e $scratch/ended ]] || grep -qF '[y/N]' "$scratch/found"; }
say_yes_if_asked() { wait_until has_asked && echo y; }

# run_command SECTION COMMAND: its output is to be that of the file "expected".
run_command() {
  # A file, not a pipe, whose end processes that go on could keep open.
  local run=(timeout 180 bash -c "$2") input=/dev/null
  rm -f "$scratch/ended"
  if [[ $2 == *'unlock --force'* ]]; then  # asks on a terminal, which here echoes no answer
    run=(script -qefc "stty -echo; timeout --foreground 180 $2" /dev/null)
    mkfifo "$scratch/input"
    input=$scratch/input
    say_yes_if_asked >"$input" &
  fi
  (cd "$source_dir" && exec "${run[@]}") >"$scratch/found" 2>&1 <"$input" &
  command_pid=$!
  wait "$command_pid"  # unlike a command in the foreground, this ends when a signal comes
  command_pid=
  touch "$scratch/ended"
  rm -f "$scratch/input"
  sed -i 's/\r$//; s/\[y\/N\] /&y\n/' "$scratch/found"
  sed -n 's/^somebody waits: process //p' "$scratch/found" >>"$scratch/waiters"
  check_output "$1" "$2"
}

run_section() {
  local title=$1 line command=
  while IFS= read -r line; do
    if [[ $line == '$ '* ]]; then
      [[ -z $command ]] || run_command "$title" "$command"
      command=${line#'$ '}
      : >"$scratch/expected"
    else
      printf '%s\n' "$line" >>"$scratch/expected"
    fi
  done < <(console_of "$title")
  if [[ -z $command ]]; then
    fail "$title: no commands"
  else
    run_command "$title" "$command"
  fi
}

# --- what the document promises beside that ------------------------------------------------------

# has_woken CHANNEL TIMES: the message 0 has come to who listens there.
has_woken() {
  local text
  text=$(tr '\n' ' ' <"$WAITER_LOG")
  (($(grep -oF "message redisson_lock__channel:$1 0" <<<"$text" | wc -l) >= $2))
}

expect_woken() { wait_until has_woken "$@" || fail "nobody woke who listens to $1: $(cat "$WAITER_LOG")"; }

expect_healthy() {
  rlock doctor >"$scratch/found" 2>&1 || fail "$1: there are problems left: $(cat "$scratch/found")"
  rlock list --stuck --simple '*' >"$scratch/found" 2>/dev/null
  [[ ! -s $scratch/found ]] || fail "$1: still stuck: $(cat "$scratch/found")"
}

check_promises() {
  case $1 in
    # The one of the first run hears of both, that of the second run of the second.
    2.*) expect_woken '{deploy}:22222222-bbbb-4bbb-8bbb-222222222222:45' 3 ;;
    3.*) expect_woken '{nightly}' 1 ;;
    4.*) expect_woken '{report}' 1 ;;
  esac
  expect_healthy "$1"
}

# -------------------------------------------------------------------------------------------------

if ! command -v redis-server >/dev/null || ! command -v redis-cli >/dev/null; then
  echo "skipped: redis-server or redis-cli is not installed"
  exit 77
fi

number=0
while IFS= read -r title; do
  [[ $title =~ ^[0-9]\. ]] || continue
  ((++number))
  start_server
  run_section "$title"
  check_promises "$title"
  stop_server
done < <(titles)
((number == 5)) || fail "$number situations instead of 5"
for script in "$source_dir"/docs/on-call/[0-9]-*.sh; do
  grep -qF "\$ docs/on-call/${script##*/}" "$document" || fail "${script##*/}: not in the document"
done

# The reader's RLOCK_REDIS is that of a service.
start_server
for script in "$source_dir"/docs/on-call/[0-9]-*.sh; do
  if env -u RLOCK_PRACTICE "$script" >"$scratch/refusal" 2>&1; then
    fail "${script##*/}: works on any server"
  fi
  grep -q 'practice-server.sh' "$scratch/refusal" || fail "${script##*/}: $(cat "$scratch/refusal")"
done
[[ $(redis DBSIZE) == 0 ]] || fail "a script that refused has left keys"
stop_server
practise=$source_dir/docs/on-call/practice-server.sh
eval "$(unset RLOCK_PRACTICE; TMPDIR=$scratch "$practise")"
[[ $(redis DBSIZE) == 0 && $RLOCK_PRACTICE == 1 ]] || fail "no practice server at $RLOCK_REDIS"
"$source_dir/docs/on-call/3-no-expiry.sh" >/dev/null || fail "3-no-expiry.sh: not on the practice server"
last=$RLOCK_REDIS
eval "$("$practise" stop)"
[[ -z ${RLOCK_REDIS:-} ]] || fail "the practice server is still named"
[[ $(timeout 30 redis-cli -u "$last" PING 2>&1) != PONG ]] || fail "the practice server runs on"
[[ -z $(find "$scratch" -name 'rlock-practice.*') ]] || fail "the practice server's files are left"

if ((failures > 0)); then
  echo "$failures failures"
  exit 1
fi
echo "ok: $number situations"
