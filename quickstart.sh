#!/usr/bin/env bash
# Installs the packages, builds the program and makes a first forecast: one GRPO step of Llama-3.1-8B on two
# 8 x H100 nodes. Cheap to repeat. Further arguments go to the forecast: ./quickstart.sh --trace trace.json
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")

# Standard output is the forecast's alone.
{
  "$here/setup.sh" build
  configure=(cmake -S "$here" --preset release "-DROLLCAST_WERROR=${ROLLCAST_WERROR:-OFF}")
  # Afresh where the build folder does not fit: the checkout has moved, packages have changed.
  "${configure[@]}" &>/dev/null || "${configure[@]}" --fresh >/dev/null
  cmake --build "$here/build/release" --target rollcast
  echo
} >&2
rollcast=$here/build/release/bin/rollcast
"$rollcast" run "$here/scenarios/examples/grpo-8b-colocated.yaml" "$@"
if [ $# -eq 0 ]; then
  echo
  echo "The same step on one node, where a breakdown into phases was published:"
  "$rollcast" run "$here/scenarios/published/R31-nemo-rl-8b-one-node.yaml" | sed -n '1p; /^Beside/,$p'
fi
