#!/bin/sh
# The command under the lock: notes how many servers have each of its names for its owner.
# Usage: look.sh short|long|endless|stubborn|daemon
look() {
  for name in $RLOCK_NAME; do
    count=0
    for socket in $FAULTS_SOCKETS; do
      count=$((count + $(redis-cli -s "$socket" hexists "$name" "$RLOCK_OWNER")))
    done
    echo "$1 $count" >>"$FAULTS/notes"
  done
}
# In a session of its own, where no signal to a group finds it.
if [ "$1" = daemon ]; then
  setsid "$0" stubborn &
  while :; do sleep 1; done
fi
[ "$1" != stubborn ] || trap '' TERM
look start
case $1 in
  long) for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 0.15; look on; done ;;
  endless | stubborn) while :; do sleep 0.05; look on; done ;;
esac
look end
