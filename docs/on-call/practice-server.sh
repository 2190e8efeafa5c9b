#!/bin/sh
# A server to practise on, for the shell that calls this:
#   eval "$(docs/on-call/practice-server.sh)"       starts it
#   eval "$(docs/on-call/practice-server.sh stop)"  ends it, and everything that waits on it
set -eu

# directory_of PORT: the directory of the server on that port.
directory_of() { redis-cli -p "$1" CONFIG GET dir 2>/dev/null | tail -n 1; }

if [ "${1:-}" = stop ]; then
  port=${RLOCK_REDIS##*:}
  directory=$(directory_of "$port")
  case $directory in
  */rlock-practice.*) ;;
  *)
    echo "RLOCK_REDIS names no server to practise on" >&2
    exit 1
    ;;
  esac
  redis-cli -p "$port" SHUTDOWN NOSAVE >/dev/null 2>&1 || true
  rm -rf "$directory"
  echo "unset RLOCK_REDIS RLOCK_PRACTICE"
  exit
fi

directory=$(mktemp -d "${TMPDIR:-/tmp}/rlock-practice.XXXXXX")
server=$(command -v redis-server || command -v valkey-server)
port=$((20000 + $$ % 12000))
tries=0
until [ "$(directory_of "$port")" = "$directory" ]; do
  tries=$((tries + 1))
  [ "$tries" -lt 200 ] || { echo "no server can be started" >&2; exit 1; }
  if [ $((tries % 20)) = 1 ]; then # the first time, and if another program has the port
    port=$((port + 1))
    "$server" --bind 127.0.0.1 --port "$port" --dir "$directory" --save '' --appendonly yes \
      --daemonize yes >/dev/null
  fi
  sleep 0.05
done
echo "export RLOCK_REDIS=redis://127.0.0.1:$port RLOCK_PRACTICE=1"
