# shellcheck shell=bash
# What --help says, and sets of words to compare with it. Sourced by documentation_test.sh.
# shellcheck disable=SC2154  # documentation_test.sh sets program and dir

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
