"""The suite of compare.py on FLOPs."""

import argparse
import collections
import contextlib
import importlib
import itertools
import json
import logging
import pathlib
import re
import zipfile
from typing import Dict, Iterator, List, Tuple

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import flop_counter

import in_pytorch
from compare import Run, Suite

def attention_of_cpu(query, key, value, *args, out_shape=None, **kwargs):
    return flop_counter.sdpa_flop_count(query, key, value)


# PyTorch's counter has formulas for the kernels of CUDA; the one of the CPU is the same attention.
CPU_KERNEL = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: attention_of_cpu}


@contextlib.contextmanager
def counting():
    counter = flop_counter.FlopCounterMode(display=False, custom_mapping=CPU_KERNEL)
    with torch.no_grad(), torch.backends.mkldnn.flags(enabled=False), sdpa_kernel(SDPBackend.MATH), counter:
        yield counter


class CountingInterpreter(torch.fx.Interpreter):
    """Runs a graph module and keeps what each of its nodes counts."""

    def __init__(self, module, counter):
        super().__init__(module)
        self.counter, self.flops, self.targets = counter, {}, {}

    def total(self):
        # Not get_total_flops, which leaves an entry: the counter counts both bodies of a cond, not
        # the larger one, once it has counted anything.
        return sum(self.counter.flop_counts.get("Global", {}).values())

    def run_node(self, node):
        before = self.total()
        result = super().run_node(node)
        if node.op == "call_function":
            self.flops[node.name] = self.total() - before
            self.targets[node.name] = str(node.target)
        return result


def example_inputs(program, seed):
    if program.example_inputs is not None:
        return program.example_inputs
    generator = torch.Generator().manual_seed(seed)
    values = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    drawn = []
    for spec in program.graph_signature.input_specs:
        if spec.kind.name != "USER_INPUT":
            continue
        value = values[spec.arg.name]
        if not isinstance(value, torch.Tensor):
            drawn.append(value)
            continue
        shape = [int(size) for size in value.shape]
        drawn.append(torch.randn(shape, generator=generator).to(value.dtype) if value.is_floating_point()
                     else torch.ones(shape, dtype=value.dtype))
    return tuple(drawn), {}


