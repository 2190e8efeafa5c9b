# Completion of rlock(1) for bash. Works with and without the bash-completion package.

# Sets _rlock_opts to the options of the command $1, or to the global ones if it is empty.
_rlock_options() {
  local global="-r --redis --timeout --user --password-file --config --json -q --quiet -v --verbose
    --color -h --help"
  local taking="--kind --fair --fair-wait -w --wait -n --no-wait --lease --no-watchdog --note --no-info -E --conflict-exit-code"
  case $1 in
    exec) _rlock_opts="$taking -c --on-lost --kill-after --at-least --at-most $global" ;;
    acquire) _rlock_opts="$taking $global" ;;
    renew) _rlock_opts="--owner --lease $global" ;;
    unlock) _rlock_opts="--owner --force -y --yes --kind $global" ;;
    list) _rlock_opts="--stuck --simple $global" ;;
    doctor) _rlock_opts="--repair --dry-run $global" ;;
    evict | inspect-queue) _rlock_opts=$global ;;
    watch) _rlock_opts="--until --for $global" ;;
    *) _rlock_opts="$global -V --version" ;;
  esac
}

# Completes what stands behind `--`, which is word $1, as a command line of its own.
_rlock_behind_dashes() {
  local first=$(($1 + 1))
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "$first"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$first"
  elif ((COMP_CWORD == first)); then
    mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
  else
    COMPREPLY=()
    compopt -o default 2>/dev/null
  fi
}

_rlock() {
  local commands="exec acquire renew unlock evict inspect-queue list watch doctor"
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command="" word i _rlock_opts
  COMPREPLY=()

  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -- ]]; then
      if [[ $command == exec ]]; then _rlock_behind_dashes "$i"; fi
      return
    fi
    if [[ -z $command && " $commands " == *" $word "* ]]; then command=$word; fi
  done

  # --option=value arrives as three words.
  if [[ $current == = ]]; then
    current=""
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi

  local values=""
  case $previous in
    --on-lost) values="term kill ignore" ;;
    --kind)
      values="reentrant fair"
      if [[ $command == unlock ]]; then values=simple; fi
      ;;
    --until) values="held free" ;;
    --color) values="auto always never" ;;
    --password-file | --config)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    -r | --redis | --timeout | --user | -w | --wait | --fair-wait | --lease | --note | -E | --conflict-exit-code | -c | \
      --kill-after | --at-least | --at-most | --owner | --simple | --for) return ;;
    *)
      if [[ $current == -* ]]; then
        _rlock_options "$command"
        values=$_rlock_opts
        if [[ $command == exec ]]; then values+=" --"; fi
      elif [[ -z $command ]]; then
        values=$commands
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
}

complete -F _rlock rlock
