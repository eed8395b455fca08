#!/usr/bin/env bash
# Installs what Rollcast needs on Debian 12 (root, or sudo). Does nothing when everything is there.
# setup.sh            what the program needs to be built
# setup.sh tests      and what the tests and the benchmarks need
# setup.sh checks     and what the formatting and static checks need
set -euo pipefail

build=(g++ cmake ninja-build pkg-config libsimgrid-dev libboost-graph-dev libyaml-cpp-dev libcli11-dev
       nlohmann-json3-dev libfmt-dev libsqlite3-dev
       libopenmpi-dev openmpi-bin)  # sweeps on several machines
tests=(libgtest-dev libgmock-dev libbenchmark-dev
       chromium)                    # looks at the HTML reports
checks=(clang-format clang-tidy)
# Bundle the HTML report. Other installations than Debian's will do, and are left alone.
command -v node >/dev/null || build+=(nodejs)
command -v npm >/dev/null || build+=(npm)

packages=("${build[@]}")
case "${1:-build}" in
  build) ;;
  tests) packages+=("${tests[@]}") ;;
  checks) packages+=("${tests[@]}" "${checks[@]}") ;;
  *) echo "setup.sh: '$1' is not one of build, tests, checks" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup.sh: no apt-get here, so nothing is installed; needed are: ${packages[*]}" >&2
  exit 0  # CMake says what is missing
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: run as root, or install sudo; missing are: ${missing[*]}" >&2
    exit 2
  fi
  as_root=(sudo)
fi
echo "Installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq >&2
# A machine that has just started may be upgrading itself: wait for its lock.
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
  -o DPkg::Lock::Timeout=300 "${missing[@]}" >/dev/null
