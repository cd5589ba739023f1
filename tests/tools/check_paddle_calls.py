#!/usr/bin/env python3
"""Calls of PyTorch for the rows of graphnet/paddle/paddle_rules.txt, run there and in Paddle.

    check_paddle_calls.py --paddle-python ENV/bin/python -o DIR [--only NAME…] [--write FILE]

PyTorch's own test inputs (torch.testing's OpInfo), and the calls in MORE below for what those
lack, are written as graphs of one call each. `graphnet convert --to paddle` converts them, and
Paddle runs what it made on the same inputs. The outputs must be of the same dtype and shape and
agree at t = -5 (run_paddle.py). DIR/calls.json has what became of each call, and prints are what
is not equal, by rule. With --write, one call that is equal of each row, and how it was converted,
goes to FILE, which tests/paddle/examples_test.cc holds the pass to.

The exit status is 0 if no call that was converted gives another result. Needs expecttest beside
PyTorch, as torch.testing does.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys

import run_paddle as common

HERE = pathlib.Path(__file__).resolve().parent
RULES = HERE.parents[1] / "graphnet/paddle/paddle_rules.txt"
MOST = 8  # calls of a name
LARGEST = 4096  # elements of an input
EXAMPLES = 3  # of a name
PYTHON = ("operator.", "builtins.", "math.")
FIRST = "a"  # of a call without a value: its first input, which it writes to, is what is compared
ONLY = "x"  # like FIRST, but an input that the call does not take
RANDOM = {"empty", "empty_like", "new_empty"}  # besides what differs from seed to seed


def rows(path):
    """[(names, conditions, call)] in the order of the table."""
    found = []
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        head, call = line.split(": ", 1)
        words, _, when = head.partition(" when ")
        found.append((words.split()[1:], when, call))
    return found


# ------------------------------------------------------------ PyTorch's side


def target_of(name):
    """How a graph calls the name: a function, or a method after a dot. None: by hand only."""
    import torch

    if name.startswith(("Tensor.", "torch.Tensor.")):
        return "." + name.partition("Tensor.")[2]
    if "." in name:
        return name
    if hasattr(torch, name):
        return "torch." + name
    if hasattr(torch.Tensor, name):
        return "." + name
    if hasattr(torch._C._nn, name):
        return "torch._C._nn." + name
    for module in ("fft", "linalg", "special"):
        if name.startswith(module + "_"):
            return f"torch.{module}.{name[len(module) + 1:]}"
    if hasattr(torch.ops.aten, name):
        overloads = getattr(torch.ops.aten, name).overloads()
        return f"aten.{name}.{next((o for o in ('default', 'Tensor') if o in overloads), overloads[0])}"
    return None


def callable_of(target):
    import operator
    import torch

    if target.startswith("."):
        return lambda self, *args, **kwargs: getattr(self, target[1:])(*args, **kwargs)
    if target.startswith("aten."):
        _, name, overload = target.split(".")
        return getattr(getattr(torch.ops.aten, name), overload)
    value = {"torch": torch, "operator": operator, "math": __import__("math"), "builtins": __import__("builtins")}[
        target.split(".")[0]]
    for part in target.split(".")[1:]:
        value = getattr(value, part)
    return value


def for_each(name, by_hand):
    """The calls of torch._foreach_NAME, with what one of them is called with, put into `by_hand`."""
    import torch

    found = []
    for spelling in (f"_foreach_{name}", f"_foreach_{name}_"):
        function = getattr(torch, spelling, None)
        overloads = getattr(getattr(torch.ops.aten, spelling, None), "overloads", list)()
        if function is None or "default" not in overloads:
            continue
        schema = getattr(torch.ops.aten, spelling).default._schema
        if len(schema.arguments) == 1:
            tensors = [torch.rand(2, 3) * 0.9 + 0.05, torch.rand(4) * 0.9 + 0.05]
            by_hand[spelling] = [((tensors,), {}, *(["a"] if spelling.endswith("_") else []))]
            found.append(spelling)
    return found


class Unwritable(Exception):
    pass


def text_of(value, inputs):
    """An argument in graphnet's text form; tensors become inputs."""
    import torch

    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.numel() > LARGEST:
            raise Unwritable("a tensor that is not dense or too large")
        for name, other in inputs.items():
            if other is value:
                return "%" + name
        name = "abcdefghijklmnopqrstuvw"[len(inputs)]
        inputs[name] = value.detach()
        return "%" + name
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, torch.dtype):
        return str(value)
    if isinstance(value, torch.device):
        return f'device("{value}")'
    if isinstance(value, (list, torch.Size)):
        return "[" + ", ".join(text_of(v, inputs) for v in value) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(text_of(v, inputs) for v in value) + ("," if len(value) == 1 else "") + ")"
    raise Unwritable(type(value).__name__)


