# Read by the scripts beside it: redis(), redis-cli for the server that RLOCK_REDIS names, and what
# they share. WAITER_LOG: where a waiter appends the messages that it gets [/dev/null]
# shellcheck shell=sh
set -eu

case ${RLOCK_REDIS:-redis://127.0.0.1:6379} in
unix://*) redis() { redis-cli -s "${RLOCK_REDIS#unix://}" "$@"; } ;;
*) redis() { redis-cli -u "${RLOCK_REDIS:-redis://127.0.0.1:6379}" "$@"; } ;;
esac

# now_plus SECONDS: the server's time, then, in milliseconds, as deadlines are.
now_plus() {
  echo $(($(redis TIME | head -n 1) * 1000 + $1 * 1000))
}

# listen CHANNEL: a thread of Redisson that waits; it sleeps until CHANNEL has a message.
listen() {
  redis SUBSCRIBE "$1" >>"${WAITER_LOG:-/dev/null}" 2>&1 &
  tries=0
  until [ "$(redis PUBSUB NUMSUB "$1" | tail -n 1)" -gt 0 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || exit 1
    sleep 0.05
  done
  echo "somebody waits: process $!"
}
