#!/usr/bin/env bash
# Installs the packages, builds everything and runs every test. Cheap to repeat. Arguments go to ctest:
# ./test.sh -R Ledger
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

./setup.sh tests
cmake --preset release -DROLLCAST_WERROR="${ROLLCAST_WERROR:-OFF}" >/dev/null
cmake --build --preset release
ctest --preset release -j "$(nproc)" "$@"
