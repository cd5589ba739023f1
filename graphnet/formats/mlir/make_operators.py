#!/usr/bin/env python3
"""Writes the names of ATen's operators that the torch dialect of MLIR has: operators.txt.

    python make_operators.py > operators.txt

with a Python that has torch-mlir. An operator without an overload is called ".default".
"""

import torch_mlir.dialects._torch_ops_gen as generated

names = {
    member.OPERATION_NAME
    for member in vars(generated).values()
    if isinstance(member, type) and hasattr(member, "OPERATION_NAME")
}
for name in sorted(name.removeprefix("torch.") for name in names if name.startswith("torch.aten.")):
    print(name if name.count(".") == 2 else f"{name}.default")