def made_programs():
    """Functions of tensors, and the shapes that they take."""
    F, nn = torch.nn.functional, torch.nn
    ranks = [(3,), (2, 3), (4, 2, 3), (5, 4, 2, 3), (1, 4, 2, 3)]
    seconds = [(3,), (3, 6), (4, 3, 6), (5, 1, 3, 6)]
    for a in ranks:
        for b in seconds:
            yield f"matmul {a} {b}", torch.matmul, [a, b]
        yield f"linear {a}", F.linear, [a, (7, 3), (7,)]
        yield f"linear without bias {a}", F.linear, [a, (7, 3)]
    yield "linear to a number", F.linear, [(4, 3), (3,)]
    for equation, shapes in {
        "ij,jk->ik": [(2, 3), (3, 4)], "bij,bjk->bik": [(5, 2, 3), (5, 3, 4)], "i,j->ij": [(2,), (3,)],
        "i,i->": [(3,), (3,)], "bi,bi->b": [(4, 3), (4, 3)], "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
        "...ij,...jk->...ik": [(6, 5, 2, 3), (5, 3, 4)], "ij,k->i": [(2, 3), (4,)], "ii->i": [(3, 3)],
        "bhid,bhjd->bhij": [(2, 3, 4, 5), (2, 3, 6, 5)], "ij,jk": [(2, 3), (3, 4)],
        "i,ij,j->": [(2,), (2, 3), (3,)], "ab,cd->": [(2, 3), (4, 5)], "ij,ij->ij": [(2, 3), (2, 3)],
        "nchw,chw->n": [(2, 3, 4, 5), (3, 4, 5)], "ij,jk->k": [(1, 3), (3, 4)], "ij,kj->ik": [(2, 1), (3, 1)],
    }.items():
        yield f"einsum {equation}", lambda *x, e=equation: torch.einsum(e, *x), shapes
    yield "conv1d", lambda x, w: F.conv1d(x, w, stride=2, padding=1), [(2, 4, 9), (6, 4, 3)]
    yield "conv1d of one", F.conv1d, [(4, 9), (6, 4, 3)]
    yield "conv2d of groups", lambda x, w: F.conv2d(x, w, groups=2), [(2, 4, 9, 8), (6, 2, 3, 2)]
    yield "conv2d of the same size", lambda x, w: F.conv2d(x, w, padding="same"), [(2, 4, 9, 8), (6, 4, 3, 2)]
    yield "conv3d", F.conv3d, [(2, 4, 5, 6, 7), (3, 4, 2, 2, 2)]
    yield "conv2d of nothing", F.conv2d, [(0, 4, 9, 8), (6, 4, 3, 2)]
    yield "conv_transpose1d", lambda x, w: F.conv_transpose1d(x, w, stride=2), [(2, 4, 9), (4, 3, 3)]
    yield "conv_transpose2d", lambda x, w: F.conv_transpose2d(x, w, stride=2, groups=2), [(2, 4, 5, 6), (4, 3, 3, 2)]
    yield "conv_transpose2d of one", F.conv_transpose2d, [(4, 5, 6), (4, 3, 3, 2)]
    yield "conv_transpose3d", F.conv_transpose3d, [(2, 4, 3, 5, 6), (4, 3, 3, 2, 2)]
    for transposed in (False, True):
        backward = lambda g, x, w, t=transposed: torch.ops.aten.convolution_backward(
            g, x, w, [6], [2, 2], [0, 0], [1, 1], t, [0, 0], 1, [True, True, True])
        yield (f"convolution_backward {transposed}", backward,
               [(2, 6, 11, 11), (2, 4, 5, 5), (4, 6, 3, 3)] if transposed else [(2, 6, 4, 4), (2, 4, 9, 9), (6, 4, 3, 3)])
    yield "addmm", torch.addmm, [(4,), (2, 3), (3, 4)]
    yield "addmm_", lambda x, a, b: x.clone().addmm_(a, b), [(2, 4), (2, 3), (3, 4)]
    yield "baddbmm", torch.baddbmm, [(5, 2, 4), (5, 2, 3), (5, 3, 4)]
    yield "addbmm", torch.addbmm, [(2, 4), (5, 2, 3), (5, 3, 4)]
    yield "mv", torch.mv, [(2, 3), (3,)]
    yield "addmv", torch.addmv, [(2,), (2, 3), (3,)]
    yield "dot", torch.dot, [(3,), (3,)]
    yield "outer", torch.outer, [(3,), (4,)]
    yield "inner", torch.inner, [(2, 3), (4, 3)]
    yield "inner of vectors", torch.inner, [(3,), (3,)]
    yield "tensordot", lambda a, b: torch.tensordot(a, b, dims=([1, 2], [0, 1])), [(2, 3, 4), (3, 4, 5)]
    yield "tensordot of one", lambda a, b: torch.tensordot(a, b, dims=1), [(2, 3), (3, 5)]
    yield "bilinear", F.bilinear, [(2, 3), (2, 4), (5, 3, 4)]
    yield "cdist", torch.cdist, [(2, 5, 3), (2, 6, 3)]
    yield "kron", torch.kron, [(2, 3), (4, 5)]
    attention = F.scaled_dot_product_attention
    yield "attention", attention, [(2, 4, 5, 8), (2, 4, 6, 8), (2, 4, 6, 3)]
    yield "attention of three dimensions", attention, [(4, 5, 8), (4, 6, 8), (4, 6, 8)]
    yield "attention of two dimensions", attention, [(5, 8), (6, 8), (6, 8)]
    yield "attention, causal", lambda *x: attention(*x, is_causal=True), [(2, 4, 5, 8)] * 3
    yield "attention with a mask", attention, [(2, 4, 5, 8), (2, 4, 6, 8), (2, 4, 6, 8), (5, 6)]
    yield "attention of groups", lambda *x: attention(*x, enable_gqa=True), [(2, 8, 5, 8), (2, 2, 6, 8), (2, 2, 6, 8)]
    yield "attention that broadcasts", attention, [(2, 4, 5, 8), (1, 4, 6, 8), (1, 4, 6, 8)]
    yield "attention of the CPU", torch.ops.aten._scaled_dot_product_flash_attention_for_cpu, [(2, 4, 5, 8)] * 3
    yield "lstm", nn.LSTM(3, 5, num_layers=2, bidirectional=True), [(7, 2, 3)]
    yield "lstm of one", nn.LSTM(3, 5), [(7, 3)]
    yield "lstm with projections", nn.LSTM(3, 5, proj_size=2, batch_first=True), [(2, 7, 3)]
    yield "gru", nn.GRU(3, 5, num_layers=2), [(7, 2, 3)]
    yield "rnn", nn.RNN(3, 5), [(7, 2, 3)]
    yield "lstm cell", nn.LSTMCell(3, 5), [(2, 3)]
    yield "gru cell", nn.GRUCell(3, 5), [(2, 3)]
    yield "multi-head attention", lambda x, m=nn.MultiheadAttention(8, 2): m(x, x, x)[0], [(5, 2, 8)]
    yield "encoder", nn.TransformerEncoderLayer(8, 2, 16).eval(), [(5, 2, 8)]
    wide, narrow = (lambda x: x @ x @ x), (lambda x: x @ x)
    yield "cond", lambda x: torch.cond(x.sum() > 0, wide, narrow, (x,)), [(3, 3)]
    yield "vmap", torch.vmap(torch.mm), [(4, 2, 3), (4, 3, 5)]


