#!/usr/bin/env bash
# Runs a script of this folder by the Python whose torch graphnet links. Where LibTorch belongs to no Python,
# the test is skipped.
#
#   with_torch.sh HEADER SCRIPT [ARGUMENT…]      HEADER is one of LibTorch
set -euo pipefail
header=$(readlink -f "$1") script=$PWD/$2
shift 2
torch=${header%/include/*}
while [[ "$torch" == */include/* ]]; do torch=${torch%/include/*}; done
python=$torch/../../../../bin/python
if [ ! -x "$python" ] || [ ! -f "$torch/__init__.py" ]; then
  echo "skipped: no Python has $torch"
  exit 0
fi
export TMPDIR=$TEST_TMPDIR HOME=$TEST_TMPDIR PYTHONPATH=${script%/*}
# Modules are those that the test declares, not those beside what its links lead to.
exec "$python" -P -B "$script" "$@"
