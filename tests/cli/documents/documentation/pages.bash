# shellcheck shell=bash
# The manual pages say what --help says. Sourced by documentation_test.sh.
# shellcheck disable=SC2154  # help.bash and documentation_test.sh set the variables

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
  done < <(help_text "$command" | sed -n '/^Usage: /,/^$/p' | tr -s '\n ' ' ' |
    sed -E 's/^Usage: rlock [a-z-]+ //' | grep -oE -- "$pattern( [A-Z]+)?")
}

# A command, and what rlock says, stay one line on a terminal of 80 columns: people paste a crontab's line.
# Longer ones are broken in the page, a command so that it can be pasted.
check_lines() {
  local page=$1 lines shown line
  while IFS= read -r line; do
    fail "${page##*/}: a literal line has more than 80 columns: $line"
  done < <(timeout 20 mandoc -T ascii -O width=80 "$page" | sed 's/.\x08//g' | expand | awk 'length > 80')
  lines=$(grep '^\.Dl' "$page") || return 0
  shown=$({ printf '.Dd x\n.Dt X 1\n.Os\n.Sh X\n'; printf '%s\n' "$lines"; } |
    timeout 20 mandoc -T ascii -O width=78 | grep -c '^ ')
  [[ $shown == $(wc -l <<<"$lines") ]] || fail "${page##*/}: a line of .Dl is broken in two: use .Bd -literal"
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
