"""Optimises a TorchScript archive with BladeDISC. Runs where torch_blade is installed.

    bladedisc_optimise.py IN.pt OUT.pt INPUTS.safetensors NAME…

NAME… are the inputs of the program in order.
"""
import sys

import torch
import torch_blade

import tensors

program, out, inputs, *names = sys.argv[1:]
module = torch.jit.load(program).eval()
read = tensors.read(inputs)
device = "cuda" if torch.cuda.is_available() else "cpu"
values = tuple(read[name].torch().to(device) for name in names)
with torch.no_grad():
    optimised = torch_blade.optimize(module.to(device), allow_tracing=True, model_inputs=values)
torch.jit.save(optimised, out)
