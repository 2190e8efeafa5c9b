#!/bin/sh
# Situation 2: two Redisson threads wait for the fair lock "deploy". The first was killed, the second
# is alive. The lock is free, but Redisson keeps the turn of the dead thread until its deadline.
# Usage: 2-dead-head.sh [SECONDS]: the time until that deadline [300]; negative: it has passed
. "$(dirname "$0")/redis.sh"

dead=11111111-aaaa-4aaa-8aaa-111111111111:31
alive=22222222-bbbb-4bbb-8bbb-222222222222:45
redis DEL 'redisson_lock_queue:{deploy}' 'redisson_lock_timeout:{deploy}' 'rlock_info:{deploy}' \
  >/dev/null
redis RPUSH 'redisson_lock_queue:{deploy}' $dead $alive >/dev/null
redis ZADD 'redisson_lock_timeout:{deploy}' \
  "$(now_plus "${1:-300}")" $dead "$(now_plus $((${1:-300} + 300)))" $alive >/dev/null
listen "redisson_lock__channel:{deploy}:$alive"
