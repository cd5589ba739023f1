#!/usr/bin/env bash
# A compiler with five faults, for bench --exec: five_faults.sh GRAPHNET. faulty_compiler.py has the same ones.
exec python3 "$(dirname "$0")/miscompiling_worker.py" "$1" nn.functional.gelu nn.functional.relu \
  torch.sigmoid torch.nn.functional.hardsigmoid torch.sub torch.add \
  torch.tanh '!no kernel for tanh' torch.erf '!erf has no lowering'
