#!/bin/sh
# Situation 1: rlock was killed with -9 while it held "backup". The lock stays until its lease ends.
# The lease is short here, so that you can wait for its end.
. "$(dirname "$0")/redis.sh"

rlock exec --lease 20s backup -- sleep 600 >/dev/null 2>&1 &
rlock watch --until held --for 30s backup >/dev/null
kill -9 $!
wait $! 2>/dev/null || true

# The next run does not get the lock.
rlock exec --no-wait backup -- true || echo "rlock exec: status $?"
