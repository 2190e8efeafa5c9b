# Read by the scripts beside it: redis(), redis-cli for the server that RLOCK_REDIS names, and what
# they share. RLOCK_PRACTICE=1 says that this server is there to practise on.
# WAITER_LOG: where a waiter appends the messages that it gets [/dev/null]
# shellcheck shell=sh
set -eu

if [ "${RLOCK_PRACTICE:-}" != 1 ]; then
  echo "This makes a broken lock. Start a server to practise on, and try again:" >&2
  echo "  eval \"\$($(dirname "$0")/practice-server.sh)\"" >&2
  exit 64
fi
url=${RLOCK_REDIS:-redis://127.0.0.1:6379}
case $url in
unix://*) server="-s ${url#unix://}" ;;
*) server="-u $url" ;;
esac

# shellcheck disable=SC2086  # an option and its value
redis() { redis-cli $server "$@"; }

# now_plus SECONDS: the server's time, then, in milliseconds, as deadlines are.
now_plus() {
  echo $(($(redis TIME | head -n 1) * 1000 + $1 * 1000))
}

# listen CHANNEL: a thread of Redisson that waits; it sleeps until CHANNEL has a message.
listen() {
  # shellcheck disable=SC2086  # not by redis(), as then $! would be a shell around it
  redis-cli $server SUBSCRIBE "$1" >>"${WAITER_LOG:-/dev/null}" 2>&1 &
  tries=0
  until [ "$(redis PUBSUB NUMSUB "$1" | tail -n 1)" -gt 0 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || exit 1
    sleep 0.05
  done
  echo "somebody waits: process $!"
}
