#!/usr/bin/env bash
# --help is the one source of what the documents say about commands and options. This test compares,
# word by word and in both directions:
#   - completions, one row for each option of each command: its name, whether it has an argument, and
#     the values or files that are offered. For zsh and fish also its text: the first sentence of
#     --help. For zsh also the name of the argument;
#   - the option lists of the manual pages: names, arguments, groups and order. The text of an option
#     begins with the text of --help, then "Default: " with the default of --help;
#   - the descriptions of commands: completions, NAME, and the list in rlock(1);
#   - SYNOPSIS and usage: options, their arguments, and operands;
#   - the global options, their variables and defaults: rlock config, and FILES in rlock(1).
# It also compares the sets of exit statuses (exit_status.hpp), environment variables, kinds of locks,
# and promises. It checks the length of each option in the manual pages and of README.md, and the links
# of the documents.
# Usage: documentation_test.sh PROGRAM SOURCE_DIR
set -uo pipefail
export LC_ALL=C

program=$(realpath -- "$1")
source_dir=$(realpath -- "$2")
most_words_of_readme=1200
most_lines_of_option=8
failures=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf -- "$dir"' EXIT

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

# --- sets: one word a line, sorted ---------------------------------------------------------------

set_of() { tr -s ' \t,' '\n' | sed '/^$/d' | sort -u; }
union() { printf '%s\n' "$@" | set_of; }
without() { comm -23 <(set_of <<<"$1") <(set_of <<<"$2"); }

# expect_same WHAT EXPECTED FOUND: says what is missing and what is unknown.
expect_same() {
  local word
  for word in $(without "$2" "$3"); do fail "$1: $word is missing"; done
  for word in $(without "$3" "$2"); do fail "$1: $word is unknown"; done
}

# expect_equal WHAT EXPECTED FOUND: compares lines; says which differ.
expect_equal() {
  local line
  while IFS= read -r line; do
    case $line in
      '<'*) fail "$1: missing: ${line#??}" ;;
      '>'*) fail "$1: unknown: ${line#??}" ;;
    esac
  done < <(diff <(printf '%s\n' "$2") <(printf '%s\n' "$3"))
}

# expect_known WHAT KNOWN FOUND: says what is unknown.
expect_known() {
  local word
  for word in $(without "$3" "$2"); do fail "$1: $word is unknown"; done
}

# --- what --help says ----------------------------------------------------------------------------

# CLI11 before 2.5 writes "Options:" and "-h,--help"; later "OPTIONS:" and "-h,     --help", and
# names without a letter in the second of these columns.
read_help() {
  timeout 10 "$program" "$@" --help |
    sed -E 's/^  (-[A-Za-z]), +(--)/  \1,\2/; s/^ {2,20}(--)/  \1/' >"$dir/rlock${1:+-$1}.help"
}
help_text() { cat "$dir/rlock${1:+-$1}.help"; }

# Prints a row for each option of a command, or of rlock:
# NAMES|ARGUMENT|VALUES|TEXT|DEFAULT|VARIABLES|GROUP
# VALUES is FILE for any file. The argument is called as in the manual pages.
help_rows() {
  help_text "$@" | awk '
    function finish(  i, n, notes, value, variables) {
      if (names == "") return
      value = variables = ""
      if (match(text, / \[[^]]*\]$/)) {
        n = split(substr(text, RSTART + 2, RLENGTH - 3), notes, /; /)
        text = substr(text, 1, RSTART - 1)
        for (i = 1; i <= n; ++i) if (!sub(/^env /, "", notes[i])) value = notes[i]; else variables = notes[i]
      }
      print names "|" argument "|" values "|" text "|" value "|" variables "|" group
      names = ""
    }
    /^                    / { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0; next }
    { finish() }
    /^[A-Za-z ]+:$/ { group = tolower(substr($0, 1, length($0) - 1)) }
    /^  -/ {
      names = $1
      values = text = ""
      if (match($0, /[^ ]  +/)) { text = substr($0, RSTART + RLENGTH); $0 = substr($0, 1, RSTART) }
      argument = $2
      if (match(argument, /:\{.*\}$/)) {
        values = substr(argument, RSTART + 2, RLENGTH - 3)
        gsub(/,/, " ", values)
        argument = substr(argument, 1, RSTART - 1)
      }
      if (argument == "FILE") values = "FILE"
      sub(/^DUR$/, "duration", argument)
      sub(/^ID$/, "owner", argument)
      sub(/^N$/, "number", argument)
      if (argument != "URL") argument = tolower(argument)
    }
    END { finish() }'
}

