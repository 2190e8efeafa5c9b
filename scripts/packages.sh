# shellcheck shell=bash
# Sourced by scripts/try, scripts/test, scripts/fuzz, scripts/package and .ci/run.
#
# The names of the distribution's packages, and need_packages, which installs
# missing packages.  If none is missing, need_packages needs neither root nor
# the network.  Works on Debian 12, Debian 13 and Ubuntu 24.04.

# What rlock needs to be built and installed.
# shellcheck disable=SC2034  # used by the scripts that source this file
build_packages=(g++ cmake ninja-build pkg-config libhiredis-dev libcli11-dev
                nlohmann-json3-dev libssl-dev)

# What the tests need in addition.
# shellcheck disable=SC2034
test_packages=(doctest-dev redis-server redis-tools mandoc zsh fish bash
               bash-completion procps util-linux faketime openssl strace python3
               lua-check)

# What scripts/package needs in addition to the build.
# shellcheck disable=SC2034
packaging_packages=(dpkg-dev file)

say() { printf '%s\n' "${0##*/}: $*"; }
die() { printf '%s\n' "${0##*/}: $*" >&2; exit 1; }

# One compiler per processor, unless the caller says otherwise.
CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 2)}
export CMAKE_BUILD_PARALLEL_LEVEL

# how_long SECONDS: prints how long a build takes that needs SECONDS of one processor.
how_long() {
    local minutes=$((($1 / CMAKE_BUILD_PARALLEL_LEVEL + 59) / 60)) unit=minutes
    ((minutes > 1)) || unit=minute
    printf '%s\n' "about $minutes $unit (processors: $CMAKE_BUILD_PARALLEL_LEVEL), less if it was built before"
}

package_installed() {
    local status
    status=$(dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null) || return 1
    [[ $'\n'$status$'\n' == *$'\ninstalled\n'* ]]
}

package_known() {
    local policy
    policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null)
    [[ $policy == *Candidate:* && $policy != *'Candidate: (none)'* ]]
}

# as_root COMMAND...: as it is for root, otherwise with sudo.
as_root() {
    if ((EUID == 0)); then
        env DEBIAN_FRONTEND=noninteractive "$@"
    else
        sudo ${sudo_flags[@]+"${sudo_flags[@]}"} env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# need_packages PACKAGE...
need_packages() {
    local package log
    local -a missing=() unknown=()
    sudo_flags=()

    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "no dpkg and apt here, so nothing is installed; needed are (names of Debian): $*" >&2
        return 0
    fi
    for package in "$@"; do
        package_installed "$package" || missing+=("$package")
    done
    ((${#missing[@]})) || return 0

    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            die "missing packages: ${missing[*]} (neither root nor sudo here to install them)"
        # Without a terminal nobody can type a password.
        [[ -t 0 ]] || sudo_flags=(-n)
        sudo ${sudo_flags[@]+"${sudo_flags[@]}"} true 2>/dev/null ||
            die "missing packages: ${missing[*]} (sudo does not let you install them)"
    fi

    say "installing ${missing[*]}"
    log=$(mktemp)
    as_root apt-get -q -o DPkg::Lock::Timeout=300 update >"$log" 2>&1 </dev/null || {
        tail -n 5 "$log" >&2
        say "apt-get update failed; trying with the package lists as they are" >&2
    }
    for package in "${missing[@]}"; do
        package_known "$package" || unknown+=("$package")
    done
    if ((${#unknown[@]})); then
        rm -f "$log"
        die "apt does not know: ${unknown[*]} (are all components enabled, on Ubuntu 'universe' too?)"
    fi
    if ! as_root apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 \
            -o Dpkg::Use-Pty=0 install "${missing[@]}" >"$log" 2>&1 </dev/null; then
        tail -n 30 "$log" >&2
        rm -f "$log"
        die "apt-get could not install: ${missing[*]}"
    fi
    rm -f "$log"
    hash -r
    if [[ -d /run/systemd/system && " ${missing[*]} " == *' redis-server '* ]]; then
        say "note: the package redis-server started its own service; rlock's scripts do not use it"
    fi
}

# The server program that "--redis local:DIR" starts.
need_server() {
    command -v redis-server >/dev/null || command -v valkey-server >/dev/null ||
        [[ -x /usr/bin/redis-server || -x /usr/bin/valkey-server ]] ||
        need_packages redis-server
}
