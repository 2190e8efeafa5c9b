#!/usr/bin/env bash
# documentation_test.sh does not depend on the layout of --help, which differs between versions of
# CLI11. This test lays it out as 2.6 does: with headings in capitals, and long names in a column of
# their own.
# Usage: documentation_headings_test.sh PROGRAM SOURCE_DIR
set -uo pipefail

dir=$(mktemp -d) || exit 1
trap 'rm -rf -- "$dir"' EXIT
cat >"$dir/rlock" <<END
#!/usr/bin/env bash
set -o pipefail
"$1" "\$@" | sed -E 's/^[A-Z][A-Za-z ]+:\$/\\U&/; s/^  (-[A-Za-z]),(--)/  \\1,       \\2/; s/^  (--)/             \\1/'
END
chmod +x "$dir/rlock"
text=$("$dir/rlock" exec --help)
[[ $text == *$'\nOPTIONS:\n  -h,       --help '*$'\n             --kind '* ]] ||
  { printf 'FAIL: not in the style of CLI11 2.6:\n%s\n' "$text"; exit 1; }
"${0%/*}/documentation_test.sh" "$dir/rlock" "$2"
