#!/usr/bin/env bash
# --help, the manual pages, the completions and exit_status.hpp say the same. Compared are
#   - the sets of commands, options, values of options, exit statuses and environment variables;
#   - word by word, with --help: the description of each command (completions, NAME, rlock(1)), the
#     description of each option (completions: its first words), the argument of each option (manual
#     pages, SYNOPSIS, usage), the operands (SYNOPSIS), the defaults (manual pages), and the groups of
#     options (rlock-exec(1));
#   - the length of each option in the manual pages.
# Checked besides: the links of the documents, and the length of README.md.
# The text below an option in a manual page is not compared: it says more than --help.
# Usage: documentation_test.sh PROGRAM SOURCE_DIR
set -uo pipefail
export LC_ALL=C

program=$1
source_dir=$2
most_words_of_readme=1200
failures=0

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
  [[ $2 == "$3" ]] || fail "$1: $(diff <(echo "$2") <(echo "$3"))"
}

# expect_known WHAT KNOWN FOUND: says what is unknown.
expect_known() {
  local word
  for word in $(without "$3" "$2"); do fail "$1: $word is unknown"; done
}

# expect_all WHAT EXPECTED FOUND: says what is missing.
expect_all() {
  local word
  for word in $(without "$2" "$3"); do fail "$1: $word is missing"; done
}

# --- what --help says ----------------------------------------------------------------------------

# CLI11 before 2.5 writes "Options:" and "-h,--help"; later "OPTIONS:" and "-h,     --help", and
# names without a letter in the second of these columns.
declare -A help_texts
read_help() {
  help_texts[rlock $*]=$(timeout 10 "$program" "$@" --help |
    sed -E 's/^  (-[A-Za-z]), +(--)/  \1,\2/; s/^ {2,20}(--)/  \1/')
}
help_text() { printf '%s\n' "${help_texts[rlock $*]}"; }
help_options() { help_text "$@" | sed -nE 's/^  (-[^ ]+).*/\1/p' | set_of; }

# Options with a value, of all commands and in all their spellings.
valued_options() {
  local command
  for command in "" $commands; do
    help_text ${command:+"$command"} | sed -nE 's/^  (-[^ ]+) [A-Z]+( .*|:.*)?$/\1/p'
  done | set_of
}

# Prints "OPTION VALUE..." for every option with a fixed set of values.
help_values() {
  help_text "$@" | sed -nE 's/^  (-[^ ]*,)?(--[^ ]+) [A-Z]+:\{([^}]*)\}.*/\2 \3/p' | tr ',' ' '
}

