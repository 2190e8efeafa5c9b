# Completion of rlock(1) for bash. Works with and without the bash-completion package.

# Sets _rlock_opts to the options of the command $1, or to the global ones if it is empty.
_rlock_options() {
  local global="-r --redis --timeout --user --password-file --tls-ca --tls-cert
    --tls-key --config --json -q --quiet -v --verbose
    --color -h --help"
  local taking="--kind --fair -s --shared -x --exclusive --fair-wait --permits -w --wait -n --no-wait --wait-server --lease --no-watchdog --fence --note --no-info --sync-replicas --restart-delay -E --conflict-exit-code"
  case $1 in
    exec) _rlock_opts="$taking -c --on-lost --kill-after --at-least --at-most $global" ;;
    acquire) _rlock_opts="$taking --pid --export $global" ;;
    renew) _rlock_opts="--owner --lease $global" ;;
    unlock) _rlock_opts="--owner --force -y --yes --kind $global" ;;
    list) _rlock_opts="--stuck --simple $global" ;;
    doctor) _rlock_opts="--repair --dry-run $global" ;;
    evict) _rlock_opts="--dead -y --yes $global" ;;
    fence | inspect-queue | config | completion) _rlock_opts=$global ;;
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

# Succeeds if the value of the option $1 is the next word.
_rlock_takes_value() {
  case $1 in
    -r | --redis | --timeout | --user | --password-file | --tls-ca | --tls-cert | --tls-key | \
      --config | --color | --kind | --fair-wait | -w | --wait | --lease | \
      --note | --sync-replicas | --restart-delay | --wait-server | -E | --conflict-exit-code | -c | --on-lost | \
      --permits | --kill-after | --at-least | --at-most | --pid | --owner | --simple | --until | --for) return 0 ;;
  esac
  return 1
}

