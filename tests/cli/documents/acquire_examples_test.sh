#!/usr/bin/env bash
# The examples of rlock-acquire(1) do what the page says. The test runs each shell's example in that
# shell, the unit's commands as systemd does, and the CI job's steps as GitHub Actions does.
# Usage: acquire_examples_test.sh PROGRAM SOURCE_DIR
set -uo pipefail
unset BASH_ENV ENV
export LC_ALL=C

program=$1
page=$2/man/rlock-acquire.1
for tool in mandoc zsh dash redis-server; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool"
    exit 77
  fi
done
scratch=$(mktemp -d) || exit 1
mkdir "$scratch/bin" "$scratch/work"
cd "$scratch/work" || exit 1
ln -s "$program" "$scratch/bin/rlock"
for variable in $(compgen -e | grep -E '^RLOCK_|^REDISCLI_'); do unset "$variable"; done
export PATH=$scratch/bin:$PATH HOME=$scratch XDG_CONFIG_HOME=$scratch EXAMPLES=$scratch
export RLOCK_REDIS=unix://$scratch/redis.sock
failures=0
server=

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# Prints the processes that have this line in their environment.
having() {
  grep -lszxF -- "$1" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\n'
}

# Kills what the examples have left: all have EXAMPLES in their environment.
kill_left() {
  local pid
  for pid in $(having "$1"); do kill -9 "$pid" 2>/dev/null; done
}

clean_up() {
  exec 2>/dev/null
  kill_left "EXAMPLES=$scratch"
  [[ -z $server ]] || kill -9 "$server"
  rm -rf "$scratch"
}
trap clean_up EXIT

wait_until() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    if "$@"; then return 0; fi
    sleep 0.05
  done
  return 1
}

redis() { redis-cli -s "$scratch/redis.sock" "$@"; }
is_up() { [[ $(redis ping 2>/dev/null) == PONG ]]; }
is_free() { [[ $(redis exists "$1") == 0 ]]; }
exists() { [[ -e $1 ]]; }
has_count() { [[ $(redis hvals "$1") == "$2" ]]; }

# Prints the example that begins with the line $1.
example() {
  mandoc -T ascii -O width=300 "$page" | sed 's/.\x08//g' | awk -v first="$1" '
    { line = $0; sub(/^ +/, "", line) }
    !inside && line == first { inside = 1; indent = length($0) - length(line) }
    inside && line == "" { exit }
    inside { print substr($0, indent + 1) }'
}

EXAMPLES='' redis-server --port 0 --unixsocket "$scratch/redis.sock" --save '' --dir "$scratch" \
  >"$scratch/server.log" 2>&1 &
server=$!
wait_until is_up || { cat "$scratch/server.log"; exit 1; }

# What the scripts do under the lock: says that it has begun, and goes on when it may.
write_program() {
  cat >"$scratch/bin/$1" <<END
#!/bin/sh
echo \$PPID >>$scratch/started
while [ ! -e $scratch/go ]; do sleep 0.02; done
END
  chmod +x "$scratch/bin/$1"
}
forget() { rm -f "$scratch/started" "$scratch/go"; }

# --- the shells ----------------------------------------------------------------------------------

# check_script SHELL EXAMPLE: the lock is held while tar runs, and released whether the script ends
# or is killed.
check_script() {
  local shell=$1 script=$scratch/script end pid
  example "$2" >"$script"
  [[ $(wc -l <"$script") -ge 3 ]] || { fail "no example '$2'"; return; }
  for end in by-itself killed; do
    forget
    "$shell" "$script" >"$scratch/out" 2>&1 &
    pid=$!
    wait_until exists "$scratch/started" || fail "$shell, $2: it does not start"
    has_count backup 1 || fail "$shell, $2: the lock is not held"
    if [[ $end == killed ]]; then
      kill -9 "$pid"
      wait "$pid" 2>/dev/null
    else
      touch "$scratch/go"
      wait "$pid" || fail "$shell, $2: status $?: $(cat "$scratch/out")"
    fi
    wait_until is_free backup || fail "$shell, $2, $end: the lock stays"
    touch "$scratch/go"
  done
  # A lock that is taken stops the script.
  redis hset backup other:1 1 >/dev/null
  forget
  sed 's/rlock acquire/rlock acquire -n/; s/-w 10s//' "$script" >"$script.n"
  if "$shell" "$script.n" >"$scratch/out" 2>&1; then fail "$shell, $2: goes on without the lock"; fi
  ! exists "$scratch/started" || fail "$shell, $2: runs without the lock"
  redis del backup >/dev/null
}

