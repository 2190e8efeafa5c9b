#!/usr/bin/env bash
# Prints which files of code are too long, and which functions of C++, also those in classes.
#   lengths_test.sh PROGRAM SOURCE_DIR
set -euo pipefail

longest_file=400
longest_function=70
folders=(.ci bench lua scripts src tests)

# Prints the files of code: by the ends of their names, or since their first line names a program.
code_files() {
    local file
    find "${folders[@]}" -type f | sort | while IFS= read -r file; do
        case ${file##*/} in
            *.cpp | *.hpp | *.cc | *.c | *.h | *.lua | *.go | *.py | *.sh | *.bash | *.zsh | *.java) echo "$file" ;;
            *.*) ;;
            *) [[ $(head -c 2 -- "$file" | tr -d '\0') != '#!' ]] || echo "$file" ;;
        esac
    done
}

# Prints which of the files of C++ have too long functions. clang-format has put the first and last lines of a
# function of a namespace at the margin, and those of a member of a class two columns from the class.
check_functions() {
    awk -v most="$longest_function" '
        function forget() { begin = 0; is_open = 0; is_class = 0 }
        FNR == 1 { depth = 0; forget() }
        /^ *(\/\/|#|$)/ || /^(namespace|extern "C")[^;(]*\{$/ { next }
        { match($0, /^ */); indent = RLENGTH }
        is_open {
            if (indent != 2 * depth || substr($0, indent + 1, 1) != "}") next
            # A table, or another value, ends with a semicolon.
            if (!/^ *};/ && FNR - begin >= most)
                print FILENAME ": a function of " FNR - begin + 1 " lines, at most " most ": " first
            forget()
            next
        }
        indent == 2 * depth - 2 && /^ *}/ { --depth; forget(); next }
        indent == 2 * depth && !/^ *}/ && !begin { begin = FNR; first = substr($0, indent + 1) }
        indent == 2 * depth && /^ *(class|struct|union|enum) / { is_class = 1 }
        begin && /\{$/ { if (is_class) { ++depth; forget() } else is_open = 1; next }
        begin && /[;}]$/ { forget() }
    ' "$@"
}

# Prints all that is too long below the directory $1.
check_tree() (
    cd -- "$1"
    local files cpp
    mapfile -t files < <(code_files)
    wc -l -- "${files[@]}" | awk -v most="$longest_file" '$1 > most && !($2 == "total" && NF == 2) { print $2 ": " $1 " lines, at most " most }'
    mapfile -t cpp < <(printf '%s\n' "${files[@]}" | grep -E '\.([ch]pp|cc|c|h)$')
    check_functions "${cpp[@]}"
)

violations=$(check_tree "$2")
if [[ -n $violations ]]; then
    echo "$violations"
    exit 1
fi

# What finds nothing must be able to find something. plant FILE TEXT COMPLAINT: the complaint is empty where
# the text is not too long.
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
for folder in "${folders[@]}"; do
    mkdir -- "$scratch/$folder"
done
expected=
plant() {
    mkdir -p -- "$(dirname -- "$scratch/$1")"
    printf '%b' "$2" >"$scratch/$1"
    [[ -z $3 ]] || expected+="$1: $3"$'\n'
}

lines() { printf "%0.s$2\\\\n" $(seq "$1"); }
method() { printf '%s' "  void f() {\\n$(lines "$1" '    ;')  }\\n"; }

for file in src/a.cpp src/a.hpp lua/a.lua tests/a/a.go tests/a.py tests/a.java bench/a.sh tests/a.bash; do
    plant "$file" "$(lines 401 '')" "401 lines, at most 400"
done
plant scripts/a "#!/bin/sh\n$(lines 400 '')" "401 lines, at most 400"
plant bench/most.py "$(lines 400 '')" ""
plant tests/a.txt "$(lines 401 '')" ""
plant tests/b "$(lines 401 'text')" ""
long="a function of 71 lines, at most 70: void f() {"
plant src/c.cpp "namespace a {\nvoid f() {\n$(lines 69 '  ;')}\n}\n" "$long"
plant src/class.hpp "class A : public B {\n public:\n  int a() { return 1; }\n  int b_ = 0;\n\n$(method 69)};\n" "$long"
plant tests/nested.cpp "struct A {\n  struct B;\n  enum class C {\n    x,\n    y\n  };\n  struct D {\n    int d_ = 0;\n    void f() {\n$(lines 69 '      ;')    }\n  };\n};\n" "$long"
plant bench/const.cpp "struct A {\n  int b(int a,\n        int b);\n  template <typename T>\n  void g(T a)\n      const {\n$(lines 67 '    ;')  }\n};\n" \
    "a function of 71 lines, at most 70: template <typename T>"
plant src/enough.cpp "struct A {\n$(method 68)$(method 68)};\nint a() { return 1; }\nvoid f() {\n$(lines 68 '  ;')}\n" ""
plant src/table.cpp "const int k_table[] = {\n$(lines 80 '    1,')};\n" ""
found=$(check_tree "$scratch")
if [[ $(sort <<<"$found") != "$(sort <<<"${expected%$'\n'}")" ]]; then
    echo "self-check: found otherwise than planted:"
    diff <(sort <<<"${expected%$'\n'}") <(sort <<<"$found") || true
    exit 1
fi
echo "nothing is too long"