SHORT = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32",
         "int16": "i16", "int8": "i8", "uint8": "u8", "bool": "bool", "complex64": "c64", "complex128": "c128"}


def graph_of(target, args, kwargs, returned):
    import torch

    inputs = {ONLY: torch.ones(2)} if returned == ONLY else {}
    given = [text_of(v, inputs) for v in args] + [f"{k} = {text_of(v, inputs)}" for k, v in kwargs.items()]
    parameters = ", ".join(
        f"%{name} : {SHORT[str(value.dtype).removeprefix('torch.')]}[{', '.join(map(str, value.shape))}]"
        for name, value in inputs.items())
    return f"graph @forward({parameters}) {{ %r = {target}({', '.join(given)}) return (%{returned or 'r'},) }}", inputs


def op_infos():
    """{name of a row: [OpInfo]}"""
    from torch.testing._internal.common_methods_invocations import op_db

    found = collections.defaultdict(list)
    for info in op_db:
        names = {info.name, info.name.replace(".", "_"), info.aten_name, *(alias.name for alias in info.aliases)}
        names |= {"torch." + info.name, "Tensor." + info.name, "torch.functional." + info.name,
                  info.name.removeprefix("nn.functional.")}
        for name in names:
            if name:
                found[name].append(info)
    return found


def samples_of(name, infos):
    """(args, kwargs) of calls of the name, of each dtype of some."""
    import torch

    base = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    for info in infos.get(name) or infos.get(base) or []:
        dtypes = [d for d in (torch.float32, torch.int64, torch.bool, torch.complex64) if d in info.dtypes]
        for dtype in dtypes[:1] if name != base else dtypes[:2]:
            torch.manual_seed(0)
            try:
                for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
                    yield (sample.input, *sample.args), dict(sample.kwargs)
            except Exception:  # Some of them need a GPU or packages.
                continue