write_program tar
check_script sh '#!/bin/sh'
check_script bash '#!/bin/sh'
check_script dash '#!/bin/sh'
check_script bash '#!/bin/bash'
check_script dash '#!/bin/bash'
check_script zsh '#!/bin/zsh'
check_script zsh '#!/bin/sh'
if command -v fish >/dev/null; then
  check_script fish '#!/usr/bin/fish'
else
  echo "not tested: fish: it is not installed"
fi

# --- the unit ------------------------------------------------------------------------------------

# run_line KEY: runs that command of the unit.
run_line() {
  local line
  line=$(sed -n "s/^$1=-\{0,1\}//p" "$scratch/unit")
  [[ -n $line ]] || fail "the unit has no $1="
  # As words of a shell: the unit quotes in the same way, and has nothing that systemd expands.
  eval "RUNTIME_DIRECTORY=$scratch/run PART=$1 $line"
}

check_unit() {
  local main end pid
  example '[Service]' | sed -z 's/\\\n/ /g' >"$scratch/unit" # systemd joins such lines, too
  # No word of it is a variable of systemd's: "$FOO" as a word, or "${FOO}" anywhere.
  ! grep -E ' \$[A-Za-z_]|\$\{' "$scratch/unit" || fail "systemd would expand a variable"
  for end in stopped killed; do
    rm -rf "$scratch/run"
    mkdir "$scratch/run"
    run_line ExecStartPre || fail "ExecStartPre= fails"
    kill_left PART=ExecStartPre  # as systemd does
    has_count backup 1 || fail "ExecStartPre= does not take the lock"
    sleep 1000 &
    main=$!
    MAINPID=$main run_line ExecStartPost >/dev/null || fail "ExecStartPost= fails"
    has_count backup 2 || fail "ExecStartPost= does not re-enter the lock"
    redis pexpire backup 1000000 >/dev/null
    if [[ $end == stopped ]]; then
      # To all processes of the unit: the watchdog stays until the main process has ended.
      for pid in $(having PART=ExecStartPost); do kill -TERM "$pid"; done
      has_count backup 2 || fail "SIGTERM ends the lock before the main process"
      kill -TERM "$main"
    else
      kill -9 "$main"
    fi
    wait "$main" 2>/dev/null
    wait_until has_count backup 1 || fail "unit, $end: the watchdog does not release its hold"
    run_line ExecStopPost || fail "ExecStopPost= fails"
    wait_until is_free backup || fail "unit, $end: the lock stays"
  done
  # Somebody else has the lock: the unit does not start.
  redis hset backup other:1 1 >/dev/null
  sed -i 's/rlock acquire --no-watchdog/rlock acquire -n --no-watchdog/' "$scratch/unit"
  if run_line ExecStartPre 2>/dev/null; then fail "the unit starts without the lock"; fi
  redis del backup >/dev/null
}

check_unit
wait_until is_free backup
touch "$scratch/go"
[[ -n $(example 'ExecStart=rlock exec -n backup -- /usr/local/bin/backup') ]] ||
  fail "the page does not recommend exec"

# --- the CI job ----------------------------------------------------------------------------------

# Runs the steps as shells of their own, with what the ones before have put into GITHUB_ENV.
check_job() {
  local number script status=0 failed=0
  example 'steps:' | awk '
    /^  - / { ++step; always = 0 }
    /if: always/ { print "always" > ("step" step ".if") }
    /run: \|/ { block = 1; next }
    /run: / { sub(/.*run: /, ""); print > ("step" step); block = 0; next }
    /^      / && block { sub(/^      /, ""); print > ("step" step) }'
  export GITHUB_ENV=$scratch/github_env
  : >"$GITHUB_ENV"
  for number in 1 2 3; do
    script=step$number
    [[ -s $script ]] || { fail "the CI job has no step $number"; return; }
    if [[ $failed == 1 && ! -e $script.if ]]; then continue; fi
    (
      set -a
      # shellcheck disable=SC1090  # the steps have written it
      . "$GITHUB_ENV"
      set +a
      exec bash -e "$script"
    ) >"$scratch/out" 2>&1
    status=$?
    kill_left "EXAMPLES=$scratch" # nothing is needed from one step to the next
    [[ $status == 0 ]] || failed=1
    if ((number < 3)); then has_count deploy 1 || fail "CI: step $number: the lock is not held"; fi
  done
  [[ $failed == "$1" ]] || fail "CI: failed is $failed, not $1: $(cat "$scratch/out")"
  is_free deploy || fail "CI: the lock stays"
}

printf '#!/bin/sh\nexit 0\n' >deploy
chmod +x deploy
check_job 0
printf '#!/bin/sh\nexit 3\n' >deploy
check_job 1

((failures == 0)) && echo "all examples do what they say"
exit $((failures > 0))
