#!/bin/sh
# Situation 4: a Redisson thread waits for "report", whose lease is an hour. Then somebody typed DEL.
# DEL publishes nothing, so the thread sleeps until the hour is over.
. "$(dirname "$0")/redis.sh"

redis DEL report >/dev/null
redis HSET report 44444444-dddd-4ddd-8ddd-444444444444:12 1 >/dev/null
redis PEXPIRE report 3600000 >/dev/null
listen 'redisson_lock__channel:{report}'
redis DEL report >/dev/null