read_help
commands=$(help_text | sed -n '/^subcommands:/I,$p' | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p' | set_of)
global=$(help_options)
everywhere=$(without "$global" "-V --version")
[[ -n $commands && -n $global ]] || fail "$program --help: no commands or no options found"

declare -A options_of
own_options() { printf '%s\n' "${options_of[$1]}"; }

every_option=$global
for command in $commands; do
  read_help "$command"
  options_of[$command]=$(without "$(help_options "$command")" "-h --help")
  every_option=$(union "$every_option" "${options_of[$command]}")
done

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
  expect_same "$name" "$expected" "$(grep '^\.It ' "$page" | flags)"
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

# Prints "LINES OPTION..." for each option in the lists of a page as it is shown on 80 columns. An
# option begins at the left edge of its section; it ends where something else stands at this edge.
option_lines() {
  timeout 20 mandoc -T ascii -O width=78 "$1" | sed 's/.\x08//g' | awk '
    function finish() { if (tag != "") print lines, tag; tag = "" }
    /^     -[^ ]/ {
      finish()
      tag = $0
      sub(/^ +/, "", tag)
      sub(/  .*/, "", tag)
      lines = 1
      blank = 0
      next
    }
    /^ *$/ { ++blank; next }
    /^ ? ? ? ? ?[^ ]/ { finish() }
    tag != "" { lines += 1 + blank; blank = 0 }
    END { finish() }'
}

# Whoever looks up an option reads at most eight lines; what needs more has a section of its own.
check_option_lines() {
  local page=$1 expected=$2 found number tag
  found=$(option_lines "$page")
  # A line of text that happens to begin with an option is found, too.
  expect_all "${page##*/}, options as they are shown" "$expected" \
    "$(grep -oE -- '(^|[ ,])--?[A-Za-z][a-z-]*' <<<"$found" | tr -d ' ,')"
  while read -r number tag; do
    ((number <= 8)) || fail "${page##*/}: $number lines on $tag, instead of 8 at most"
  done <<<"$found"
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

# Prints what bash offers for the last of the words.
bash_offers() {
  # shellcheck disable=SC2016  # the inner bash expands it
  timeout 20 bash --norc -c '
    source "$0/completions/rlock.bash" || exit 1
    COMP_WORDS=(rlock "$@")
    COMP_CWORD=$#
    _rlock
    printf "%s\n" "${COMPREPLY[@]}"' "$source_dir" "$@" | grep -vx -- -- | set_of
}

check_bash() {
  local command option values
  expect_same "rlock.bash: commands" "$commands" "$(bash_offers '')"
  expect_same "rlock.bash" "$global" "$(bash_offers -)"
  for command in $commands; do
    expect_same "rlock.bash, $command" "$(union "$everywhere" "$(own_options "$command")")" \
      "$(bash_offers "$command" -)"
    while read -r option values; do
      expect_same "rlock.bash, $command $option" "$values" "$(bash_offers "$command" "$option" '')"
    done < <(help_values; help_values "$command")
  done
}

# Prints the array $1 of _rlock, with the arrays that it contains.
zsh_array() {
  local line
  sed -nE "/^  $1=\\(\$/,/^  \\)\$/p; s/^  $1=\\((.*)\\)\$/\\1/p" "$source_dir/completions/_rlock" |
    while IFS= read -r line; do
      if [[ $line =~ ^\ *\$([a-z_]+)$ ]]; then zsh_array "${BASH_REMATCH[1]}"; else echo "$line"; fi
    done
}

# Options in specifications such as '(-n --no-wait)'{-w+,--wait=}'[text]:duration: '.
zsh_options() {
  zsh_array "$1" | sed -E 's/\([^)]*\)//g; s/\[[^]]*\]//g' | grep -oE -- '--?[A-Za-z][a-z-]*' | set_of
}

check_zsh() {
  local file=$source_dir/completions/_rlock command array option values
  expect_same "_rlock: commands" "$commands" \
    "$(zsh_array subcommands | sed -nE "s/^ *'([a-z-]+):.*/\\1/p")"
  expect_same "_rlock" "$global" "$(union "$(zsh_options global)" "$(zsh_options first)")"
  for command in $commands; do
    array=${command//-/_}_options
    expect_same "_rlock, $command" "$(union "$everywhere" "$(own_options "$command")")" \
      "$(union "$(zsh_options global)" "$(zsh_options "$array")")"
    grep -qF -- "$command) _arguments -s \$global \$$array " "$file" ||
      fail "_rlock: $command does not use $array"
    while read -r option values; do
      { zsh_array global; zsh_array "$array"; } | grep -F -- "$option=" | grep -qF -- ":($values)" ||
        fail "_rlock, $command $option: not the values $values"
    done < <(help_values; help_values "$command")
  done
}

# Prints the lines of rlock.fish that hold for the command $1, or before a command if it is empty.
fish_lines() {
  sed -e ':a' -e '/\\$/N; s/\\\n//; ta' "$source_dir/completions/rlock.fish" |
    sed -nE 's/^complete -c rlock //p' | awk -v command="$1" '{
      line = $0
      if (line ~ /^-n __rlock_before_dashes /) { print; next }
      if (line !~ /^-n \047__rlock_in[^\047]*\047 /) next
      condition = line
      sub(/^-n \047__rlock_in/, "", condition)
      sub(/\047 .*/, "", condition)
      if (command == "" ? condition == "" : index(condition " ", " " command " ")) print
    }'
}

fish_options() {
  fish_lines "$1" | sed -E "s/ -[dna] '[^']*'//g" |
    awk '{ for (i = 1; i < NF; ++i) {
      if ($i == "-s") print "-" $(i + 1)
      if ($i == "-l") print "--" $(i + 1)
    } }' | set_of
}

