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
# and promises. It checks the length of each option and the width of literal lines in the manual
# pages, the length of README.md, and the links of the documents.
# Usage: documentation_test.sh PROGRAM SOURCE_DIR
# Labels: quick
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

parts=$(dirname -- "${BASH_SOURCE[0]}")/documentation
for part in help pages completions; do
  # shellcheck disable=SC1090
  source "$parts/$part.bash"
done

# The settings of rlock config are the global options that have a value, and --wait-server: each has the default of
# --help, and comes from the variables that --help names.
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
    }' "$dir/rlock.rows" <(grep -e '--wait-server' "$dir/rlock-exec.rows") | sort)" \
    "$(settings | cut -d '|' -f 1,2 | sort)"
  expect_same "rlock.1, FILES: settings" "$(settings | cut -d '|' -f 1)" \
    "$(section "$source_dir/man/rlock.1" FILES | sed -n '/^It can set these/,/^\.Bd/s/^\.Li //p' | tr -d .)"
  expect_same "rlock-config.1: output" "$(settings RLOCK_PASSWORD=x | cut -d '|' -f 1)" \
    "$(sed -n '/^redis = /,/^\.Ed/p' "$source_dir/man/rlock-config.1" | sed -nE 's/^(# )?([a-z-]+)( =|:) .*/\2/p')"
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
  expect_same "README.md: commands with status 1" \
    "$(section "$source_dir/man/rlock.1" "EXIT STATUS" | sed -nE '/^\.It 1$/,/^\.It 64$/s/^\.Cm ([a-z-]+).*/\1/p')" \
    "$(grep '^| 1 |' "$source_dir/README.md" | grep -oE '`[a-z-]+' | tr -d '`')"
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
    check_lines "$page"
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