def more():
    """Calls that PyTorch's test inputs lack, by name: [(args, kwargs)]."""
    import torch

    torch.manual_seed(0)
    x, y = torch.randn(3, 4), torch.randn(3, 4)
    i, j = torch.randint(1, 9, (3, 4)), torch.randint(1, 5, (3, 4))
    b = x > 0
    image, seq = torch.randn(2, 4, 8, 8), torch.randn(2, 4, 10)
    calls = collections.defaultdict(list)
    for name in "add sub mul truediv floordiv mod pow matmul iadd isub imul itruediv ifloordiv imod ipow".split():
        base = name.removeprefix("i") if name != "invert" else name
        other = y.t().contiguous() if base == "matmul" else y.abs() + 1
        calls["operator." + name].append(((x.abs() + 1, other), {}))
        if base != "matmul":
            calls["operator." + name].append(((x.abs() + 1, 2.0), {}))
            if name not in ("itruediv",):
                calls["operator." + name].append(((i, 2), {}))
            if name == base:
                calls["operator." + name].append(((2.0, x.abs() + 1), {}))
                calls["operator." + name].append(((i, j), {}))
    for name in "and_ or_ xor iand ior ixor".split():
        calls["operator." + name] += [((i, j), {}), ((b, ~b), {})]
    for name in "lshift rshift ilshift irshift".split():
        calls["operator." + name] += [((i, j), {})]
    for name in "lt le gt ge eq ne".split():
        calls["operator." + name] += [((x, y), {}), ((x, 0), {}), ((i, j), {})]
    for name in "neg pos abs".split():
        calls["operator." + name] += [((x,), {}), ((i,), {})]
    calls["operator.invert"] += [((i,), {}), ((b,), {})]
    calls["operator.getitem"] += [((x, 1), {}), ((x, (0, 2)), {}), ((x, b), {}), ((x, (torch.tensor([0, 2]), torch.tensor([1, 3]))), {}),
                                  ((x, (Ellipsis, None)), {})]
    for name in "relu relu6 silu mish hardswish softsign tanhshrink selu hardsigmoid leaky_relu elu celu hardtanh logsigmoid".split():
        calls["torch.nn.functional." + name].append(((x,), {}))
        if name not in ("softsign", "tanhshrink", "logsigmoid"):
            calls["torch.nn.functional." + name].append(((x + 0,), {"inplace": True}))
    for name in "float double half bfloat16 long int short char byte bool cfloat cdouble".split():
        calls["Tensor." + name].append(((x.abs() * 3,), {}))
    calls["Tensor.to"] += [((x, torch.float16), {}), ((x, torch.device("cpu")), {}), ((x, i), {}),
                           ((x,), {"dtype": torch.int64}), ((x, torch.device("cpu"), torch.float64), {}), ((x,), {"copy": True})]
    calls["Tensor.type"].append(((x, torch.float64), {}))
    calls["Tensor.size"] += [((x,), {}), ((x, 1), {})]
    for name in "cpu dim ndimension element_size is_floating_point numel tolist".split():
        calls["Tensor." + name].append(((x,), {}))
    calls["torch.numel"].append(((x,), {}))
    calls["item"].append(((torch.tensor(2.5),), {}))
    calls["sym_size"].append(((x, 1), {}))
    calls["torch.nn.functional.batch_norm"] += [
        ((image, torch.randn(4), torch.rand(4) + 1, torch.randn(4), torch.randn(4), False, 0.1, 1e-5), {}),
        ((image, torch.randn(4), torch.rand(4) + 1, torch.randn(4), torch.randn(4)), {"training": True, "momentum": 0.2}),
        ((seq, torch.randn(4), torch.rand(4) + 1), {})]
    calls["torch.nn.functional.max_pool2d"] += [((image, 2), {}), ((image, 3, 2, 1), {"ceil_mode": True}),
                                                ((image, 2), {"return_indices": True})]
    for mode, extra in (("nearest", {}), ("bilinear", {"align_corners": False}), ("bilinear", {"align_corners": True}),
                        ("bicubic", {"align_corners": False}), ("area", {})):
        calls["torch.nn.functional.interpolate"] += [((image,), {"size": (5, 11), "mode": mode, **extra}),
                                                     ((image,), {"scale_factor": 2.0, "mode": mode, **extra})]
    calls["torch.nn.functional.upsample"].append(((image,), {"scale_factor": 2}))
    calls["torch.functional.einsum"].append((("ij,kj->ik", x, y), {}))
    calls["torch.functional.split"] += [((x, 2, 1), {}), ((x, [1, 3]), {"dim": 1})]
    calls["Tensor.split"] += [((x, 2, 1), {}), ((x, [1, 3]), {"dim": 1})]
    calls["torch.functional.meshgrid"] += [((x[0], y[0]), {"indexing": "ij"})]
    calls["torch.functional.norm"] += [((x,), {}), ((x, 1), {"dim": 1}), ((x, 2, 1, True), {})]
    calls["Tensor.norm"] += [((x,), {}), ((x, 1), {"dim": 1}), ((x, 2, 1, True), {})]
    calls["_weight_norm"] += [((x, torch.rand(3, 1) + 1, 0), {}), ((x, torch.tensor(2.0), -1), {})]
    calls["torch.tensor"] += [(([1.0, 2.0],), {}), ((3,), {"dtype": torch.float32}), (([1, 2],), {})]
    calls["torch.as_tensor"].append(((2.5,), {}))
    calls["torch.Size"].append((([2, 3],), {}))
    calls["max"] += [((x,), {}), ((x, y), {}), ((x, 1), {}), ((x, 1, True), {})]
    calls["min"] += [((x,), {}), ((x, y), {}), ((x, 1), {}), ((x, 1, True), {})]
    calls["arange"] += [((5,), {}), ((1, 5), {}), ((1, 9, 2), {}), ((0, 1, 0.25), {}), ((5,), {"dtype": torch.float32}), ((5.0,), {})]
    for name in "zeros ones".split():
        calls[name] += [((2, 3), {}), (((2, 3),), {"dtype": torch.int64})]
    calls["full"] += [(((2, 3), 1), {}), (((2, 3), 1.5), {}), (((2, 3), True), {}), (((), 2.0), {"dtype": torch.float64})]
    calls["eye"] += [((3,), {}), ((3, 4), {})]
    calls["linspace"] += [((0, 1, 5), {}), ((-1.0, 1.0, 4), {"dtype": torch.float64})]
    calls["softmax"] += [((x, 1), {}), ((x, -1), {"dtype": torch.float64})]
    calls["expand"] += [((x[:, None], 3, 2, 4), {}), ((x[:, None], (-1, 2, -1)), {})]
    calls["view"] += [((x, 4, 3), {}), ((x, (2, -1)), {}), ((x, torch.int32), {})]
    calls["std"] += [((x,), {}), ((x, 1), {}), ((x,), {"dim": 1, "correction": 0})]
    calls["var"] += [((x,), {}), ((x, 1), {}), ((x,), {"dim": 1, "correction": 0, "keepdim": True})]
    calls["torch.set_grad_enabled"].append(((False,), {}))
    calls["copy_"].append(((x + 0, y), {}))
    calls["index_put_"].append(((x + 0, (torch.tensor([0, 2]),), y[:2] + 0), {}))
    calls["index_put"].append(((x, (torch.tensor([0, 2]),), y[:2] + 0), {"accumulate": True}))
    calls["bilinear"].append(((x, y, torch.randn(5, 4, 4), torch.randn(5)), {}))
    calls["real"].append(((torch.complex(x, y),), {}))
    calls["nonzero"].append(((b,), {}))
    calls["slice"] += [((x, 1, 1, 3), {}), ((x, 0, 0, 100), {})]
    calls["index"].append(((x, [None, torch.tensor([0, 2])]), {}))
    for name in "bitwise_left_shift bitwise_right_shift __lshift__ __rshift__".split():
        calls[name].append(((i, j), {}))
    scalar, truth = torch.tensor(2.5), torch.tensor(True)
    for name, args in {
            "inv": (i,), "not_": (truth,), "truth": (truth,), "is_": (x, None), "is_not": (x, None),
            "contains": ([1, 2], 1), "index": (torch.tensor(3),), "concat": ([1], [2]), "imatmul": (x, y.t().contiguous()),
    }.items():
        calls["operator." + name].append((args, {}))
    calls["operator.setitem"] += [((x + 0, 1, 2.5), {}, FIRST), ((x + 0, (Ellipsis, 0), y[:, 0] + 0), {}, FIRST),
                                  ((x + 0, b, 0.0), {}, FIRST)]
    for name, args in {"abs": (-2,), "bool": (truth,), "float": (scalar,), "getattr": (x, "shape"), "int": (scalar,), "len": (x,),
                       "max": (2, 3), "min": (2, 3), "round": (2.5,)}.items():
        calls["builtins." + name].append((args, {}))
    for name in "ceil cos exp fabs floor log log10 log2 sin sqrt tan trunc".split():
        calls["math." + name].append(((2.5,), {}))
    for name in "real imag mH H".split():
        calls["builtins.getattr"].append(((torch.complex(x, y), name), {}))
    calls["math.pow"].append(((2.0, 3.0), {}))
    calls["math.prod"].append((([2, 3],), {}))
    for name, args in {"_sym_sqrt": (4,), "sym_float": (2,), "sym_int": (2.5,), "sym_max": (2, 3), "sym_min": (2, 3), "sym_not": (True,),
                       "sym_sum": ([2, 3],)}.items():
        calls["torch." + name].append((args, {}))
    for name in "expit erf erfinv expm1 log1p logit i0 i0e i1 i1e digamma gammaln sinc".split():
        calls["special_" + name].append((((x.sigmoid() if name in ("logit", "digamma") else x.tanh() * 0.9),), {}))
    calls["special_logsumexp"].append(((x, 1), {}))
    calls["torch.nn.functional.tanh"].append(((x,), {}))
    calls["torch.nn.functional.sigmoid"].append(((x,), {}))
    for name in "and or xor".split():
        calls[f"__{name}__"] += [((i, j), {}), ((b, ~b), {})]
    calls["where"] += [((b, x, y), {}), ((b,), {}), ((b, x, 0.0), {}), ((b, 1.0, y), {})]
    for name in "softmax log_softmax softmin".split():
        calls["torch.nn.functional." + name] += [((x, 1), {}), ((x,), {"dim": 0, "dtype": torch.float64})]
    calls["torch.nn.functional.gumbel_softmax"].append(((x,), {}))
    calls["torch.nn.functional.dropout1d"].append(((seq, 0.5, False), {}))
    calls["dropout"].append(((x, 0.5, False), {}))
    calls["batch_norm"].append(((image, torch.randn(4), torch.randn(4), torch.randn(4), torch.rand(4) + 1, False, 0.1, 1e-5, False), {}))
    calls["torch.nn.functional.embedding"] += [((j, torch.randn(6, 3)), {}), ((j, torch.randn(6, 3), 0), {})]
    for name, value in (("1d", seq), ("2d", image), ("3d", image[:, None] + 0)):
        calls["max_pool" + name].append(((value, 2), {}))
        if name != "3d":
            calls["torch.nn.functional.lp_pool" + name].append(((value, 2, 2), {}))
    calls["torch.nn.functional.affine_grid"] += [((torch.randn(2, 2, 3), [2, 3, 4, 5]), {}),
                                                 ((torch.randn(2, 2, 3), [2, 3, 4, 5], True), {})]
    calls["torch.nn.functional.fold"].append(((torch.randn(1, 12, 12), (4, 5), (2, 2)), {}))
    for name in "detach requires_grad_ Tensor.requires_grad_ numel is_floating_point torch.is_floating_point is_complex".split():
        calls[name].append(((x,), {}))
    calls["to"] += [((x, torch.float64), {})]
    calls["type_as"].append(((x, i), {}))
    calls["_local_scalar_dense"].append(((scalar,), {}))
    calls["rand"].append((([2, 3],), {}))
    calls["randperm"].append(((5,), {}))
    for name in "hann hamming blackman bartlett".split():
        calls[name + "_window"] += [((8,), {}), ((8, False), {})]
    unit = x.sigmoid()
    positive = x.abs() + 0.5
    for name in "igamma igammac special_gammainc special_gammaincc".split():
        calls[name] += [((positive, y.abs() + 0.1), {}), ((positive, y[0].abs() + 0.1), {})]
    calls["special_psi"].append(((positive,), {}))
    for name in "polygamma special_polygamma".split():
        calls[name] += [((1, positive), {}), ((2, positive), {})]
    calls["special_multigammaln"].append(((positive + 2, 2), {}))
    for name in "erfc exp2".split():
        calls["special_" + name].append(((x,), {}))
    for name in "xlogy special_xlogy special_xlog1py".split():
        zero = torch.tensor([0.0, 0.0, 0.0, 2.0, -1.0])
        other = torch.tensor([0.0, float("nan"), 3.0, 0.5, 4.0])
        calls[name] += [((zero, other), {}), ((zero, 2.5), {}), ((1.5, other), {}), ((0.0, other), {}), ((zero, 0.0), {})]
    for name in "alpha_dropout feature_alpha_dropout".split():
        calls[name].append(((image, 0.5, False), {}))
    calls["instance_norm"].append(((image, torch.randn(4), torch.randn(4), None, None, True, 0.1, 1e-5, False), {}))
    calls["adaptive_max_pool1d"].append(((seq, 5), {}))
    sign = torch.tensor([1.0, -1.0, 1.0])
    for name in ("cosine_embedding_loss", "torch.nn.functional.cosine_embedding_loss"):
        calls[name] += [((x, y, sign), {}), ((x, y, sign), {"margin": 0.5, "reduction": 1 if "." not in name else "sum"})]
    for name in ("margin_ranking_loss", "torch.nn.functional.margin_ranking_loss"):
        calls[name].append(((x[:, 0] + 0, y[:, 0] + 0, sign), {"margin": 0.1}))
    calls["hinge_embedding_loss"] += [((x, y.sign()), {}), ((x, y.sign(), 0.5, 1), {})]
    calls["triplet_margin_loss"] += [((x, y, x.flip(0) + 1), {"swap": True}), ((x, y, x.flip(0) + 1), {"reduction": 1})]
    calls["torch.nn.functional.triplet_margin_with_distance_loss"].append(((x, y, x.flip(0) + 1), {"margin": 0.5}))
    calls["poisson_nll_loss"] += [((x, positive, True, False, 1e-8, 1), {}), ((x, positive, False, True, 1e-6, 0), {})]
    calls["kl_div"] += [((x, unit), {"reduction": 2}), ((x, unit), {}), ((x, y), {"reduction": 1, "log_target": True})]
    calls["binary_cross_entropy_with_logits"] += [((x, unit), {}), ((x, unit, unit), {"reduction": 1})]
    scores = torch.randn(6, 2, 5).log_softmax(-1)
    labels, lengths = torch.tensor([[1, 2, 3], [4, 2, 1]]), torch.tensor([3, 2])
    for name, reduction in (("ctc_loss", 0), ("torch.nn.functional.ctc_loss", "sum")):
        calls[name] += [((scores, labels, torch.tensor([6, 6]), lengths), {"reduction": reduction}),
                        ((scores, labels, [6, 5], [3, 2]), {"reduction": 1 if reduction == 0 else "mean"})]
    calls["torch.functional.chain_matmul"] += [((x, y.t().contiguous(), x + 1), {})]
    square = torch.randn(3, 3)
    spd = square @ square.t() + torch.eye(3)
    calls["slogdet"].append(((spd,), {}))
    calls["linalg_lstsq"].append(((torch.randn(5, 3), torch.randn(5, 2)), {}))
    for name in "matrix_exp linalg_matrix_exp".split():
        calls[name].append(((square * 0.5,), {}))
    calls["vander"] += [((x[0] + 0,), {}), ((x[0] + 0, 3, True), {})]
    calls["torch.svd_lowrank"].append(((x, 2), {}))
    calls["torch.pca_lowrank"].append(((x, 2), {}))
    calls["is_nonzero"].append(((scalar,), {}))
    calls["histogramdd"] += [((x[:, :2] + 0, [3, 4]), {"range": [-3.0, 3.0, -2.0, 2.0]})]
    calls["torch.functional.broadcast_shapes"].append((((2, 1), (1, 3)), {}))
    calls["slice_scatter"] += [((x, y[:, :2] + 0, 1, 1, 3), {}), ((x, y, 0), {}), ((x, y[:2] + 0, 0, None, 2), {}), ((x, y[1:] + 0, 0, 1), {})]
    calls["fill_diagonal_"] += [((x + 0, 2.5), {}), ((torch.randn(7, 3), 1.0, True), {})]
    calls["resize_"] += [((x + 0, [2, 3]), {})]
    for name in "get_device is_contiguous is_signed is_pinned Tensor.nelement".split():
        calls[name] += [((x,), {}), ((b,), {})]
    calls["is_set_to"] += [((x, y), {})]
    calls["stride"].append(((x, 0), {}))
    calls["Tensor.new_tensor"] += [((x, [1.0, 2.0]), {}), ((x, [1, 2]), {"dtype": torch.int64})]
    calls["torch.is_tensor"].append(((x,), {}))
    calls["torch._assert"].append(((True, "holds"), {}, ONLY))
    calls["range"] += [((0, 4), {}), ((1, 2, 0.5), {})]
    calls["kaiser_window"] += [((8,), {}), ((8, False), {}), ((8, True, 5.0), {})]
    calls["poisson"].append(((positive,), {}))
    calls["random_"] += [((x + 0,), {}), ((i + 0, 10), {}), ((i + 0, 2, 10), {})]
    for name in "constant_ normal_ uniform_ trunc_normal_".split():
        calls["torch.nn.init." + name].append(((x + 0, *([0.5] if name == "constant_" else [])), {}))
    for name in "ones_ zeros_ eye_ kaiming_normal_ kaiming_uniform_ orthogonal_ xavier_normal_ xavier_uniform_".split():
        calls["torch.nn.init." + name].append(((x + 0,), {}))
    calls["torch.nn.init.dirac_"].append(((torch.randn(4, 4, 3),), {}))
    calls["torch.nn.init.calculate_gain"] += [(("relu",), {}), (("leaky_relu", 0.2), {})]
    calls["torch.nn.init._calculate_fan_in_and_fan_out"].append(((image,), {}))
    calls["torch.nn.utils.parameters_to_vector"].append((([x, y],), {}))
    calls["torch.nn.utils.rnn.invert_permutation"].append(((torch.tensor([2, 0, 1]),), {}))
    calls["fft_fftfreq"] += [((8,), {}), ((5, 0.5), {})]
    calls["fft_rfftfreq"] += [((8,), {}), ((5, 0.5), {})]
    for name, kwargs in (("cosine", {}), ("gaussian", {"std": 1.5}), ("exponential", {"tau": 2.0}), ("general_hamming", {"alpha": 0.5}),
                         ("general_cosine", {"a": [0.5, 0.3, 0.2]}), ("hann", {}), ("hamming", {}), ("blackman", {})):
        calls["torch.signal.windows." + name] += [((7,), kwargs), ((7,), {"sym": False, **kwargs}), ((7,), {"dtype": torch.float64, **kwargs})]
    calls["torch.set_grad_enabled"] = [((False,), {}, ONLY)]
    return calls


