#!/usr/bin/env bash
# Samples of tests/syscalls/run: a system call of rlock fails, and rlock still keeps its promises.
# Usage: syscall_faults_test.sh PROGRAM SOURCE_DIR
# Labels: traced
set -uo pipefail

if ! command -v python3 >/dev/null; then
  echo "skipped: no python3"
  exit 77
fi
run=("$2"/tests/syscalls/run --program "$1" --seed 14 --jobs 3)
"${run[@]}" --sample 450 || exit
# A process that one look has missed is not gone.
"${run[@]}" exec-at-most-daemon rlock:openat:proc:18:EMFILE exec-at-most-daemon rlock:openat:proc:19:EMFILE || exit
# A look whether the caller has ended, which the kernel cannot answer: the lock is released all the same.
"${run[@]}" --only process1.process1:poll:.*EINTR acquire-caller || exit
# A machine that is short of something stays so for a while, also where the command is to be killed.
"${run[@]}" --sample 60 --lasting guardian-kill guardian-daemon exec-at-most-daemon
