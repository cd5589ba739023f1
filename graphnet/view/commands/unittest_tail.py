

# --- The module above as a reference for other implementations of it. This file needs PyTorch alone:
#
#     python NAME_test.py                runs the reference, and times it
#     python NAME_test.py OTHER.py       compares class ModelNew, or Model, of OTHER.py with it
#     python -m unittest NAME_test.py    runs the reference
#
# OTHER.py has a module that takes what get_init_inputs() returns and is called with what get_inputs()
# returns. If its state has the names of that of Model, it gets the same weights.
import argparse
import importlib.util
import statistics
import sys
import time
import unittest
import zlib

SEED = 123
TOLERANCES = {torch.float16: 1e-2, torch.bfloat16: 2e-2, torch.float64: 1e-8}  # others: 1e-4
_device = "cpu"


def device(*_, **__):
    """Where the graph makes tensors: where the check runs."""
    return torch.device(_device)


def _draw(meta, seed):
    """A tensor as its record describes it; the same for one seed and name."""
    generator = torch.Generator().manual_seed(zlib.crc32(f"{seed}:{meta.name}".encode()))
    dtype = getattr(torch, meta.dtype.removeprefix("torch."))
    least, most = getattr(meta, "min_val", None), getattr(meta, "max_val", None)
    mean, std = getattr(meta, "mean", None), getattr(meta, "std", None)
    is_float = dtype.is_floating_point or dtype.is_complex
    if not is_float and dtype != torch.bool and least is not None and most is not None:
        return torch.randint(least, most + 1, meta.shape, dtype=dtype, generator=generator)
    if meta.data is not None:
        return torch.tensor(meta.data, dtype=dtype).reshape(meta.shape)
    value = torch.randn(meta.shape, generator=generator)
    if dtype == torch.bool:
        return value > 0.5
    value = value * ((0.1 if std is None else std) * 0.2) + (0.0 if mean is None else mean)
    value = value.clamp(least, most) if (least, most) != (None, None) else value
    return value.nan_to_num(0.0).clamp(-100, 100).to(dtype)


_metas = {
    kept.name: kept
    for key, kept in list(globals().items())
    if key.startswith(("Program_weight_tensor_meta_", "Program_input_tensor_meta_"))
}
_numbers = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)
_kinds = GraphModule.forward.__annotations__
_names = GraphModule.forward.__code__.co_varnames[1 : GraphModule.forward.__code__.co_argcount]


def _place(name):
    """The name of an attribute of Model; torch's modules have some of their own."""
    return name + "_" if hasattr(torch.nn.Module(), name) else name


class Model(GraphModule):
    """The graph, whose weights are attributes."""

    def __init__(self):
        super().__init__()
        for name in WEIGHTS:
            value = _draw(_metas[name], SEED)
            if _kinds.get(name) is torch.nn.parameter.Parameter:
                learns = value.is_floating_point() or value.is_complex()
                self.register_parameter(_place(name), torch.nn.Parameter(value, requires_grad=learns))
            else:
                self.register_buffer(_place(name), value)

    def forward(self, *inputs):
        given = [name for name in _names if name not in WEIGHTS]
        values = dict(zip(given, inputs, strict=True))
        values.update((name, getattr(self, _place(name))) for name in WEIGHTS)
        return super().forward(**values)


def get_inputs(seed=SEED):
    """What the module is called with, drawn with the seed."""
    values = [(name, _draw(_metas[name], seed)) for name in _names if name not in WEIGHTS]
    return [value.item() if _kinds.get(name) in _numbers else value for name, value in values]


def get_init_inputs():
    """What the module is made with."""
    return []


def _made(kind):
    torch.manual_seed(SEED)
    return kind(*get_init_inputs()).to(_device).eval()


def _run(model, inputs):
    copies = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
    torch.manual_seed(SEED)
    with torch.no_grad():
        return [torch.as_tensor(leaf) for leaf in torch.utils._pytree.tree_leaves(model(*copies))]


def _on_device(inputs):
    return [value.to(_device) if isinstance(value, torch.Tensor) else value for value in inputs]


def _wait():
    if torch.device(_device).type == "cuda":
        torch.cuda.synchronize()


def _milliseconds(model, inputs):
    _wait()
    begin = time.perf_counter()
    _run(model, inputs)
    _wait()
    return 1e3 * (time.perf_counter() - begin)


def difference(found, expected, atol=None, rtol=None):
    """What is wrong with results, or an empty text."""
    if len(found) != len(expected):
        return f"{len(found)} results instead of {len(expected)}"
    for i, (one, other) in enumerate(zip(found, expected)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {i} is {one.dtype} {list(one.shape)} instead of {other.dtype} {list(other.shape)}"
        if not (other.is_floating_point() or other.is_complex()):
            if not torch.equal(one, other):
                return f"result {i} has {int((one != other).sum())} other elements"
            continue
        near = TOLERANCES.get(other.dtype, 1e-4)
        # Zeros must not pass for small results.
        most = min(1.0, other.abs().nan_to_num(0.0, 0.0, 0.0).max().item()) if other.numel() else 1.0
        relative, absolute = near if rtol is None else rtol, near * most if atol is None else atol
        if not torch.allclose(one, other, relative, absolute, equal_nan=True):
            return f"result {i} differs by up to {(one - other).abs().nan_to_num(torch.inf).max().item():.3g}"
    return ""


def _loaded(path):
    spec = importlib.util.spec_from_file_location("implementation", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, "ModelNew", None) or module.Model


def main(arguments=None):
    global _device
    parser = argparse.ArgumentParser(description=f"Checks implementations of {NAME}.")
    parser.add_argument("implementation", nargs="?", metavar="OTHER.py")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3, help="comparisons, each with other inputs")
    parser.add_argument("--atol", type=float)
    parser.add_argument("--rtol", type=float)
    args = parser.parse_args(arguments)
    _device = args.device
    reference = _made(Model)
    inputs = _on_device(get_inputs())
    for i, result in enumerate(_run(reference, inputs)):
        print(f"result {i}: {result.dtype} {list(result.shape)}")
    models = [("reference", reference)]
    if args.implementation is not None:
        other = _made(_loaded(args.implementation))
        if other.state_dict().keys() == reference.state_dict().keys():
            other.load_state_dict(reference.state_dict())
        for seed in range(SEED, SEED + args.rounds):
            given = _on_device(get_inputs(seed))
            what = difference(_run(other, given), _run(reference, given), args.atol, args.rtol)
            if what:
                print(f"WRONG with seed {seed}: {what}")
                return 1
        print(f"right on {args.rounds} sets of inputs")
        models.append((type(other).__name__, other))
    times = {name: [] for name, _ in models}
    for trial in range(-3, args.trials):
        for name, model in models:
            taken = _milliseconds(model, inputs)
            if trial >= 0:
                times[name].append(taken)
    medians = [statistics.median(taken) for taken in times.values() if taken]
    for name, median in zip(times, medians):
        print(f"{name}: {median:.4f} ms")
    if len(medians) == 2:
        print(f"speedup: {medians[0] / medians[1]:.3f}")
    return 0


class ModelTest(unittest.TestCase):
    def test_reference_runs(self):
        model, inputs = _made(Model), _on_device(get_inputs())
        self.assertEqual(difference(_run(model, inputs), _run(model, inputs)), "")


if __name__ == "__main__":
    sys.exit(main())