def make(out, only):
    """Writes a graph a call, with inputs and outputs."""
    import in_pytorch
    import torch

    cases, drawn = {}, []
    infos, by_hand = op_infos(), more()
    for names, _, _ in rows(RULES):
        # A call for each tensor of a list falls out of the call for one.
        for name in [spelling for name in names for spelling in (name, *for_each(name, by_hand))]:
            if name in cases or (only and name not in only):
                continue
            cases[name] = []
            target = target_of(name)
            if target is None:
                continue
            texts = set()
            for args, kwargs, *rest in [*by_hand.get(name, []), *samples_of(name, infos)]:
                if len(cases[name]) >= MOST + len(by_hand.get(name, [])):
                    break
                try:
                    text, inputs = graph_of(target, args, kwargs, *(rest or [""]))
                    if text in texts:
                        continue
                    outputs, again = (run_call(target, args, kwargs, inputs, rest, seed) for seed in (0, 1))
                except Exception:  # Whatever PyTorch refuses is no call.
                    continue
                if any(v.layout != torch.strided for v in outputs) or not outputs:
                    continue
                texts.add(text)
                if any(in_pytorch.difference(a, b) for a, b in zip(outputs, again)):
                    drawn.append(f"{name.replace('.', '-')}-{len(cases[name])}")
                case = f"{name.replace('.', '-')}-{len(cases[name])}"
                (out / "calls").mkdir(parents=True, exist_ok=True)
                (out / "calls" / f"{case}.gn").write_text(f"graphnet.module 1\n{text}\nend\n")
                common.save(inputs, out / f"{case}.inputs")
                common.save({f"o{i}": v for i, v in enumerate(outputs)}, out / f"{case}.outputs")
                cases[name].append(case)
    (out / "drawn.json").write_text(json.dumps(drawn))
    (out / "cases.json").write_text(json.dumps(cases, indent=1))


