"""BladeDISC: a command of the user optimises a TorchScript archive.

The last release is for torch 1.12, and there is no package for torch 2, so BladeDISC runs where
torch 1.12 is installed, most likely in a container. The command in GRAPHNET_BLADEDISC runs in the
folder of this file. Its further arguments are the archive to read, the archive to write, the inputs
(.safetensors) and their names in order, as bladedisc_optimise.py takes them. For a container, the
command is a script:

    exec docker run --rm -v /tmp:/tmp -w "$PWD" bladedisc python bladedisc_optimise.py "$@"

The archive that it writes runs here.
"""
import os
import shlex
import subprocess

import torch

import torch_worker
import worker

_COMMAND = "GRAPHNET_BLADEDISC"


class BladeDiscWorker(torch_worker.TorchWorker):
    name = "bladedisc"

    def version(self):
        return "the command " + _command()

    def prepare(self, program, inputs):
        done = subprocess.run([*shlex.split(_command()), program, os.path.abspath("optimised.pt"),
                               self.request["inputs"], *self.request["order"]],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
        if done.returncode != 0:
            lines = [line for line in done.stdout.splitlines() if line.strip()]
            raise worker.Failure("compile", lines[-1] if lines else f"the command ended with {done.returncode}")
        self.function = torch.jit.load("optimised.pt", map_location=self.request["device"])
        self.numbers = [False] * len(inputs)
        self.kept = torch_worker._memory([*self.function.parameters(), *self.function.buffers()])
        # The program itself may have names with these letters.
        given = torch.jit.load(program, map_location=self.request["device"])
        self.disc = max(0, _mentions(self.function) - _mentions(given))

    def proof(self):
        return f"{self.disc} mentions of disc in the graph"

    def compiled(self):
        return self.disc


def _mentions(module):
    return str(module.inlined_graph).count("disc")


def _command():
    command = os.environ.get(_COMMAND, "")
    if not command:
        raise worker.Failure("compile", "BladeDISC has no release for torch 2; "
                             f"set {_COMMAND} to a command that runs an older one")
    return command


if __name__ == "__main__":
    worker.serve(BladeDiscWorker())
