#!/usr/bin/env bash
# A sample of tests/syscalls/run: one system call of rlock fails, and its promises hold all the same.
# Usage: syscall_faults_test.sh PROGRAM SOURCE_DIR
set -uo pipefail

if ! command -v python3 >/dev/null; then
  echo "skipped: no python3"
  exit 77
fi
exec "$2"/tests/syscalls/run --program "$1" --sample 500 --seed 14 --jobs 3
