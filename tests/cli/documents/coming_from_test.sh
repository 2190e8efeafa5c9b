#!/usr/bin/env bash
# Every command of rlock in docs/coming-from.md does its job: it runs its program once, and says nothing.
# Usage: coming_from_test.sh PROGRAM SOURCE_DIR
set -uo pipefail
unset BASH_ENV ENV
export LC_ALL=C

program=$1
page=$2/docs/coming-from.md
if ! command -v redis-server >/dev/null || ! command -v redis-cli >/dev/null; then
  echo "skipped: redis-server or redis-cli is not installed"
  exit 77
fi
scratch=$(mktemp -d) || exit 1
mkdir "$scratch/bin" "$scratch/work"
cd "$scratch/work" || exit 1
for variable in $(compgen -e | grep -E '^RLOCK_|^REDISCLI_'); do unset "$variable"; done
export PATH=$scratch/bin:$PATH HOME=$scratch XDG_CONFIG_HOME=$scratch SCRATCH=$scratch
export RLOCK_REDIS=unix://$scratch/redis.sock
failures=0
checked=0

redis-server --port 0 --unixsocket "$scratch/redis.sock" --save '' --dir "$scratch" >"$scratch/log" 2>&1 &
server=$!
trap '{ kill "$server"; wait "$server"; } 2>/dev/null; rm -rf "$scratch"' EXIT

ln -s "$program" "$scratch/bin/rlock"
for stub in bin/backup bin/report bin/import work/deploy.sh work/encode; do
  printf '#!/bin/sh\necho ran >>"$SCRATCH/runs"\n' >"$scratch/$stub"
  chmod +x "$scratch/$stub"
done

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# Runs the command, which must run its programs $2 times.
check() {
  local said status
  : >"$scratch/runs"
  said=$(bash -c "$1" 2>&1 </dev/null)
  status=$?
  checked=$((checked + 1))
  if [[ $status != 0 || -n $said || $(wc -l <"$scratch/runs") != "$2" ]]; then
    fail "status $status, $(wc -l <"$scratch/runs") runs, and it says '$said': $1"
  fi
  redis-cli -s "$scratch/redis.sock" flushall >/dev/null # --at-least keeps some
}

for ((tries = 0; tries < 600; ++tries)); do
  if [[ -S $scratch/redis.sock ]]; then break; fi
  sleep 0.05
done

# The cells of the tables, and the block.
while IFS= read -r command; do
  runs=1
  [[ $command != *"&& report"* ]] || runs=2
  check "$command" "$runs"
done < <(sed -n 's/^| .*| `\(rlock .*\)` |$/\1/p' "$page")
check "$(sed -n '/^```sh$/,/^```$/{/^```/!p}' "$page")" 1

((checked >= 16)) || fail "only $checked commands were found"
echo "$checked checked, $failures failed"
exit $((failures > 0))
