#!/usr/bin/env bash
# Each system call of rlock itself fails once, with the errors that it can have: the command runs
# with the lock or not at all, the status is one that is documented, and nothing is left behind.
# Usage: syscall_faults_test.sh PROGRAM SOURCE_DIR
set -uo pipefail
unset BASH_ENV ENV
export LC_ALL=C

program=$1
for tool in strace redis-server redis-cli; do
  if ! command -v "$tool" >/dev/null; then
    echo "skipped: no $tool"
    exit 77
  fi
done
scratch=$(mktemp -d) || exit 1
for variable in $(compgen -e | grep -E '^RLOCK_|^REDISCLI_'); do unset "$variable"; done
export HOME=$scratch XDG_CONFIG_HOME=$scratch
failures=0
runs=0
servers=()

redis() { redis-cli -s "$socket" "$@"; }

# Prints the processes that a run has left: only a run has this in its environment.
left() { grep -lszxF -- "FAULTS=$scratch" /proc/[0-9]*/environ 2>/dev/null | tr -dc '0-9\n'; }

clean_up() {
  local pid
  exec 2>/dev/null
  for pid in $(left); do kill -9 "$pid"; done
  ((${#servers[@]} == 0)) || kill -9 "${servers[@]}"
  rm -rf "$scratch"
}
trap clean_up EXIT

wait_until() {
  local tries
  for ((tries = 0; tries < 400; ++tries)); do
    if "$@"; then return 0; fi
    sleep 0.05
  done
  return 1
}

if ! strace -o /dev/null true 2>/dev/null; then
  echo "skipped: strace may not trace here"
  exit 77
fi
# Three of them have a vote at once only if they forget nothing.
several=()
for socket in "$scratch"/{1,2,3}; do
  redis-server --port 0 --unixsocket "$socket" --save "" --dir "$scratch" --appendonly yes \
    --appendfsync always --appenddirname "aof-${socket##*/}" >/dev/null &
  servers+=($!)
  wait_until redis ping >/dev/null 2>&1 || exit 1
  several+=(-r "unix://$socket")
done

# Prints the errors that a call may have.
errors_of() {
  case $1 in
    read | writev) echo EINTR EIO ENOMEM ;;
    write) echo EINTR ;;
    openat) echo EINTR EMFILE ENOMEM ;;
    socket | pipe2 | eventfd2 | timerfd_create | signalfd4 | epoll_create1 | pidfd_open)
      echo EMFILE ENOMEM ;;
    connect) echo EINTR EAGAIN ECONNREFUSED ENOMEM ;;
    sendto | recvfrom) echo EINTR EAGAIN ENOMEM ECONNRESET EPIPE ;;
    poll) echo EINTR EAGAIN ENOMEM ;;
    fork | vfork | clone | clone3) echo EAGAIN ENOMEM ;;
    wait4 | fcntl | close | ioctl) echo EINTR ;;
    getrandom) echo EINTR EAGAIN ;;
    mmap) echo ENOMEM ;;
  esac
}

# Whatever rlock starts is not traced. It notes how many servers have the lock.
command=(-- sh -c "for i in 1 2 3; do redis-cli -s '$scratch'/\$i exists job; done |
  grep -c 1 >>'$scratch/ran'")

# Another holder, whom rlock has to wait for, in one of the cases.
prepare() {
  local number
  for number in 1 2 3; do redis-cli -s "$scratch/$number" flushall >/dev/null; done
  rm -f "$scratch/ran"
  [[ $case != waiting ]] || redis eval "redis.call('hset', 'job', 'some:body', 1)
    return redis.call('pexpire', 'job', 300)" 0 >/dev/null
}

fail() {
  echo "FAIL: $case: $call $number $error: $*"
  ((++failures))
}

has_expiry() { [[ $(redis pttl job) != -1 ]]; }
is_alone() { [[ -z $(left) ]]; }

inject() {
  local status ran
  prepare
  FAULTS=$scratch timeout -k 1 20 strace -o /dev/null -e "inject=$call:error=$error:when=$number" "${rlock[@]}" \
    >"$scratch/out" 2>"$scratch/err"
  status=$?
  ((++runs))
  ran=$(cat "$scratch/ran" 2>/dev/null)
  case $status in
    0) ((ran >= needed)) || fail "status 0, and the command noted '$ran'" ;;
    69) [[ -z $ran ]] || fail "status 69, and the command has run" ;;
    79) ((${ran:-$needed} >= needed)) || fail "the command ran without the lock" ;;
    124 | 137) fail "it hangs" ;;
    *) fail "status $status: $(cat "$scratch/err")" ;;
  esac
  if ((status == 69)) && [[ $(grep -c '^rlock: ' "$scratch/err") != 1 || \
    $(wc -l <"$scratch/err") != 1 ]]; then
    fail "no message of one line: $(cat "$scratch/err")"
  fi
  has_expiry || fail "it leaves the lock without an expiry"
  wait_until is_alone || fail "it leaves processes: $(left)"
}

for case in alone waiting "several servers"; do
  rlock=("$program" exec -w 10s -r "unix://$socket" job "${command[@]}")
  needed=1
  if [[ $case == several* ]]; then
    rlock=("$program" exec -w 10s "${several[@]}" job "${command[@]}")
    needed=2
  fi
  prepare
  strace -o "$scratch/trace" "${rlock[@]}" || exit 1
  # What comes before is the system's: it loads the program.
  while read -r call number; do
    for error in $(errors_of "$call"); do inject; done
  done < <(awk -F'(' '/^[a-z0-9_]+\(/ { ++count[$1] }
    /F_GETFD/ { started = 1 }
    started && $1 in count { print $1, count[$1] }' "$scratch/trace")
done

if ((failures > 0)); then
  echo "$failures failures of $runs runs"
  exit 1
fi
echo "ok: $runs runs"