check_fish() {
  local command option values line
  expect_same "rlock.fish: commands" "$commands" \
    "$(fish_lines '' | sed -nE "s/^-n '__rlock_in' -a ([a-z-]+) .*/\\1/p")"
  expect_same "rlock.fish" "$global" "$(fish_options '')"
  for command in $commands; do
    expect_same "rlock.fish, $command" "$(union "$everywhere" "$(own_options "$command")")" \
      "$(fish_options "$command")"
    while read -r option values; do
      line=$(fish_lines "$command" | grep -E -- " -l ${option#--} ")
      [[ $line == *" -a '$values' "* || $line == *" -a $values "* ]] ||
        fail "rlock.fish, $command $option: not the values $values"
    done < <(help_values; help_values "$command")
  done
  # Every line with an option must be one that was understood above.
  local all understood
  all=$(grep -cE '^complete -c rlock .*-[sl] ' "$source_dir/completions/rlock.fish")
  understood=$({ fish_lines ''; for command in $commands; do fish_lines "$command"; done; } |
    sort -u | grep -cE -- '-[sl] ')
  [[ $all == "$understood" ]] || fail "rlock.fish: $all lines with options, $understood understood"
}

# --- words --------------------------------------------------------------------------------------

# Prints OPTION, ARGUMENT and DESCRIPTION for each spelling of each option, as --help has it, with a byte
# between them that separates empty fields, too.
help_words() {
  help_text "$@" | awk '
    function finish(  i, n, names, parts) {
      if (line == "") return
      n = split(line, parts, / +/)
      sub(/:.*/, "", parts[2])
      for (i = split(parts[1], names, ","); i > 0; --i) print names[i] "\037" parts[2] "\037" text
      line = ""
    }
    /^                    / { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0; next }
    { finish() }
    /^  -/ {
      line = substr($0, 3)
      text = ""
      if (match(line, /  +/)) { text = substr(line, RSTART + RLENGTH); line = substr(line, 1, RSTART - 1) }
    }
    END { finish() }'
}

# Prints "OPTION<tab>DESCRIPTION" for the options of the command $1 in the completion for zsh; "" for
# those before a command.
zsh_words() {
  local line text option arrays=("${1//-/_}_options")
  [[ -n $1 ]] || arrays=(global first)
  for array in "${arrays[@]}"; do
    while IFS= read -r line; do
      [[ $line =~ \[([^]]*)\] ]] || continue
      text=${BASH_REMATCH[1]//\\:/:}
      for option in $(sed -E 's/\([^)]*\)//g; s/\[.*//' <<<"$line" | grep -oE -- '--?[A-Za-z][a-z-]*'); do
        printf '%s\t%s\n' "$option" "$text"
      done
    done < <(zsh_array "$array")
  done
}

fish_words() {
  fish_lines "$1" | sed -nE "s/^(.*) -d '([^']*)'.*/\1\t\2/p" | awk -F '\t' '{
    n = split($1, words, " ")
    for (i = 1; i < n; ++i) {
      if (words[i] == "-s") print "-" words[i + 1] "\t" $2
      if (words[i] == "-l") print "--" words[i + 1] "\t" $2
    }
  }'
}

# Prints "OPTION<tab>ARGUMENT" for each option in the lists of a manual page.
man_words() {
  grep -E '^\.It Fl .*Ar ' "$1" | sed -E 's/^\.It //; s/ (Ns|Op|=) / /g; s/ (Ns|Op|=) / /g' | awk '{
    n = 0
    for (i = 1; i <= NF; ++i) {
      if ($i == "Fl") names[++n] = "-" $(i + 1)
      if ($i == "Ar") { for (; n > 0; --n) print names[n] "\t" tolower($(i + 1)) }
    }
  }'
}

# Prints the same, also "OPTION<tab>" for options without an argument, and fixed values (Cm) as they are.
man_arguments() {
  grep -E '^\.It Fl ' "$1" | sed -E 's/ (Ns|Op|=) / /g; s/ (Ns|Op|=) / /g' | awk '{
    n = 0
    argument = ""
    for (i = 1; i <= NF; ++i) {
      if ($i == "Fl" && $(i - 1) != "With") names[++n] = "-" $(i + 1)
      if ($i == "Ar" || $i == "Cm") argument = $(i + 1)
    }
    for (; n > 0; --n) print names[n] "\t" argument
  }'
}

