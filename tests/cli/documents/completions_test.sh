#!/usr/bin/env bash
# The completions for bash, zsh and fish, each in its shell.
# Usage: completions_test.sh PROGRAM SOURCE_DIR (the program is not run)
set -uo pipefail
unset BASH_ENV ENV

source_dir=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/home"
printf '#!/bin/sh\n' >"$scratch/bin/rlocktestprogram"
chmod +x "$scratch/bin/rlocktestprogram"
touch "$scratch/home/rlocktestfile.toml"
export PATH=$scratch/bin:$PATH HOME=$scratch/home XDG_CONFIG_HOME=$scratch/home
failures=0

# Each of these prints what a shell offers for the last word of the arguments, a candidate a line.

bash_offers() {
  # shellcheck disable=SC2016  # the inner bash expands it
  timeout 20 bash --norc -c '
    package=/usr/share/bash-completion/bash_completion
    if [[ $1 == with-package ]]; then source "$package"; fi
    source "$2/completions/rlock.bash" || exit 1
    shift 2
    COMP_WORDS=(rlock "$@") COMP_CWORD=$#
    COMP_LINE=${COMP_WORDS[*]}
    COMP_LINE=${COMP_LINE// = /=} COMP_POINT=${#COMP_LINE} COMP_TYPE=9 COMP_KEY=9
    [[ $(complete -p rlock) == *" -F _rlock "* ]] || exit 1
    _rlock rlock "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    printf "%s\n" "${COMPREPLY[@]}"' bash "$bash_mode" "$source_dir" "$@" 2>/dev/null |
    sed 's/ *$//'
}

# fish 4 also lists, behind them, candidates that merely contain the word's letters.
fish_offers() {
  # shellcheck disable=SC2016  # fish expands it
  timeout 20 fish -c 'source $argv[1]/completions/rlock.fish; complete -C "rlock $argv[2..-1]"' \
    "$source_dir" "$@" </dev/null | cut -f 1 | word=${!#} awk 'index($0, ENVIRON["word"]) == 1'
}

zsh_offers() {
  timeout 60 zsh -f "$here/shell/zsh_capture.zsh" "$source_dir/completions" "rlock $*" </dev/null
}

# expect SHELL EXPECTED WORD...: exactly these candidates, sorted, joined by a space.
expect() {
  local shell=$1 expected=$2 found
  shift 2
  found=$("${shell}_offers" "$@" | sed '/^$/d' | LC_ALL=C sort -u | tr '\n' ' ')
  if [[ ${found% } != "$expected" ]]; then
    echo "FAIL: $label: rlock $*: offers '${found% }' instead of '$expected'"
    failures=$((failures + 1))
  fi
}

check() {
  local shell=$1
  label=$2
  local all="acquire completion config doctor evict exec fence inspect-queue list renew unlock watch"
  expect "$shell" "exec" ex
  expect "$shell" "$all" ""
  expect "$shell" "$all" -r local: ""
  expect "$shell" "--redis" --re
  expect "$shell" "--on-lost" exec --on-l
  expect "$shell" "ignore kill term" exec --on-lost ""
  expect "$shell" "--on-lost" exec -n job --on-l
  expect "$shell" "--redis" exec job --redi
  expect "$shell" "--owner" renew --ow
  expect "$shell" "--force" unlock --fo
  expect "$shell" "" unlock --on
  expect "$shell" "fair read reentrant semaphore simple write" acquire --kind ""
  expect "$shell" "always auto never" watch --color ""
  expect "$shell" "bash fish zsh" completion ""
  expect "$shell" "" acquire --export fis
  expect "$shell" "" exec jo
  # Behind --, the command's own completion.
  expect "$shell" "rlocktestprogram" exec job -- rlocktestp
  expect "$shell" "" unlock -- rlocktestp
  expect "$shell" "rlocktestprogram" exec a -w 5 b -- rlocktestp
}

# A command's own options and files, where the shell knows them without more ado.
check_nested() {
  local shell=$1
  expect "$shell" "exec" exec job -- rlock ex
  expect "$shell" "--on-lost" exec job -- rlock exec --on-l
}

cd "$scratch/home" || exit 1

# joins EXPECTED LINE CURRENT WORD...: how the completion for bash divides words, whose number CURRENT is where
# the cursor ("^" in the line) is, into those up to the cursor and those after it.
joins() {
  local expected=$1 found
  # shellcheck disable=SC2016  # the inner bash expands it
  found=$(bash --norc -c '
    source "$1/completions/rlock.bash" || exit 1
    before=${2%%^*}
    COMP_LINE=$before${2#*^} COMP_POINT=${#before} COMP_CWORD=$3
    shift 3
    COMP_WORDS=("$@")
    _rlock_join
    printf "[%s]" "${_rlock_words[@]}"; printf "|"; printf "[%s]" "${_rlock_later[@]}"' bash "$source_dir" "${@:2}")
  if [[ $found != "$expected" ]]; then
    echo "FAIL: bash divides '$2' into $found instead of $expected"
    failures=$((failures + 1))
  fi
}
joins "[rlock][list][a]|[-r][URL]" "rlock list a^ -r URL" 2 rlock list a -r URL
joins "[rlock][list][]|[-r][URL]" "rlock list ^  -r URL" 2 rlock list "" -r URL
joins "[rlock][list][]|[-r][URL]" "rlock list ^ -r URL" 2 rlock list -r URL
joins "[rlock][unlock][--owner][]|[-r][URL][n]" "rlock unlock --owner ^  -r URL n" 3 rlock unlock --owner "" -r URL n
joins "[rlock][list][a:b]|[-r][c:d]" "rlock list a:b^ -r c:d" 4 rlock list a : b -r c : d

bash_mode=alone
check bash "bash"
expect bash "rlocktestfile.toml" --config rlockt
expect bash "term" exec --on-lost = te
expect bash "--export" acquire --exp
expect bash "fish" acquire --export = f
if [[ -r /usr/share/bash-completion/bash_completion ]]; then
  bash_mode=with-package
  check bash "bash with bash-completion"
  check_nested bash
else
  echo "not tested: bash with bash-completion: it is not installed"
fi

if command -v fish >/dev/null; then
  check fish "fish"
  check_nested fish
  expect fish "rlocktestfile.toml" --config rlockt
  expect fish "--on-lost=term" exec --on-lost=te
  expect fish "--export --export=" acquire --exp
  expect fish "--export=fish" acquire --export=f
else
  echo "not tested: fish: it is not installed"
fi

if command -v zsh >/dev/null; then
  check zsh "zsh"
  check_nested zsh
  expect zsh "rlocktestfile.toml" --config rlockt
  expect zsh "term" exec --on-lost=te
  expect zsh "--export" acquire --exp
  expect zsh "fish" acquire --export=f
else
  echo "not tested: zsh: it is not installed"
fi

if ((failures > 0)); then
  echo "$failures failures"
  exit 1
fi
echo "ok"
