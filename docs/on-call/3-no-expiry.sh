#!/bin/sh
# Situation 3: the lock "nightly" has lost its expiry. "lock:import", a string such as redis-py and
# SET NX make, never had one. Their holders are long gone. A Redisson thread waits for "nightly".
. "$(dirname "$0")/redis.sh"

redis DEL nightly >/dev/null
redis HSET nightly 33333333-cccc-4ccc-8ccc-333333333333:57 1 >/dev/null
redis PEXPIRE nightly 30000 >/dev/null
redis PERSIST nightly >/dev/null
redis SET lock:import 5f0c2f9e8d7b11ef >/dev/null
listen 'redisson_lock__channel:{nightly}'
