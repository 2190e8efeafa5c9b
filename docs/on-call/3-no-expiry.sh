#!/bin/sh
# Situation 3: the lock "nightly" has lost its expiry, and "lock:import", a string as redis-py's Lock
# and SET NX make them, never had one. Their holders are long gone. A thread of Redisson waits.
. "$(dirname "$0")/redis.sh"

redis DEL nightly >/dev/null
redis HSET nightly 33333333-cccc-4ccc-8ccc-333333333333:57 1 >/dev/null
redis PEXPIRE nightly 30000 >/dev/null
redis PERSIST nightly >/dev/null
redis SET lock:import 5f0c2f9e8d7b11ef >/dev/null
listen 'redisson_lock__channel:{nightly}'