def run_call(target, args, kwargs, inputs, rest, seed):
    """The outputs of a call on copies of its inputs, or the input that is to be looked at."""
    import torch

    torch.manual_seed(seed)
    values = {k: v.clone() for k, v in inputs.items()}
    with torch.no_grad():
        result = callable_of(target)(*rebuild(args, inputs, values), **dict(
            zip(kwargs, rebuild(list(kwargs.values()), inputs, values))))
    torch.set_grad_enabled(True)
    return [common.as_tensor(v) for v in common.flatten(values[rest[0]] if rest else result)]


def rebuild(value, inputs, values):
    """The arguments with the copies of the inputs in their places."""
    import torch

    if isinstance(value, torch.Tensor):
        for name, other in inputs.items():
            if other is value or other.data_ptr() == value.data_ptr() and other.shape == value.shape:
                return values[name]
        return value
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(rebuild(v, inputs, values) for v in value)
    return value


# -------------------------------------------------------------- Paddle's side


def run_case(out, case):
    import numpy as np
    import paddle

    text = (out / "paddle" / case / "model.py").read_text()
    try:
        program = {"__name__": "sample"}
        exec(compile(text, "model.py", "exec"), program)
        arguments = []
        for array, dtype in common.load(out / f"{case}.inputs").values():
            value = paddle.to_tensor(np.array(array))
            arguments.append(value.astype("bfloat16") if dtype == "bfloat16" else value)
        with paddle.no_grad():
            returned = list(common.flatten(program["GraphModule"]()(*arguments)))
        return common.compare(returned, common.load(out / f"{case}.outputs"))
    except BaseException as error:  # Whatever Paddle raises is an outcome.
        return {"outcome": "fails", "where": common.describe(error, text)}


