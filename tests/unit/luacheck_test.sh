#!/usr/bin/env bash
# Checks the scripts, as a server gets them, with luacheck: no undeclared name, and nothing that is not used. A local may
# hide another one (4): includes use short names.
#   luacheck_test.sh PROGRAM SOURCE_DIR
set -euo pipefail

if ! command -v luacheck >/dev/null || ! command -v cmake >/dev/null; then
    echo "skipped: luacheck or cmake is not installed"
    exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
cmake -D LUA="$2/lua" -D TO="$scratch" -P "$2/cmake/ExpandLua.cmake"
luacheck "$scratch" --std lua51 --globals redis cjson cmsgpack KEYS ARGV --no-max-line-length --ignore 4 --no-color -q
# What finds nothing must be able to find something.
echo 'local unused = missing' >"$scratch/broken.lua"
! luacheck "$scratch/broken.lua" --std lua51 -q >/dev/null
