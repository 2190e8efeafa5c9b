#!/bin/sh
# Situation 1: rlock was killed with -9 while it held "backup". Its lock outlives it until the lease
# ends (so short here that one can wait for that).
. "$(dirname "$0")/redis.sh"

rlock exec --lease 20s backup -- sleep 600 >/dev/null 2>&1 &
rlock watch --until held --for 30s backup >/dev/null
kill -9 $!
wait $! 2>/dev/null || true

# The next one does not get it.
rlock exec --no-wait backup -- true || echo "rlock exec: status $?"