def check(out):
    """Runs the conversions of a name in a child of one process that has loaded Paddle; what
    follows one that crashes, in another child."""
    import os
    import paddle  # noqa: F401

    cases = json.loads((out / "cases.json").read_text())
    for name in cases:
        left = [case for case in cases[name] if (out / "paddle" / case / "model.py").is_file()]
        while left:
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(reader)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                for case in left:
                    os.write(writer, (json.dumps({"case": case, **run_case(out, case)}) + "\n").encode())
                os._exit(0)
            os.close(writer)
            data = b""
            while chunk := os.read(reader, 65536):
                data += chunk
            os.close(reader)
            os.waitpid(child, 0)
            lines = data.decode().splitlines()
            if len(lines) < len(left):
                lines.append(json.dumps({"case": left[len(lines)], "outcome": "crashes", "where": ""}))
            print("\n".join(lines), flush=True)
            left = left[len(lines):]


# ------------------------------------------------------------------- the run


def main() -> int:
    if sys.argv[1:2] == ["--side"]:
        (make if sys.argv[2] == "torch" else check)(pathlib.Path(sys.argv[3]), *([sys.argv[4:]] if sys.argv[2] == "torch" else []))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=pathlib.Path, required=True)
    parser.add_argument("--graphnet", default="bazel-bin/graphnet/cli/graphnet")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--paddle-python", required=True)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--keep", action="store_true", help="the calls that are in DIR already")
    parser.add_argument("--write", type=pathlib.Path)
    args = parser.parse_args()

    if not args.keep:
        subprocess.run([args.torch_python, __file__, "--side", "torch", args.out, *args.only], check=True)
    subprocess.run(["rm", "-rf", args.out / "paddle"], check=True)
    subprocess.run([args.graphnet, "convert", args.out / "calls", "--to", "paddle", "-o", args.out / "paddle",
                    "--report", args.out / "report.json"], capture_output=True, check=False)
    report = json.loads((args.out / "report.json").read_text())["samples"]
    done = subprocess.run([args.paddle_python, __file__, "--side", "paddle", args.out], capture_output=True, text=True, check=False)
    results = {r["case"]: r for r in (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))}
    cases = json.loads((args.out / "cases.json").read_text())
    drawn = set(json.loads((args.out / "drawn.json").read_text()))
    bad, count, uncovered = 0, collections.Counter(), []
    outcomes = {}
    for name in cases:
        if not cases[name]:
            uncovered.append(name)
        for case in cases[name]:
            key = f"{case}.gn"
            if report.get(key, {}).get("conversion_status") != "success":
                result = {"outcome": "not converted", "where": report.get(key, {}).get("error", {}).get("message", "?")}
            else:
                result = results.get(case, {"outcome": "crashes", "where": ""})
            result.pop("case", None)
            if (name in RANDOM or case in drawn) and result["outcome"] == "numbers":
                result = {"outcome": "equal", "where": "but for what is drawn"}
            outcomes[case] = {"name": name, **result}
            count[result["outcome"]] += 1
            if result["outcome"] not in ("equal", "not converted"):
                bad += 1
                text = (args.out / "calls" / f"{case}.gn").read_text().splitlines()[1]
                print(f"{name}: {result['outcome']}: {result['where']}\n    {text}")
    (args.out / "calls.json").write_text(json.dumps(outcomes, indent=1) + "\n")
    print(", ".join(f"{times} {what}" for what, times in count.most_common()))
    print(f"{len(cases) - len(uncovered)} of {len(cases)} names have calls; not: {' '.join(uncovered)}")
    if args.write:
        write(args, cases, outcomes, drawn)
    return 1 if bad else 0


