# What host.bash and job.bash share.
# shellcheck shell=bash disable=SC2034

# Sets own_clock: microseconds, as this host's clock has them.
own_clock() { own_clock=${EPOCHREALTIME/[.,]/}; }

# Sets stamp: the true time, in microseconds.
stamp() { stamp=$((${EPOCHREALTIME/[.,]/} - OFFSET)); }

# Sleeps for so many microseconds. (With read -t, bash may miss a signal that comes just before.)
pause() {
  local seconds
  printf -v seconds '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000))
  sleep "$seconds" 9>&-  # only the job itself has the oracle
}

note() { printf '%s\n' "$*" >>"$NIGHT/log"; }
