# Prints what zsh would offer where the cursor is behind a line, one candidate a line.
# Usage: zsh -f zsh_capture.zsh DIRECTORY LINE; _rlock is taken from DIRECTORY.
# An interactive zsh on a pseudo-terminal runs its real completion; compadd is where every candidate
# passes through.
zmodload zsh/zpty || exit 77
setopt no_unset
scratch=$(mktemp -d) || exit 1
trap 'zpty -d shell 2>/dev/null; rm -rf $scratch' EXIT

cat > $scratch/setup <<SETUP
PS1= RPS1= PROMPT_EOL_MARK=
fpath=(${(q)1} \$fpath)
autoload -Uz compinit
compinit -u -d $scratch/dump
compadd() {
  # Calls that only fill arrays (-O, -A, -D) show nothing.
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "\$@"
    return
  fi
  local -a found
  builtin compadd -A found "\$@"
  print -rl -- \$found >> $scratch/found
  builtin compadd "\$@"
}
print-done() { print -r -- "=DONE="; }
zle -N print-done
zle-line-init() { print -r -- "=READY="; }
zle -N zle-line-init
bindkey '^I' complete-word
bindkey '^Xd' print-done
SETUP

# Reads the terminal until $1 comes.
wait_for() {
  local text all=""
  while zpty -r shell text; do
    all+=$text
    [[ $text == *$1* ]] && return
  done
  print -ru2 -- "zsh ended: $all"
  exit 1
}

zpty shell env HOME=$scratch ZDOTDIR=$scratch TERM=dumb zsh -f -i
zpty -w shell "source $scratch/setup"
wait_for '=READY='
: > $scratch/found
zpty -w -n shell "$2"$'\t\x18d'
wait_for '=DONE='
sort -u $scratch/found
