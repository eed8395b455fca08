#!/usr/bin/env bash
# Installs what Rollcast needs on Debian 12 (root, or sudo). Does nothing when everything is there.
# setup.sh            what the program needs to be built
# setup.sh tests      and what the tests and the benchmarks need
# setup.sh checks     and what the formatting and static checks need
set -euo pipefail

build=(g++ cmake ninja-build pkg-config libsimgrid-dev libboost-graph-dev libyaml-cpp-dev libcli11-dev
       nlohmann-json3-dev libfmt-dev)
tests=(libgtest-dev libgmock-dev libbenchmark-dev)
checks=(clang-format clang-tidy)

packages=("${build[@]}")
case "${1:-build}" in
  build) ;;
  tests) packages+=("${tests[@]}") ;;
  checks) packages+=("${tests[@]}" "${checks[@]}") ;;
  *) echo "setup.sh: '$1' is not one of build, tests, checks" >&2; exit 2 ;;
esac

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [ "$status" = "install ok installed" ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "setup.sh: no apt-get here. Install the equivalents of: ${missing[*]}" >&2
  exit 2
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "setup.sh: run as root, or install sudo" >&2; exit 2; }
  as_root=(sudo)
fi
echo "Installing ${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
