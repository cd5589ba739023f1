"""Writes one model in three forms, and the same with another eps in the second of three blocks.

    make_exports.py OUT

The forms are torch.export's program as it is (NAME.pt2) and after run_decompositions()
(NAME_core.pt2), and TorchScript (NAME.pt). exports.tar.xz beside this script was made by torch 2.13.
"""
import pathlib
import sys

import torch


class Block(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.ln1 = torch.nn.LayerNorm(8, eps=eps)
        self.qkv = torch.nn.Linear(8, 24)
        self.out = torch.nn.Linear(8, 8)
        self.ln2 = torch.nn.LayerNorm(8)
        self.up = torch.nn.Linear(8, 16)
        self.down = torch.nn.Linear(16, 8)

    def forward(self, x):
        h = self.qkv(self.ln1(x))
        q, k, v = [part.view(2, 3, 2, 4).transpose(1, 2) for part in h.chunk(3, -1)]
        a = torch.softmax(q @ k.transpose(-1, -2) / 2.0, -1) @ v
        x = x + self.out(a.transpose(1, 2).reshape(2, 3, 8))
        return x + self.down(torch.nn.functional.gelu(self.up(self.ln2(x))))


class Net(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(eps if i == 1 else 1e-5) for i in range(3)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def save(exported, path):
    """Leaves out what nothing here reads, which is most of the file."""
    for node in exported.graph.nodes:
        for key in ("from_node", "torch_fn", "source_fn_stack", "original_aten"):
            node.meta.pop(key, None)
        if node.meta.get("stack_trace"):
            node.meta["stack_trace"] = "\n".join(node.meta["stack_trace"].strip().splitlines()[-2:])
    torch.export.save(exported, path)


def main():
    out = pathlib.Path(sys.argv[1])
    torch.manual_seed(0)
    nets = {"same": Net(1e-5).eval(), "eps": Net(1e-2).eval()}
    nets["eps"].load_state_dict(nets["same"].state_dict())
    x = torch.randn(2, 3, 8)
    for name, net in nets.items():
        exported = torch.export.export(net, (x,))
        save(exported, out / f"{name}.pt2")
        save(exported.run_decompositions(), out / f"{name}_core.pt2")
        torch.jit.save(torch.jit.trace(net, (x,)), out / f"{name}.pt")


if __name__ == "__main__":
    main()
