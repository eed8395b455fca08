#!/usr/bin/env bash
# Installs the packages, builds the program and makes a first forecast: one GRPO step of Llama-3.1-8B on two
# 8 x H100 nodes. Cheap to repeat. Further arguments go to the forecast: ./quickstart.sh --trace trace.json
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

./setup.sh build
[ -f build/release/build.ninja ] || cmake --preset release >/dev/null
cmake --build --preset release --target rollcast
echo
build/release/bin/rollcast run scenarios/examples/grpo-8b-colocated.yaml "$@"
echo
echo "The same step on one node, where a breakdown into phases was published:"
build/release/bin/rollcast run scenarios/published/R31-nemo-rl-8b-one-node.yaml | sed -n '1p; /^Beside/,$p'
