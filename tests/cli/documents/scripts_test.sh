#!/usr/bin/env bash
# scripts/try and scripts/test say how long it takes before they compile, and try says how to
# install the package. Nothing is compiled here: cmake and ctest are replaced.
# Usage: scripts_test.sh PROGRAM SOURCE_DIR
set -uo pipefail

program=$1
failures=0
dir=$(mktemp -d) || exit 1
trap 'rm -rf -- "$dir"' EXIT

fail() {
  echo "FAIL: $*"
  failures=$((failures + 1))
}

cp -r -- "$2/scripts" "$dir"
mkdir "$dir/bin"
# Every package is there.
printf '#!/bin/sh\necho installed\n' >"$dir/bin/dpkg-query"
cat >"$dir/bin/cmake" <<END
#!/bin/sh
case \$1 in --build) ;; *) exit 0 ;; esac
cp -- "$dir/out" "$dir/said"
mkdir -p build/release
ln -sf -- "$program" build/release/rlock
END
cat >"$dir/bin/ctest" <<'END'
#!/bin/sh
mkdir -p build/dev
printf '<testsuite>\n<testcase name="a" status="run"/>\n</testsuite>\n' >build/dev/junit.xml
END
chmod +x "$dir"/bin/*

# said SCRIPT ARGUMENT...: runs it. What it had said before it compiled is in $dir/said.
said() {
  rm -f -- "$dir/said"
  if ! PATH="$dir/bin:$PATH" timeout 120 "$dir/scripts/$@" >"$dir/out" 2>&1 </dev/null; then
    fail "scripts/$1: $(tail -n 5 "$dir/out")"
  fi
  [[ -s $dir/said ]] || fail "scripts/$1 said nothing before it compiled"
  grep -qE 'about [0-9]+ minutes?' "$dir/said" || fail "scripts/$1 does not say how long it takes"
}

said try
tail -n 3 "$dir/out" | grep -qF 'sudo apt install "$(scripts/package)"' ||
  fail "scripts/try does not end with how to install the package"
said test dev
tail -n 1 "$dir/out" | grep -qx '1 passed, 0 failed' || fail "scripts/test: $(tail -n 1 "$dir/out")"

((failures == 0)) || exit 1
echo "ok"
