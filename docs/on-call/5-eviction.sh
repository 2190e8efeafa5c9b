#!/bin/sh
# Situation 5: the server runs out of memory while rlock holds "billing", and deletes the lock to
# make room. This script changes the server's maxmemory and maxmemory-policy, and leaves them so.
. "$(dirname "$0")/redis.sh"

used=$(redis INFO memory | tr -d '\r' | sed -n 's/^used_memory://p')
redis CONFIG SET maxmemory-policy volatile-lru >/dev/null
redis CONFIG SET maxmemory $((used + 4000000)) >/dev/null

rlock exec --lease 6s billing -- sleep 600 &
rlock watch --until held --for 30s billing >/dev/null

# Somebody stores data without an expiry. So the server deletes a key that has one: the lock.
data=$(head -c 50000 /dev/zero | tr '\0' x)
rows=0
while [ "$(redis EXISTS billing)" = 1 ] && [ "$rows" -lt 1000 ]; do
  rows=$((rows + 1))
  redis SET "data:$rows" "$data" >/dev/null
done
while [ "$rows" -gt 0 ]; do
  redis DEL "data:$rows" >/dev/null
  rows=$((rows - 1))
done

wait $! || echo "rlock exec: status $?"
