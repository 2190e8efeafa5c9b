# The functions that the scripts in this folder share. They read this file.
# RLOCK_REDIS: the server. RLOCK_PRACTICE=1: it is a practice server.
# WAITER_LOG: a file to which a waiter appends the messages that it gets [/dev/null]
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

# redis ARGUMENT...: redis-cli for the server that RLOCK_REDIS names.
# shellcheck disable=SC2086  # an option and its value
redis() { redis-cli $server "$@"; }

# now_plus SECONDS: prints the server's time so many seconds from now, in milliseconds since 1970.
now_plus() {
  echo $(($(redis TIME | head -n 1) * 1000 + $1 * 1000))
}

# listen CHANNEL: plays a Redisson thread that sleeps until CHANNEL has a message.
listen() {
  # shellcheck disable=SC2086  # not redis(): $! would be a shell around it
  redis-cli $server SUBSCRIBE "$1" >>"${WAITER_LOG:-/dev/null}" 2>&1 &
  tries=0
  until [ "$(redis PUBSUB NUMSUB "$1" | tail -n 1)" -gt 0 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || exit 1
    sleep 0.05
  done
  echo "somebody waits: process $!"
}