# The completions describe each option with the first words of what --help says; the manual pages name
# its argument as --help does, or with the whole word.
check_words() {
  local command shell page option argument description said rest
  local -A words
  for command in "" $commands; do
    page=$source_dir/man/rlock${command:+-$command}.1
    words=([zsh]=$(zsh_words "$command") [fish]=$(fish_words "$command") [man]=$(man_words "$page"))
    while IFS=$'\037' read -r option argument description; do
      [[ -n $description ]] || fail "rlock $command --help: nothing about $option"
      for shell in zsh fish; do
        [[ -z $command || ($option != -h && $option != --help) ]] || continue
        said=$(sed -n "s/^$option\t//p" <<<"${words[$shell]}")
        [[ -n $said ]] || fail "$shell, $command $option: no description"
        rest=${description,}
        rest=${rest#"${said,}"}
        [[ ${description,} == "${said,}"* && $rest != [A-Za-z0-9]* ]] ||
          fail "$shell, $command $option: '$said', and --help: '$description'"
      done
      case $argument in
        DUR) argument=duration ;;
        ID) argument=owner ;;
        N) argument=number ;;
      esac
      said=$(sed -n "s/^$option\t//p" <<<"${words[man]}")
      # An argument that can be left out is not in --help; the page names the only one that there is.
      [[ $said == "${argument,,}" || $option == --export || $command$option == unlock--kind ]] ||
        fail "${page##*/}: $option $said, and --help: ${argument:-no argument}"
    done < <(help_words ${command:+"$command"})
  done
}

# Prints "COMMAND<tab>DESCRIPTION" for each command, as --help has it.
command_words() {
  help_text | sed -n '/^subcommands:/I,$p' | awk '
    function finish() { if (name != "") print name "\t" text; name = "" }
    /^                    / { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0; next }
    { finish() }
    /^  [a-z]/ { name = $1; text = $0; sub(/^ +[^ ]+ */, "", text) }
    END { finish() }'
}

# The completions and the manual pages describe each command with the words of --help.
check_command_words() {
  local command description where
  local -A said
  while IFS=$'\t' read -r command description; do
    said=(
      [zsh]=$(zsh_array subcommands | sed -nE "s/^ *'$command:(.*)'$/\1/p")
      [fish]=$(fish_lines '' | sed -nE "s/^-n '__rlock_in' -a $command -d '(.*)'$/\1/p")
      [rlock-$command.1]=$(sed -n 's/^\.Nd //p' "$source_dir/man/rlock-$command.1")
      [rlock.1]=$(sed -n "/^\.It Cm $command\$/{n;s/\.$//;p;}" "$source_dir/man/rlock.1")
    )
    for where in "${!said[@]}"; do
      [[ ${said[$where],} == "${description,}" ]] ||
        fail "$where, $command: '${said[$where]}', and --help: '$description'"
    done
  done < <(command_words)
}

# Prints "OPTION<tab>ARGUMENT" for each option in the SYNOPSIS of a manual page, and "<tab>OPERAND" for each
# operand.
synopsis_words() {
  section "$1" SYNOPSIS | grep -E '^\.(Op|Fl|Ar) ' | sed -E 's/ (Ns|Op|=) / /g; s/ (Ns|Op|=) / /g' | awk '{
    option = ""
    for (i = 1; i <= NF; ++i) {
      word = $(i + 1)
      if ($i ~ /^\.?(Fl|Ar|Cm)$/ && (word == "option" || word == "global" || word == "-")) break
      else if ($i ~ /^\.?Fl$/) { if (option != "") print option "\t"; option = "-" word }
      else if ($i ~ /^\.?(Ar|Cm)$/) { print option "\t" word; option = "" }
    }
    if (option != "") print option "\t"
  }'
}