# Prints "COMMAND|DESCRIPTION" for each command.
command_rows() {
  help_text | sed -n '/^subcommands:/I,$p' | awk '
    function finish() { if (name != "") print name "|" text; name = "" }
    /^                    / { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0; next }
    { finish() }
    /^  [a-z]/ { name = $1; text = $0; sub(/^ +[^ ]+ */, "", text) }
    END { finish() }'
}

# Prints the options of the rows of stdin, one of their names a line.
names_of() { cut -d '|' -f 1 | set_of; }

read_help
help_rows >"$dir/rlock.rows"
command_rows >"$dir/commands"
commands=$(names_of <"$dir/commands")
global=$(names_of <"$dir/rlock.rows")
everywhere=$(without "$global" "-V --version")
[[ -n $commands && -n $global ]] || fail "$program --help: no commands or no options found"

every_option=$global
for command in $commands; do
  read_help "$command"
  help_rows "$command" | grep -v '^-h,' >"$dir/rlock-$command.rows"
  every_option=$(union "$every_option" "$(names_of <"$dir/rlock-$command.rows")")
done
own_options() { names_of <"$dir/rlock-$1.rows"; }

# --- manual pages --------------------------------------------------------------------------------

# Prints the options behind Fl on the macro lines of stdin, as they are typed.
flags() {
  awk '/^\./ {
    in_flags = 0
    for (i = 1; i <= NF; ++i) {
      if ($i == "Fl" || $i == ".Fl") in_flags = 1
      else if ($i ~ /^\.?[A-Z][a-z]$/) in_flags = 0
      else if (in_flags && $i !~ /^[][|,.;:()]+$/ && $i != "-") print "-" $i
    }
  }' | set_of
}

section() { awk -v name="$2" '/^\.Sh / { inside = ($0 == ".Sh " name) } inside' "$1"; }

# Prints "COMMAND OPTION..." for each line of an example that runs rlock.
example_options() {
  grep -E '^(\.Dl |[^.])' "$1" | sed 's/\\-/-/g' | sed -nE 's/^(.*[^a-z.-])?rlock +//p' |
    sed -E 's/ -- .*//; s/ [|] .*//' | awk '{
      line = ""
      for (i = 1; i <= NF; ++i) if ($i ~ /^-/) { sub(/=.*/, "", $i); line = line " " $i }
      for (i = 1; i <= NF; ++i) if ($i ~ /^[a-z][a-z-]*$/) { print $i line; break }
    }'
}

