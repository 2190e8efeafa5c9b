#!/usr/bin/env bash
# The job of the cron night: says that it runs, for as long as planned, and ends as planned: by
# itself, or by a signal to itself or to rlock.
line=$1 slot=$2
# shellcheck source=common.bash
source "${BASH_SOURCE[0]%/*}/common.bash"
stamp
started=$stamp
# The kernel knows whether two runs overlap.
if [[ $line == one ]]; then
  exec 9>>"$NIGHT/oracle"
  flock -n 9 || note "overlap $slot"
fi
read -r _ length fate <"$NIGHT/plan/$line.$slot"
note "start $line $slot $HOST $LAUNCHED $started"
((length == 0)) || pause "$length"
stamp
note "end $line $slot $HOST $stamp $fate"
case $fate in
  term) kill -TERM "$PPID" ;;
  kill_rlock) kill -KILL "$PPID" ;;
  kill_job) kill -KILL $$ ;;
  *) exit 0 ;;
esac
exec sleep 600  # somebody ends it