def write_made_programs(folder):
    for i, (name, function, shapes) in enumerate(made_programs()):
        path = folder / f"{i:03} {name.replace('/', ' ')}.pt2"
        with torch.no_grad():
            program = torch.export.export(in_pytorch.Call(function).eval(), tuple(torch.randn(shape) for shape in shapes))
        torch.export.save(program, str(path))
        yield path


class Flops(Suite):
    """Compares the FLOPs that graphnet counts with PyTorch's own counter, call by call.

A PATH is NAME.pt2 of torch.export, a folder of such, or a GraphNet sample; --made takes programs of one call
each, which are made here: edges of the formulas. A program of torch.export runs node by node under
FlopCounterMode and sdpa_kernel(MATH), on its example inputs or on inputs drawn as its metas say: each call
must count what `graphnet shapes --cost-by node` says, bodies of control flow in total. Of a GraphNet sample
the totals must be equal. Recurrent layers run without oneDNN, whose kernel PyTorch's counter does not know.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("paths", nargs="*", type=pathlib.Path, metavar="PATH")
        parser.add_argument("--made", action="store_true")
        parser.add_argument("--import", dest="imports", action="append", default=[], metavar="PACKAGE",
                            help="a package whose classes programs take or return: transformers")
        parser.add_argument("--stride", type=int, default=1, help="take every Nth program")

    def run(self, run: Run) -> None:
        logging.disable(logging.WARNING)
        torch.set_num_threads(1)
        made = write_made_programs(run.scratch) if run.args.made else []
        for path in itertools.chain(made, list(self.find(run.args.paths))[:: run.args.stride]):
            try:
                run.tell(path, "; ".join(self.check(run, path)[:8]))
            except Exception as error:  # Whatever a program raises is a result.
                run.tell(path, f"skipped: {in_pytorch.one_line(error)}")

    @staticmethod
    def find(paths: List[pathlib.Path]) -> Iterator[pathlib.Path]:
        for path in paths:
            if path.is_file() or (path / "model.py").exists():
                yield path
            else:
                yield from sorted([*path.rglob("*.pt2"), *(model.parent for model in path.rglob("model.py"))])

    def check(self, run: Run, path: pathlib.Path) -> List[str]:
        """What differs: the total, and a line a target of which calls count differently."""
        theirs, total = self.sample(run, path) if path.is_dir() else self.program(run, path)
        document = json.loads(run.graphnet("shapes", path, "--cost-by", "node", "--json"))
        ours = {row["name"]: row["flops"] for row in document["costs"]}
        wrong = [] if total == document["flops"] else [f"total {total}, graphnet says {document['flops']}"]
        lines = collections.defaultdict(list)
        for name, (target, flops) in theirs.items():
            # A call with bodies counts nothing itself: they are in the total.
            if target != "cond" and ours.get(name, 0) != flops:
                lines[target].append(f"{name} counts {flops}, graphnet says {ours.get(name, 0)}")
        return [*wrong, *(f"{target}: {len(calls)} calls, {calls[0]}" for target, calls in lines.items())]

    @staticmethod
    def program(run: Run, path: pathlib.Path) -> Tuple[Dict[str, Tuple[str, int]], int]:
        """The target and FLOPs of each node, and the total. Without the modules of classes it is not read."""
        with zipfile.ZipFile(path) as archive:
            text = "".join(archive.read(name).decode() for name in archive.namelist() if name.endswith(".json"))
        for package in run.args.imports:
            for module in {package, *re.findall(rf"\b({package}[\w.]*)\.[A-Z]\w*", text)}:
                importlib.import_module(module)
        program = torch.export.load(str(path))
        flat = torch.utils._pytree.tree_leaves(example_inputs(program, run.args.seed))
        with counting() as counter:
            interpreter = CountingInterpreter(program.module(), counter)
            interpreter.run(*flat)
        return {name: (interpreter.targets[name], flops) for name, flops in interpreter.flops.items()}, sum(interpreter.flops.values())

    @staticmethod
    def sample(run: Run, path: pathlib.Path) -> Tuple[Dict[str, Tuple[str, int]], int]:
        metas, model = in_pytorch.read_metas(path), in_pytorch.load(path)
        inputs = {name: in_pytorch.draw(metas[name], run.args.seed) for name in in_pytorch.parameters(model)}
        with counting() as counter:
            in_pytorch.call(model, inputs, run.args.seed)
        return {}, counter.get_total_flops()
