#!/usr/bin/env bash
# Runs model_runner.cc, which stays under 40 lines.
set -euo pipefail
[[ $(examples/model_runner tests/formats/pt2/testdata/buffers.pt2) == $'2 outputs\n2 outputs\n2 outputs\n2 outputs' ]]
[[ $(wc -l <examples/model_runner.cc) -lt 40 ]]
