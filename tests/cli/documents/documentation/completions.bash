# shellcheck shell=bash
# The completions offer the commands, options and values of --help. Sourced by documentation_test.sh.
# shellcheck disable=SC2154  # help.bash and documentation_test.sh set the variables

# Prints "COMMAND|OPTION|ARGUMENT|VALUES|TEXT" for each spelling of each option that can be typed behind a
# command, or before it: with the first sentence of the text. Prints "|COMMAND|||TEXT" for each command.
expected_rows() {
  local command
  sed -E 's/^([^|]*)\|/|\1|||/' "$dir/commands"
  for command in "" $commands; do
    {
      cat "$dir/rlock.rows"
      [[ -z $command ]] || cat "$dir/rlock-$command.rows"
    } | awk -F '|' -v command="$command" '{
      if (command != "" && $1 ~ /--version/) next
      sub(/\. .*/, "", $4)
      for (i = split($1, names, ","); i > 0; --i) print command "|" names[i] "|" $2 "|" $3 "|" $4
    }'
  done
}

# What bash offers; it names no argument and has no texts.
bash_rows() (
  set +u
  mkdir "$dir/files" && touch "$dir/files/FILE" && cd "$dir/files" || exit 1
  # shellcheck disable=SC1091
  source "$source_dir/completions/rlock.bash"
  PATH=/nonexistent # no rlock is asked
  offer() {
    COMP_WORDS=(rlock "$@")
    COMP_CWORD=$#
    _rlock
  }
  offer ''
  printf '|%s|||\n' "${COMPREPLY[@]}"
  for command in "" $commands; do
    offer ${command:+"$command"} -
    for option in "${COMPREPLY[@]}"; do
      [[ $option != -- ]] || continue
      argument=""
      COMPREPLY=()
      if _rlock_takes_value "$option"; then
        argument=argument
        offer ${command:+"$command"} "$option" ''
      fi
      echo "$command|$option|$argument|${COMPREPLY[*]}|"
    done
  done
)

# What zsh offers: bash can read the arrays of _rlock, too.
zsh_rows() (
  file=$source_dir/completions/_rlock
  spec_form='^(\*|\([^)]*\))?(--?[A-Za-z][a-z-]*)[-+=]*\[(.*)\]((:+)([^:]*):(.*))?$'
  eval "$(sed -nE '/^  global=\(/,/^$/p' "$file" | sed -E 's/\$([a-z_]+)/"${\1[@]}"/')"
  for spec in "${subcommands[@]}"; do echo "|${spec%%:*}|||${spec#*:}"; done
  for command in "" $commands; do
    if [[ -z $command ]]; then
      specs=("${global[@]}" "${first[@]}")
    else
      declare -n own=${command//-/_}_options
      specs=("${global[@]}" "${own[@]}")
      grep -qE -- "^ +$command\) _arguments -s \\\$global \\\$${!own}( |\$)" "$file" ||
        echo "$command does not use ${!own}"
    fi
    for spec in "${specs[@]}"; do
      [[ $spec =~ $spec_form ]] || { echo "not understood: $spec"; continue; }
      option=${BASH_REMATCH[2]} text=${BASH_REMATCH[3]//\\:/:} argument=${BASH_REMATCH[6]} values=${BASH_REMATCH[7]}
      case $values in
        _files) values=FILE ;;
        '('*')') values=${values:1:-1} ;;
        *) values="" ;;
      esac
      # --help does not show an argument that can be left out.
      if [[ ${BASH_REMATCH[5]} == :: ]]; then argument="" values=""; fi
      echo "$command|$option|$argument|$values|$text"
    done
  done
)

# What fish offers: bash can read the calls of complete, too. They name no argument.
fish_rows() (
  complete() {
    local condition="" names=() argument="" values="" text="" command name in=()
    while (($# > 0)); do
      case $1 in
        -c | -n | -s | -l | -a | -d)
          case $1 in
            -n) condition=$2 ;;
            -s) names+=("-$2") ;;
            -l) names+=("--$2") ;;
            -a) values=$2 ;;
            -d) text=$2 ;;
          esac
          shift
          ;;
        -x | -r) argument=argument ;;
        -F) values=FILE ;;
        -f) ;;
        *) echo "not understood: $1" ;;
      esac
      shift
    done
    [[ -n $text || ${#names[@]} -gt 0 ]] || return
    case $condition in
      __rlock_before_dashes) in=("" $commands) ;;
      __rlock_in) in=("") ;;
      "__rlock_in "*) read -ra in <<<"${condition#__rlock_in }" ;;
      *) in=("not understood: $condition") ;;
    esac
    if ((${#names[@]} == 0)); then names=("$values"); fi
    if [[ -z $argument || $values == '('* ]]; then values=""; fi
    for command in "${in[@]}"; do
      for name in "${names[@]}"; do echo "$command|$name|$argument|$values|$text"; done
    done
  }
  # shellcheck disable=SC1090
  source <(sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$source_dir/completions/rlock.fish" | grep '^complete ')
)

check_completions() {
  local expected
  expected=$(expected_rows)
  expect_equal "rlock.bash" \
    "$(awk -F '|' '{ print $1 "|" $2 "|" ($3 == "" ? "" : "argument") "|" $4 "|" }' <<<"$expected" | sort)" \
    "$(bash_rows | sort)"
  expect_equal "rlock.fish" \
    "$(awk -F '|' '{ print $1 "|" $2 "|" ($3 == "" ? "" : "argument") "|" $4 "|" $5 }' <<<"$expected" | sort)" \
    "$(fish_rows | sort)"
  # zsh has no capital letters at the beginning of a text.
  expect_equal "_rlock" \
    "$(awk -F '|' '{
      if ($5 !~ /^[A-Z][A-Z]/) $5 = tolower(substr($5, 1, 1)) substr($5, 2)
      print $1 "|" $2 "|" $3 "|" $4 "|" $5
    }' <<<"$expected" | sort)" \
    "$(zsh_rows | sort)"
}

# Which options take the next word for their value: all, and no others, lest it be taken for a name.
check_valued() {
  local valued
  valued=$(cat "$dir"/rlock*.rows | awk -F '|' '$2 != "" { print $1 }' | set_of)
  expect_same "rlock.fish, __rlock_takes_value" "$valued" \
    "$(sed -n '/^function __rlock_takes_value/,/^end/p' "$source_dir/completions/rlock.fish" |
      grep -oE -- ' --?[A-Za-z][a-z-]*')"
  expect_same "_rlock, takes_value" "$valued" \
    "$(sed -nE '/^_rlock_takes_value=\(/,/^\)/p' "$source_dir/completions/_rlock" |
      grep -oE -- ' --?[A-Za-z][a-z-]*')"
}
