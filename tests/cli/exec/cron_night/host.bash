#!/usr/bin/env bash
# One host of the cron night: starts the two lines of its crontab in each slot, by its own clock.
# Environment: see night() in cron_test.cpp. Its log has the true time, in microseconds.
here=${BASH_SOURCE[0]%/*}
# shellcheck source=common.bash
source "$here/common.bash"

# attempt LINE SLOT OPTION... NAME: what cron does with a line.
attempt() {
  local line=$1 slot=$2 status
  shift 2
  stamp
  export LAUNCHED=$stamp
  "$RLOCK" exec -n -E 0 "$@" -- "$here/job.bash" "$line" "$slot" 2>>"$NIGHT/said"
  status=$?
  stamp
  note "attempt $line $slot $HOST $LAUNCHED $stamp $status"
}

# is_up LINE SLOT: not every host is up all night.
is_up() {
  local hosts
  read -r hosts _ <"$NIGHT/plan/$1.$2"
  ((hosts >> HOST & 1))
}

for ((slot = 0; slot < SLOTS; ++slot)); do
  while own_clock && ((left = BEGIN + slot * PERIOD - own_clock, left > 0)); do pause "$left"; done
  # shellcheck disable=SC2086  # options
  ! is_up slots "$slot" || attempt slots "$slot" $SLOTS_OPTIONS "slot-$slot" &
  # shellcheck disable=SC2086
  ! is_up one "$slot" || attempt one "$slot" $ONE_OPTIONS one &
done
wait
