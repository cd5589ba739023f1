"""Writes the texts of tests/formats/posted/testdata, as PyTorch prints graphs, and the hashes of the
programs that they came from.

    python tests/pytorch/make_posted_graphs.py tests/formats/posted/testdata --graphnet GRAPHNET

The texts of exported programs have the hash that graphnet finds for the .pt2 of the program.
"""

import argparse
import io
import pathlib
import re
import subprocess
import sys
import tempfile

import torch

LOGGED = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(8, 16)
        self.b = torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.b(torch.relu(self.a(x))).softmax(-1) * x.shape[0]

torch.compile(Net(), backend="aot_eager", dynamic=True)(torch.randn(3, 8)).sum().backward()
with torch.no_grad():
    torch.compile(lambda x, y: (x @ y).relu().sum(-1))(torch.randn(4, 8), torch.randn(8, 3))
"""


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(8, 16)
        self.norm = torch.nn.BatchNorm1d(16)
        self.b = torch.nn.Linear(16, 4, bias=False)
        self.register_buffer("scale", torch.full([4], 0.5))

    def forward(self, x, k):
        y = self.b(self.norm(torch.relu(self.a(x)))) * self.scale + k
        left, right = y.split(2, 1)
        return y.t(), left.to(torch.float16), right.masked_fill(right > 0, float("-inf"))


class Branches(torch.nn.Module):
    def forward(self, x):
        return torch.cond(
            x.sum() > 0, lambda a: (a.sin(), a + 1), lambda a: (a.cos(), a - 1), (x,)
        )


def plain(text):
    """Returns the text without paths of this machine."""
    site = str(pathlib.Path(torch.__file__).parent.parent)
    text = re.sub(r"[^\s\"']*site-packages|" + re.escape(site), "/usr/lib/python3", text)
    text = text.replace(str(pathlib.Path(__file__).resolve()), "net.py").replace(__file__, "net.py")
    return "\n".join(line.rstrip("\r") for line in text.split("\n"))


def repro():
    """Returns a repro as the minifier behind AOTAutograd writes it."""
    from torch._dynamo.repro.after_aot import save_graph_repro
    from torch.fx.experimental.proxy_tensor import make_fx

    def run(x, y, w):
        return torch.relu(x @ w) + y, x.sum(1).to(torch.bfloat16)

    args = [torch.randn(4, 8), torch.randn(4, 1), torch.randn(3, 8).t()]
    out = io.StringIO()
    save_graph_repro(out, make_fx(run)(*args), args, "inductor")
    return out.getvalue()


def dynamo_repro():
    """Returns a repro as the minifier behind Dynamo writes it."""
    from torch._dynamo.repro.after_dynamo import generate_dynamo_fx_repro_string

    texts = []

    def backend(graph, inputs):
        texts.append(generate_dynamo_fx_repro_string(graph, inputs, "inductor"))
        return graph

    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    torch.compile(model, backend=backend)(torch.randn(2, 8))
    return texts[0]


def logs():
    """Returns what TORCH_LOGS prints."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(LOGGED)
        file.flush()
        done = subprocess.run(
            [sys.executable, file.name],
            env={
                "TORCH_LOGS": "graph_code,aot_graphs,post_grad_graphs",
                "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1",
                "PATH": "/usr/bin:/bin",
            },
            capture_output=True,
            text=True,
            check=True,
        )
        # The lines of metadata are long and have no graph.
        lines = [line for line in done.stderr.split("\n") if "fw_metadata" not in line]
        return "\n".join(lines).replace(file.name, "net.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--graphnet", required=True)
    options = parser.parse_args()
    torch.manual_seed(0)

    mlp = Mlp().eval()
    inputs = (torch.randn(3, 8), torch.randn(4))
    sizes = ({0: torch.export.Dim("batch", min=2, max=64)}, None)
    dynamic = torch.export.export(mlp, inputs, dynamic_shapes=sizes)
    training = torch.export.export(Mlp(), inputs).run_decompositions()
    branches = torch.export.export(Branches(), (torch.randn(3, 8),))

    texts = {
        "mlp.txt": str(dynamic),
        "readable.txt": dynamic.graph_module.print_readable(
            print_output=False, include_stride=True, include_device=True
        ),
        "code.txt": dynamic.graph_module.code,
        "module.txt": dynamic.module().print_readable(print_output=False),
        "training.txt": str(training),
        "branches.txt": str(branches),
        "repro.txt": repro(),
        "dynamo_repro.txt": dynamo_repro(),
        "compile.log": logs(),
    }
    for name, text in texts.items():
        (options.folder / name).write_text(plain(text))

    hashes = []
    for name, program in {
        "mlp.txt": dynamic,
        "training.txt": training,
        "branches.txt": branches,
    }.items():
        with tempfile.NamedTemporaryFile(suffix=".pt2") as file:
            torch.export.save(program, file.name)
            found = subprocess.run(
                [options.graphnet, "hash", file.name], capture_output=True, text=True, check=True
            )
        hashes.append(f"{found.stdout.split()[0]}  {name}")
    (options.folder / "hashes.txt").write_text("\n".join(hashes) + "\n")


main()