def write(args, cases, outcomes, drawn):
    """The first call of each name that is equal and not longer than needed, with its conversion."""
    lines = []
    for name in sorted(cases):
        seen = set()
        for case in cases[name]:
            if outcomes[case]["outcome"] != "equal" or case in drawn and seen:
                continue
            path = args.out / "calls" / f"{case}.gn"
            text = path.read_text().splitlines()[1]
            # By the last two passes alone, which the test runs.
            shown = subprocess.run([args.graphnet, "opt", path, "--passes", "explicit-operators,to-paddle", "--to", "text", "-o", "-"],
                                   capture_output=True, text=True, check=True).stdout
            steps = [line.strip() for line in re.search(r"\{\n(.*?)\n\}", shown, re.S)[1].splitlines()]
            if len(seen) == EXAMPLES or any(step.startswith(f"%r = {text.split('%r = ')[1].split('(')[0]}(") for step in steps
                                            if not name.startswith(PYTHON) and "%r = ." not in text):
                continue
            shape = tuple(sorted(re.sub(r"[0-9.]+", "0", step) for step in steps))
            if shape in seen:
                continue
            seen.add(shape)
            lines.append(f"{name} | {text} | {' ; '.join(steps)}")
    args.write.write_text("# Made by tests/tools/check_paddle_calls.py: calls that Paddle runs as PyTorch does.\n"
                          + "\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
