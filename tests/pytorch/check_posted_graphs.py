"""Prints graphs with PyTorch, reads the texts with graphnet, and compares them with the programs.

    python tests/pytorch/check_posted_graphs.py GRAPHNET [--keep DIR] [--only WORDS]

Needs torch; torchvision, timm and transformers add models. Each text of an exported program must have
the hash of the program's .pt2, if that returns its flat outputs. Each graph of Dynamo, AOTAutograd and
TorchInductor is run by PyTorch and, from its text, by graphnet on the same inputs: the bits must be
equal. Texts that graphnet writes (show --to readable) must be PyTorch's own. Exits with 1 if one is not.
"""

import argparse
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback

os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"

import torch

KEYWORDS = {"print_output": False, "include_stride": True, "include_device": True}


class Flat(torch.nn.Module):
    """Returns the flat outputs of a module."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *args, **kwargs):
        leaves = torch.utils._pytree.tree_leaves(self.module(*args, **kwargs))
        return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))


def small_models():
    nn = torch.nn

    class Loop(nn.Module):
        def forward(self, x):
            def more(i, y):
                return i < 5

            def step(i, y):
                return i + 1, y * 2 + i

            return torch._higher_order_ops.while_loop(more, step, (torch.tensor(0), x))

    class Nested(nn.Module):
        def forward(self, x):
            def inner(a):
                return torch.cond(a.sum() > 1, lambda b: b.sin(), lambda b: b.cos(), (a,))

            return (torch.cond(x.mean() > 0, inner, lambda a: a + 1, (x,)),)

    class Kinds(nn.Module):
        def forward(self, x, i, c, h):
            y = x[:, None, 1:-1:2].expand(-1, 3, -1)
            return (
                torch.where(y > 0, y, torch.nan),
                i.bitwise_and(3).to(torch.uint8),
                c.abs() * complex(1, 2),
                h.to(torch.bfloat16).to(torch.float8_e4m3fn),
                torch.full((2,), float("inf"), device=x.device),
                torch.arange(-3, 9, 2),
            )

    class Write(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count += 1
            x.mul_(2)
            return (x + self.count,)

    class Constant(nn.Module):
        def forward(self, x):
            return (x + torch.tensor([1.0, 2.0]),)

    batch = {0: torch.export.Dim("batch", min=2, max=64)}
    yield "linear", nn.Sequential(nn.Linear(8, 4), nn.ReLU()), (torch.randn(2, 8),), None
    yield "conv", nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.GELU()), (
        torch.randn(2, 3, 8, 8),
    ), None
    yield "lstm", nn.LSTM(4, 8, batch_first=True), (torch.randn(2, 5, 4),), None
    yield "attention", nn.MultiheadAttention(8, 2, batch_first=True), (torch.randn(2, 5, 8),) * 3, None
    yield "encoder", nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (
        torch.randn(2, 5, 8),
    ), None
    yield "dynamic", nn.Sequential(nn.Flatten(), nn.Linear(12, 5)), (torch.randn(3, 3, 4),), (batch,)
    yield "embedding", nn.Sequential(nn.Embedding(10, 6), nn.LayerNorm(6)), (
        torch.randint(0, 10, (2, 3)),
    ), None
    yield "while", Loop(), (torch.randn(3),), None
    yield "nested", Nested(), (torch.randn(3),), None
    yield "kinds", Kinds(), (
        torch.randn(2, 9),
        torch.randint(0, 99, (3,)),
        torch.randn(2, dtype=torch.complex64),
        torch.randn(2, dtype=torch.float16),
    ), None
    yield "write", Write(), (torch.randn(3),), None
    yield "constant", Constant(), (torch.randn(2),), None


def hub_models():
    with contextlib.suppress(ImportError, RuntimeError):
        import torchvision.models as vision

        for name in ["resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1"]:
            yield name, getattr(vision, name)(), (torch.randn(1, 3, 64, 64),), None
    with contextlib.suppress(ImportError, RuntimeError):
        import timm

        for name in ["test_vit", "test_convnext", "test_efficientnet"]:
            yield name, timm.create_model(name), (torch.randn(1, 3, 160, 160),), None
    with contextlib.suppress(ImportError, RuntimeError):
        import transformers

        small = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
        for kind in ["bert", "distilbert", "gpt2", "llama", "t5"]:
            config = transformers.AutoConfig.for_model(kind)
            config.update(
                {**small, "vocab_size": 99, "intermediate_size": 64, "use_cache": False}
                | {"num_key_value_heads": 2, "dim": 32, "n_layers": 1, "n_heads": 2}
                | {"hidden_dim": 64, "d_model": 32, "num_layers": 1, "num_heads": 2, "d_ff": 64}
                | {"n_embd": 32, "n_layer": 1, "n_head": 2, "d_kv": 16}
            )
            model = transformers.AutoModel.from_config(config)
            ids = torch.randint(0, 99, (1, 8))
            yield kind, model, (ids, None, ids) if kind == "t5" else (ids,), None


class Check:
    def __init__(self, graphnet, folder):
        self.graphnet, self.folder = graphnet, folder
        self.passed, self.failed = 0, []

    def call(self, *words):
        done = subprocess.run([self.graphnet, *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip() or done.stdout.strip())
        return done.stdout

    def report(self, name, check):
        try:
            check()
            self.passed += 1
        except Exception as error:
            self.failed.append(name)
            print(f"FAIL {name}: {str(error)[:600]}", flush=True)
            if not isinstance(error, ValueError):
                traceback.print_exc()

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    # --- Exported programs ---

    def program(self, name, program):
        archive = self.folder / f"{name}.pt2"
        torch.export.save(program, archive)
        text = self.write(f"{name}.txt", str(program))

        def same_hash():
            hashes = {line.split()[0] for line in self.call("hash", archive, text).splitlines()}
            if len(hashes) != 1:
                raise ValueError(self.call_diff(text, archive))

        def same_text():
            # The IR has no strides, functions and lines of code.
            printed = program.graph_module.print_readable(print_output=False, include_device=True)
            path = self.write(f"{name}_readable.txt", printed)
            printed = re.sub(r"(# File: .*?:[0-9]+) in [^\n]*", r"\1", printed)
            expected = [line.rstrip() for line in printed.rstrip().split("\n")]
            found = self.call("show", "--to", "readable", path).rstrip().split("\n")
            for a, b in zip(expected, found):
                if a != b:
                    raise ValueError(f"PyTorch writes\n  {a}\nand graphnet\n  {b}")
            if len(expected) != len(found):
                raise ValueError(f"PyTorch writes {len(expected)} lines, graphnet {len(found)}")

        self.report(name, same_hash)
        self.report(f"{name}, written", same_text)

    def call_diff(self, a, b):
        done = subprocess.run([self.graphnet, "diff", a, b], capture_output=True, text=True)
        return done.stdout

    # --- Graphs with their inputs ---

    def graph(self, name, path, graph, inputs):
        """Runs the graph in the text at `path` like `graph`."""

        def same_bits():
            from safetensors.torch import load_file, save_file

            names = [node.target for node in graph.graph.nodes if node.op == "placeholder"]
            given = {
                n: (v if isinstance(v, torch.Tensor) else torch.tensor(v)).detach().contiguous().clone()
                for n, v in zip(names, inputs)
            }
            save_file(given, self.folder / "inputs.safetensors")
            torch.manual_seed(0)
            with torch.no_grad():
                copies = [copied(value) for value in inputs]
                for a in copies:
                    if isinstance(a, torch.Tensor) and not a.is_contiguous():
                        copies = [c.contiguous() if hasattr(c, "contiguous") else c for c in copies]
                        break
                try:
                    expected = torch.utils._pytree.tree_leaves(graph(*copies))
                except RuntimeError as error:
                    # The graph needs the strides of its inputs, which the IR does not have.
                    print(f"PyTorch does not run {name} on contiguous inputs: {str(error)[:90]}")
                    self.passed -= 1
                    return
                expected = [value for value in expected if value is not None]
            self.call("run", path, "--inputs", self.folder / "inputs.safetensors", "-o",
                      self.folder / "outputs.safetensors")
            found = load_file(self.folder / "outputs.safetensors")
            for i, value in enumerate(expected):
                if not isinstance(value, torch.Tensor):
                    continue
                if f"o{i}" not in found:
                    raise ValueError(f"output {i} is missing: {sorted(found)}")
                if not torch.equal(
                    found[f"o{i}"].view(value.shape).contiguous().view(-1).view(torch.uint8)
                    if value.numel() else found[f"o{i}"],
                    value.contiguous().view(-1).view(torch.uint8) if value.numel() else value,
                ):
                    raise ValueError(f"output {i} differs")

        self.report(name, same_bits)

    def compiled(self, name, model, args, dynamic=False):
        """Checks the graphs that torch.compile makes of a module."""
        from functorch.compile import make_boxed_func
        from torch._dynamo.backends.common import aot_autograd
        from torch._dynamo.repro.after_aot import save_graph_repro
        from torch._dynamo.repro.after_dynamo import generate_dynamo_fx_repro_string

        seen = []

        def aot(kind):
            def compiler(graph, inputs):
                def run(*values):
                    seen.append((kind, graph, [copied(value) for value in values], inputs))
                    return graph(*values)

                return make_boxed_func(run)

            return compiler

        inner = aot_autograd(fw_compiler=aot("forward"), bw_compiler=aot("backward"))

        def backend(graph, inputs):
            made = inner(graph, inputs)

            def run(*values):
                seen.append(("dynamo", graph, [copied(value) for value in values], inputs))
                return made(*values)

            return run

        torch._dynamo.reset()
        outputs = torch.compile(model, backend=backend, dynamic=dynamic)(*args)
        tensors = [t for t in torch.utils._pytree.tree_leaves(outputs) if isinstance(t, torch.Tensor)]
        total = sum(t.sum() for t in tensors if t.requires_grad)
        if isinstance(total, torch.Tensor):
            total.backward()
        for i, (kind, graph, values, examples) in enumerate(seen):
            stem = f"{name}_{kind}_{i}"
            prefix = f"V1130 12:00:00.0 7 torch/a.py:1] [{i}/0] [__{kind}] "
            text = graph.print_readable(**KEYWORDS)
            path = self.write(f"{stem}.log", prefix + text.replace("\n", "\n" + prefix) + "\n")
            self.graph(f"{stem} readable", path, graph, values)
            out = io.StringIO()
            if kind == "dynamo":
                out.write(generate_dynamo_fx_repro_string(graph, values, "inductor"))
            else:
                save_graph_repro(out, graph, values, "inductor")
            self.graph(f"{stem} repro", self.write(f"{stem}.py", out.getvalue()), graph, values)


def copied(value):
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphnet")
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = options.keep or pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        check = Check(options.graphnet, folder)
        for name, model, args, sizes in [*small_models(), *hub_models()]:
            if options.only not in name:
                continue
            torch.manual_seed(0)
            model = Flat(model.eval())
            if sizes is not None:
                sizes = (sizes,)  # of *args
            try:
                program = torch.export.export(model, args, dynamic_shapes=sizes)
            except Exception as error:
                print(f"torch.export does not take {name}: {str(error)[:200]}")
                continue
            check.program(name, program)
            check.program(f"{name}_decomposed", program.run_decompositions())
            if name not in ("while", "nested", "constant"):
                check.compiled(name, model, args, dynamic=sizes is not None)
        print(f"{check.passed} of {check.passed + len(check.failed)} texts are what they were")
        sys.exit(bool(check.failed))


main()