# Sets _rlock_words to the words up to the cursor as the shell reads them, and _rlock_later to those
# after it: COMP_WORDS are split also at COMP_WORDBREAKS, as ':' and '='.
_rlock_join() {
  local rest=${COMP_LINE-} word blanks i apart=""
  _rlock_words=() _rlock_later=()
  for ((i = 0; i < ${#COMP_WORDS[@]}; ++i)); do
    word=${COMP_WORDS[i]}
    blanks=${rest%%[![:space:]]*}
    rest=${rest#"$blanks"}
    if ((i == COMP_CWORD && ${#COMP_LINE} - ${#rest} >= COMP_POINT)) && [[ -n $blanks && -n $word ]]; then
      # The cursor is in blanks. The word after them is not the one to complete.
      _rlock_words+=("")
      _rlock_later+=("$word")
    elif ((i > COMP_CWORD)); then
      if [[ -n $blanks || -n $apart ]]; then
        _rlock_later+=("$word")
      elif ((${#_rlock_later[@]})); then
        _rlock_later[${#_rlock_later[@]} - 1]+=$word
      fi
    elif ((i == 0)) || [[ -n $blanks || $rest != "$word"* || -z $word ]]; then
      _rlock_words+=("$word")
    else
      _rlock_words[${#_rlock_words[@]} - 1]+=$word
    fi
    rest=${rest#"$word"}
    # The blanks on both sides of an empty word were taken for those before it.
    apart=
    [[ -n $word ]] || apart=yes
  done
}

# Sets _rlock_text to what the shell would make of the word $1. Fails where it would have to expand
# something; nothing is ever expanded or run here.
_rlock_unquote() {
  local rest=$1 quote="" c
  _rlock_text=""
  if [[ $rest == "~/"* ]]; then
    _rlock_text=$HOME
    rest=${rest:1}
  fi
  while [[ -n $rest ]]; do
    c=${rest:0:1}
    rest=${rest:1}
    if [[ $c == "$quote" ]]; then
      quote=""
    elif [[ $quote == "'" ]]; then
      _rlock_text+=$c
    elif [[ $c == \\ ]]; then
      if [[ -n $quote && ${rest:0:1} != [\\\"\$\`] ]]; then _rlock_text+=$c; fi
      _rlock_text+=${rest:0:1}
      rest=${rest:1}
    elif [[ $c == [\$\`] || -z $quote && $c == [\<\>\(] ]]; then
      return 1
    elif [[ -z $quote && $c == [\"\'] ]]; then
      quote=$c
    else
      _rlock_text+=$c
    fi
  done
}

# Adds the option $1 to _rlock_asked if it tells the server. $2 is the word after it: succeeds if
# that is its value. Sets _rlock_can_ask=no where the server cannot be known.
_rlock_note_option() {
  local word=$1 letters=${1#-}
  case $word in
    --redis | --user | --password-file | --tls-ca | --tls-cert | --tls-key | --config)
      _rlock_unquote "$2" || _rlock_can_ask=no
      _rlock_asked+=("$word" "$_rlock_text")
      return 0
      ;;
    --redis=* | --user=* | --password-file=* | --tls-ca=* | --tls-cert=* | --tls-key=* | --config=*)
      _rlock_unquote "$word" || _rlock_can_ask=no
      _rlock_asked+=("$_rlock_text")
      return 1
      ;;
    --*)
      _rlock_takes_value "$word"
      return
      ;;
  esac
  # Letters: the rest of the word, if there is one, is the value of the first that has one.
  while [[ -n $letters ]]; do
    if _rlock_takes_value "-${letters:0:1}"; then
      word=${letters:1}
      if [[ $letters == r* ]]; then
        _rlock_unquote "${word:-$2}" || _rlock_can_ask=no
        _rlock_asked+=(-r "$_rlock_text")
      fi
      [[ -z $word ]]
      return
    fi
    letters=${letters:1}
  done
  return 1
}

# Sets what the words before the cursor say: _rlock_command, _rlock_operands, _rlock_dashes (where
# `--` stands, or empty) and _rlock_asked, the options that tell the server. Fails in
# _rlock_can_ask=no where that cannot be known.
_rlock_understand() {
  local commands=$1 word i last=$((${#_rlock_words[@]} - 1))
  _rlock_command="" _rlock_operands=() _rlock_dashes="" _rlock_asked=() _rlock_can_ask=yes
  for ((i = 1; i < last; ++i)); do
    word=${_rlock_words[i]}
    if [[ -n $_rlock_dashes || $word != -?* ]]; then
      if [[ -z $_rlock_command && " $commands " == *" $word "* ]]; then
        _rlock_command=$word
      else
        _rlock_unquote "$word" || _rlock_can_ask=no
        _rlock_operands+=("$_rlock_text")
      fi
      continue
    fi
    if [[ $word == -- ]]; then
      _rlock_dashes=$i
    elif _rlock_note_option "$word" "${_rlock_words[i + 1]}"; then
      i=$((i + 1))
    fi
  done
  # Options after the cursor tell the server, too.
  for ((i = 0; i < ${#_rlock_later[@]}; ++i)); do
    word=${_rlock_later[i]}
    if [[ -n $_rlock_dashes || $word == -- ]]; then break; fi
    if [[ $word == -?* ]] && _rlock_note_option "$word" "${_rlock_later[i + 1]-}"; then i=$((i + 1)); fi
  done
}

# Offers what the server has for the word $1: $2 is names, holders or waiters, $3 the lock. What
# comes from the server is quoted, and goes through nothing that expands.
_rlock_offer() {
  local typed=$1 what=$2 head="" name breaks found=()
  COMPREPLY=()
  [[ $_rlock_can_ask == yes && $typed != \$* ]] || return
  # What bash replaces starts behind the last of the characters at which it splits words.
  if [[ $typed != [\"\']* ]]; then
    breaks=${COMP_WORDBREAKS//[!:=@]/}
    if [[ -n $breaks && $typed == *["$breaks"]* ]]; then
      _rlock_unquote "${typed%"${typed##*["$breaks"]}"}" || return
      head=$_rlock_text
    fi
  fi
  _rlock_unquote "$typed" || return
  mapfile -d '' -t found < <(command rlock __complete "$what" "${_rlock_asked[@]}" \
    -- "$_rlock_text" "${@:3:1}" </dev/null 2>/dev/null)
  for name in "${found[@]}"; do
    if [[ $name == -* && -z $_rlock_dashes && $what == names ]]; then continue; fi
    case $typed in
      \'*)
        if [[ $name == *[\'[:cntrl:]]* ]]; then continue; fi
        ;;
      \"*)
        if [[ $name == *[\![:cntrl:]]* ]]; then continue; fi
        name=${name//\\/\\\\} name=${name//\"/\\\"} name=${name//\$/\\\$} name=${name//\`/\\\`}
        ;;
      *)
        name=${name#"$head"}
        if [[ -n $name ]]; then printf -v name %q "$name"; fi
        ;;
    esac
    COMPREPLY+=("$name")
  done
}

# Offers names where the next operand is one.
_rlock_offer_operand() {
  case $_rlock_command:${#_rlock_operands[@]} in
    exec:* | watch:*) _rlock_offer "$1" names ;;
    acquire:0 | renew:0 | unlock:0 | evict:0 | fence:0 | inspect-queue:0 | list:0 | doctor:0)
      _rlock_offer "$1" names
      ;;
    evict:1) _rlock_offer "$1" waiters "${_rlock_operands[0]}" ;;
  esac
}

_rlock() {
  local commands="exec acquire renew unlock evict fence inspect-queue list watch doctor config completion"
  local _rlock_words _rlock_later _rlock_text _rlock_opts i
  local _rlock_command _rlock_operands _rlock_dashes _rlock_asked _rlock_can_ask
  COMPREPLY=()
  _rlock_join
  _rlock_understand "$commands"
  local current=${_rlock_words[-1]} previous=${_rlock_words[-2]} command=$_rlock_command

  if [[ -n $_rlock_dashes ]]; then
    if [[ $command == exec ]]; then
      for ((i = 1; i < COMP_CWORD; ++i)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
          _rlock_behind_dashes "$i"
          break
        fi
      done
    else
      _rlock_offer_operand "$current"
    fi
    return
  fi

  # --option=value
  if [[ $current == --*=* ]]; then
    previous=${current%%=*}
    current=${current#*=}
    if [[ $previous == --export ]]; then previous="--export="; fi # its value is never the next word
  fi

  local values=""
  case $previous in
    --on-lost) values="term kill ignore" ;;
    --kind)
      values="reentrant fair simple read write semaphore"
      if [[ $command == unlock ]]; then values="simple hash"; fi
      ;;
    --until) values="held free" ;;
    --color) values="auto always never" ;;
    --export=) values="sh fish" ;;
    --password-file | --tls-ca | --tls-cert | --tls-key | --config)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    --owner)
      _rlock_offer "$current" holders "${_rlock_operands[@]:0:1}"
      return
      ;;
    *)
      if _rlock_takes_value "$previous"; then return; fi
      if [[ $current == -* ]]; then
        _rlock_options "$command"
        values=$_rlock_opts
        if [[ $command == exec ]]; then values+=" --"; fi
      elif [[ -z $command ]]; then
        values=$commands
      elif [[ $command == completion ]]; then
        values="bash zsh fish"
      else
        _rlock_offer_operand "$current"
        return
      fi
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
}

complete -F _rlock rlock