# The SYNOPSIS of a command names each of its options, unless it says "option ...", with the same arguments
# as the list of options; it names the operands of --help. So does the usage in --help.
check_synopses() {
  local command page words option argument spellings usage
  for command in $commands; do
    page=$source_dir/man/rlock-$command.1
    words=$(synopsis_words "$page")
    while IFS=$'\t' read -r option argument; do
      [[ -z $option ]] || grep -qx -- "$option"$'\t'"$argument" <<<"$(man_arguments "$page")" ||
        fail "${page##*/}, SYNOPSIS: $option '$argument' is not in the list of options"
    done < <(grep -v $'^\t' <<<"$words")
    if ! section "$page" SYNOPSIS | grep -q '^\.Op Ar option'; then
      while read -r spellings; do
        grep -qE -- "^(${spellings//,/|})"$'\t' <<<"$words" ||
          fail "${page##*/}, SYNOPSIS: $spellings is missing"
      done < <(help_text "$command" | sed -nE 's/^  (-[^ ]+).*/\1/p' | grep -v -- --help)
    fi
    expect_same "${page##*/}, SYNOPSIS: operands" \
      "$(help_text "$command" | sed -n '/^positionals:/I,/^$/p' | sed -nE 's/^  ([A-Z]+) .*/\L\1/p')
       $([[ $command != exec ]] || echo command argument)" \
      "$(sed -n 's/^\t//p' <<<"$words")"
    usage=$(help_text "$command" | sed -n 's/^Usage: //p')
    while read -r option argument; do
      grep -q -- "^$option"$'\037'"$argument"$'\037' <<<"$(help_words "$command")" ||
        fail "rlock $command --help: usage: $option $argument is not in the list of options"
    done < <(grep -oE -- '--[a-z-]+( [A-Z]+)?' <<<"$usage")
  done
}

# Prints what a manual page says about an option: from its .It to the next one.
option_text() {
  awk -v flag="Fl ${2#-}" '
    /^\.It Fl / { inside = index($0 " ", flag " ") }
    /^\.S[hs] / { inside = 0 }
    inside' "$1"
}

# The manual pages name the same defaults as --help, where that is a number, a duration, a URL or a word of
# a fixed set.
check_defaults() {
  local command page option argument description word
  for command in "" $commands; do
    page=$source_dir/man/rlock${command:+-$command}.1
    while IFS=$'\037' read -r option argument description; do
      [[ $description =~ \[([^]]*)\] ]] || continue
      for word in ${BASH_REMATCH[1]//[;,]/ }; do
        [[ $word =~ ^([0-9]+(ms|s|m|h)?|redis://.*|reentrant|term|auto)$ ]] || continue
        option_text "$page" "$option" | grep -qFw -- "$word" ||
          fail "${page##*/}: $option: the default $word is missing"
      done
    done < <(help_words ${command:+"$command"})
  done
}

# The groups of options in the help of exec are the subsections in its manual page, in the same order.
check_groups() {
  expect_equal "rlock-exec.1, groups of options" \
    "$(help_text exec | awk '
      /^[A-Za-z ]+:$/ { group = tolower($0); sub(/:$/, "", group) }
      /^  -/ && group != "options" { split($1, names, ","); print group ": " names[1] }')" \
    "$(section "$source_dir/man/rlock-exec.1" OPTIONS | awk '
      /^\.Ss / { group = tolower(substr($0, 5)) }
      /^\.It Fl / { print group ": -" $3 }')"
}

# Which options take the next word for their value: all, and no others, lest it be taken for a name.
check_valued() {
  local valued option
  valued=$(valued_options)
  expect_same "rlock.bash, _rlock_takes_value" "$valued" "$(
    # shellcheck disable=SC1091
    source "$source_dir/completions/rlock.bash"
    for option in $every_option; do
      if _rlock_takes_value "$option"; then printf '%s\n' "$option"; fi
    done
  )"
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
check_bash
check_zsh
check_fish
check_valued
check_words
check_command_words
check_synopses
check_defaults
check_groups

if command -v mandoc >/dev/null; then
  check_option_lines "$source_dir/man/rlock.1" "$global"
  for command in $commands; do
    [[ -z $(own_options "$command") ]] ||
      check_option_lines "$source_dir/man/rlock-$command.1" "$(own_options "$command")"
  done
  for page in "$source_dir"/man/*.1; do
    if ! output=$(timeout 20 mandoc -T lint -W warning "$page" 2>&1) || [[ -n $output ]]; then
      fail "mandoc: $output"
    fi
  done
elif ((failures == 0)); then
  echo "skipped in part: mandoc is not installed, the pages' markup was not checked"
  exit 77
fi

if ((failures > 0)); then
  echo "$failures failures"
  exit 1
fi
echo "ok: $(wc -w <<<"$commands") commands, $(wc -l <<<"$every_option") options"