check_page() {
  local page=$1 expected=$2 name found line command
  name=${page##*/}
  if [[ ! -f $page ]]; then
    fail "$name is missing"
    return
  fi
  expect_known "$name, SYNOPSIS" "$(union "$expected" "$everywhere")" \
    "$(section "$page" SYNOPSIS | flags)"
  expect_known "$name, text" "$every_option" "$(flags <"$page")"
  for found in ENVIRONMENT "EXIT STATUS" EXAMPLES; do
    [[ -n $(section "$page" "$found") ]] || fail "$name: no section $found"
  done
  while read -r command line; do
    [[ -n $command ]] || continue
    if ! grep -qx -- "$command" <<<"$commands"; then
      fail "$name, example: rlock $command is unknown"
    else
      expect_known "$name, example of $command" \
        "$(union "$everywhere" "$(own_options "$command")")" "$line"
    fi
  done < <(example_options "$page")
}

check_pages() {
  local command variable
  check_page "$source_dir/man/rlock.1" "$global"
  for command in $commands; do
    check_page "$source_dir/man/rlock-$command.1" "$(own_options "$command")"
  done
  expect_same "man: pages" "$(for command in $commands; do echo "rlock-$command.1"; done)" \
    "$(cd "$source_dir/man" && ls -- rlock-*.1)"
  expect_same "rlock.1: commands" "$commands" \
    "$(sed -nE 's/^\.It Cm ([a-z-]+)$/\1/p' "$source_dir/man/rlock.1")"
  for variable in $(without "$(help_text | grep -oE '\[env [A-Z_, ]+' | sed 's/^.env //')" \
    "$(sed -nE 's/^\.It Ev //p' "$source_dir/man/rlock.1")"); do
    fail "rlock.1: ENVIRONMENT: $variable is missing"
  done
}

# Prints "LINES|NAMES|ARGUMENT|GROUP|TEXT" for each option in the OPTIONS of a manual page, as it is shown
# on $2 columns. An option begins at the left edge; it ends where something else stands at this edge.
shown_options() {
  timeout 20 mandoc -T ascii -O width="$2" "$1" | sed 's/.\x08//g' | awk '
    function finish(  i, n, words, names, argument) {
      if (tag == "") return
      sub(/\[=.*/, "", tag)
      n = split(tag, words, / /)
      names = argument = ""
      for (i = 1; i <= n; ++i) if (words[i] ~ /^-/) names = names words[i]; else argument = words[i]
      print lines "|" names "|" argument "|" group "|" text
      tag = ""
    }
    /^[A-Z]/ { finish(); inside = $0 == "OPTIONS" }
    !inside { next }
    /^   [^ ]/ { finish(); group = tolower(substr($0, 4)); next }
    /^     --?[A-Za-z]/ {
      finish()
      tag = substr($0, 6)
      text = ""
      if (match(tag, /  +/)) { text = substr(tag, RSTART + RLENGTH); tag = substr(tag, 1, RSTART - 1) }
      lines = 1
      blank = 0
      next
    }
    /^ *$/ { ++blank; next }
    /^     [^ ]/ { finish() }
    tag != "" {
      lines += 1 + blank
      blank = 0
      sub(/^ +/, "")
      gsub(/  +/, " ")
      text = text (text == "" ? "" : " ") $0
    }
    END { finish() }'
}

# Checks the option list of a manual page by the rows of --help. Whoever looks up an option reads at most
# eight lines; what needs more has a section of its own.
check_option_list() {
  local page=$1 rows=$2 complaint
  shown_options "$page" 1000 >"$dir/shown"
  # Of rlock(1), -h and -V stand at the end, and there is one group. Where an option has one value only,
  # that is its argument.
  expect_equal "${page##*/}, names|argument|group of the options" \
    "$(awk -F '|' '
      { line = $1 "|" ($3 ~ /^[a-z]+$/ ? $3 : $2) "|" ($7 ~ /options$/ ? "" : $7) }
      $7 == "options" && FILENAME ~ /rlock.rows$/ { last = last line "\n"; next }
      { print line }
      END { printf "%s", last }' "$rows")" \
    "$(cut -d '|' -f 2-4 "$dir/shown")"
  while IFS= read -r complaint; do
    [[ -z $complaint ]] || fail "${page##*/}: $complaint"
  done < <(
    awk -F '|' '
      function man_words(text) {
        gsub(/CMD/, "command", text)
        gsub(/PATTERN/, "pattern", text)
        gsub(/STRING/, "string", text)
        text = " " text " "
        gsub(/ NAME,/, " name,", text)
        gsub(/ N /, " number ", text)
        return substr(text, 2, length(text) - 2)
      }
      FILENAME == ARGV[1] { shown[$2] = $5 " "; next }
      $1 in shown {
        expected = man_words($4) "." ($5 == "" ? "" : " Default: " $5 ".") " "
        if (index(shown[$1], expected) != 1) print $1 ": \"" shown[$1] "\" does not begin with: " expected
        if ($5 == "" && shown[$1] ~ /Default:/) print $1 ": --help has no default"
        n = $3 == "FILE" ? 0 : split($3, values, / /)
        for (i = 1; i <= n; ++i) {
          if (n > 1 && shown[$1] !~ "[ ]" values[i] "[ ,.]") print $1 ": the value " values[i] " is missing"
        }
      }' "$dir/shown" "$rows"
    shown_options "$page" 78 | awk -F '|' -v most="$most_lines_of_option" '
      $1 > most { print $1 " lines on " $2 ", instead of " most " at most" }'
  )
}

# Prints the SYNOPSIS of a manual page without the options that it does not name, and without arguments that
# can be left out.
shown_synopsis() {
  timeout 20 mandoc -T ascii -O width=1000 "$1" | sed 's/.\x08//g' |
    sed -nE '/^SYNOPSIS/,/^DESC/s/^ +rlock [a-z-]+ //p' |
    sed -E 's/\[(global )?option \.\.\.\]//; s/\[=[a-z]+\]//'
}

# The SYNOPSIS of a command names each of its options, unless it says "option ...", with the same arguments
# as the list of options; it names the operands of --help. So does the usage in --help.
check_synopsis() {
  local command=$1 page=$source_dir/man/rlock-$1.1 pattern='--?[A-Za-z][a-z-]*' words names option argument
  words=$(shown_synopsis "$page" | grep -oE -- "$pattern( [a-z]+)?")
  while read -r option argument; do
    [[ -z $option ]] || cut -d '|' -f 2-3 "$dir/shown" | grep -qE -- "^(.*,)?$option(,.*)?\|$argument\$" ||
      fail "${page##*/}, SYNOPSIS: $option '$argument' is not in the list of options"
  done <<<"$words"
  if ! section "$page" SYNOPSIS | grep -q '^\.Op Ar option'; then
    for names in $(cut -d '|' -f 1 "$dir/rlock-$command.rows"); do
      grep -qE -- "^(${names//,/|})( |\$)" <<<"$words" || fail "${page##*/}, SYNOPSIS: $names is missing"
    done
  fi
  expect_same "${page##*/}, SYNOPSIS: operands" \
    "$(help_text "$command" | sed -n '/^positionals:/I,/^$/p' | sed -nE 's/^  ([A-Z]+) .*/\L\1/p')
     $([[ $command != exec ]] || echo command argument)" \
    "$(shown_synopsis "$page" | sed -E "s/$pattern( [a-z]+)?//g" | tr -c 'a-z\n' ' ')"
  # The usage says KIND or ID where the manual page has kind or owner.
  while read -r option argument; do
    help_text "$command" | grep -qE -- "^  ([^ ]+,)?$option(,[^ ]+)? ${argument:- }" ||
      fail "rlock $command --help: usage: $option $argument is not in the list of options"
  done < <(help_text "$command" | sed -nE 's/^Usage: rlock [a-z-]+ //p' | grep -oE -- "$pattern( [A-Z]+)?")
}

# NAME and rlock(1) describe each command with the words of --help.
check_command_words() {
  local command description text
  while IFS='|' read -r command description; do
    for text in "$(sed -n 's/^\.Nd //p' "$source_dir/man/rlock-$command.1")." \
      "$(sed -n "/^\.It Cm $command\$/{n;p;}" "$source_dir/man/rlock.1")"; do
      [[ ${text^} == "$description." ]] || fail "man, $command: '$text', and --help: '$description'"
    done
  done <"$dir/commands"
}

# The settings of rlock config are the global options that have a value: each has the default of --help, and
# comes from the variables that --help names.
check_settings() {
  local variable value
  settings() { # VARIABLE=VALUE...: prints NAME|VALUE|SOURCE
    env -i "$@" RLOCK_CONFIG=/dev/null "$program" config --json |
      sed -E 's/.*"name":"([^"]*)","value":"?([^"]*)"?,"source":"([^"]*)".*/\1|\2|\3/'
  }
  expect_equal "rlock config: defaults" \
    "$(awk -F '|' '$2 != "" && $1 != "--config" {
      sub(/.*--/, "", $1)
      print $1 "|" ($5 == "" || $5 == "the system\047s" ? "null" : $5)
    }' "$dir/rlock.rows" | sort)" \
    "$(settings | cut -d '|' -f 1,2 | sort)"
  expect_same "rlock.1, FILES: settings" "$(settings | cut -d '|' -f 1)" \
    "$(section "$source_dir/man/rlock.1" FILES | sed -n '/^It can set these/,/^\.Bd/s/^\.Li //p' | tr -d .)"
  expect_equal "rlock config: variables" "$(awk -F '|' '$1 != "--config" {
    sub(/.*--/, "", $1)
    for (i = split($6, variables, ", "); i > 0; --i) print variables[i] "|" $1
  }' "$dir/rlock.rows" | sort)" "$(
    for variable in $(sed -nE 's/^\.It Ev //p' "$source_dir/man/rlock.1" | tr -d ,); do
      value=9
      [[ $variable != RLOCK_REDIS ]] || value=redis://a
      settings "$variable=$value" | sed -nE "s/^password\|/password-file|/; s/^([^|]*)\|.*\|$variable\$/$variable|\1/p"
    done | sort
  )"
}

