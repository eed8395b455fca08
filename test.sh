#!/usr/bin/env bash
# Installs the packages, builds everything and runs every test. Cheap to repeat. Arguments go to ctest:
# ./test.sh -R Ledger
set -euo pipefail
CDPATH='' cd "$(dirname "${BASH_SOURCE[0]}")"

./setup.sh tests
configure=(cmake --preset release "-DROLLCAST_WERROR=${ROLLCAST_WERROR:-OFF}")
# Afresh where the build folder does not fit: the checkout has moved, packages have changed.
"${configure[@]}" &>/dev/null || "${configure[@]}" --fresh >/dev/null
cmake --build --preset release
ctest --preset release -j "$(nproc)" "$@"