check_statuses() {
  local header=$source_dir/src/base/exit_status.hpp known page
  known=$(sed -nE 's/^ *[a-z_]+ = ([0-9]+),.*/\1/p' "$header" | set_of)
  [[ -n $known ]] || fail "$header: no statuses found"
  statuses() { section "$1" "EXIT STATUS" | sed -nE 's/^\.It ([0-9]+).*/\1/p' | set_of; }
  expect_same "rlock.1: EXIT STATUS" "$known" "$(statuses "$source_dir/man/rlock.1")"
  for page in "$source_dir"/man/*.1; do
    expect_known "${page##*/}: EXIT STATUS" "$known" "$(statuses "$page")"
  done
}

# The commands that print JSON, the kinds of locks, the files that the documents link to, and the length of
# README.md.
check_text() {
  local kinds page target goal length
  expect_same "rlock.1: --json" \
    "$(cd "$source_dir/man" && grep -l -- '-json' rlock-*.1 | sed 's/^rlock-//; s/\.1$//')" \
    "$(sed -n '/^\.It Fl -json/,/^\.It /p' "$source_dir/man/rlock.1" | sed -n 's/^\.Cm //p' | sed 's/ \.$//')"
  kinds=$(sed -nE 's/.*\.name = "([^"]*)".*/\1/p' "$source_dir/src/lock/words/kind.cpp" | set_of)
  [[ $(wc -w <<<"$kinds") -ge 6 ]] || fail "kind.cpp: no kinds found"
  expect_same "rlock-list.1: KIND" "$(union "$(without "$kinds" "$(union read write)")" read-write unknown)" \
    "$(sed -n '/^\.It Li KIND/,/^\.It /s/^\.Cm \([^.]*\).*/\1/p' "$source_dir/man/rlock-list.1")"
  # docs/ is installed, by itself; the others stay in the source.
  for page in "$source_dir"/docs/*.md "$source_dir"/docs/*/*.md "$source_dir"/*.md; do
    while IFS= read -r target; do
      goal=$(realpath -m -- "${page%/*}/${target%%#*}")
      [[ -e $goal ]] || fail "${page##*/}: link to $target, which is not there"
      [[ $page != "$source_dir"/docs/* || $goal == "$(realpath -- "$source_dir")"/docs/* ]] ||
        fail "${page##*/}: link to $target, which is not installed"
    done < <(grep -oE '\]\([^)]+\)' "$page" | sed 's/^](//; s/)$//' | grep -vE '^(#|https?:)')
  done
  length=$(wc -w <"$source_dir/README.md")
  ((length <= most_words_of_readme)) ||
    fail "README.md: $length words, instead of $most_words_of_readme at most"
}

# --- completions ---------------------------------------------------------------------------------

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

# Every promise has a test that is named after it, and no test is named after another.
check_promises() {
  expect_same "docs/promises.md, tests" \
    "$(sed -nE 's/^\| ([A-Z][0-9]+) \|.*/\1/p' "$source_dir/docs/promises.md")" \
    "$(grep -rhoE 'TEST_CASE\("([A-Z][0-9]+(, )?)+:' "$source_dir/tests" | grep -oE '[A-Z][0-9]+')"
}

# -------------------------------------------------------------------------------------------------

check_promises
check_pages
check_statuses
check_text
check_completions
check_valued
check_command_words
check_settings

if command -v mandoc >/dev/null; then
  for command in "" $commands; do
    page=$source_dir/man/rlock${command:+-$command}.1
    check_option_list "$page" "$dir/rlock${command:+-$command}.rows"
    [[ -z $command ]] || check_synopsis "$command"
    if ! output=$(timeout 20 mandoc -T lint -W warning "$page" 2>&1) || [[ -n $output ]]; then
      fail "mandoc: $output"
    fi
  done
elif ((failures == 0)); then
  echo "skipped in part: mandoc is not installed, the option lists of the pages were not checked"
  exit 77
fi

if ((failures > 0)); then
  echo "$failures failures"
  exit 1
fi
echo "ok: $(wc -w <<<"$commands") commands, $(wc -l <<<"$every_option") options"
