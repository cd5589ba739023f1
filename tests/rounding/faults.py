"""Faults as compilers make them: each kind changes one call of a program."""


def _eps(program, how):
    for line, match, arguments in program.calls("layer_norm", "batch_norm", "group_norm",
                                                "native_layer_norm", "rms_norm", "add"):
        for i, argument in enumerate(arguments):
            try:
                small = 0 < float(argument) < 2e-3
            except ValueError:
                continue
            if small:
                changed = list(arguments)
                changed[i] = how
                yield program.with_arguments(line, match, changed)


def _argument(program, names, index, change):
    for line, match, arguments in program.calls(*names):
        if index >= len(arguments):
            continue
        new = change(arguments[index])
        if new is not None and new != arguments[index]:
            changed = list(arguments)
            changed[index] = new
            yield program.with_arguments(line, match, changed)


def _behind(program, names, *calls):
    for line, match, _ in program.calls(*names):
        yield program.with_call_behind(line, match, calls)


def _number(text):
    try:
        return float(text)
    except ValueError:
        return None


def scale_missing(program):
    def one(text):
        return None if _number(text) in (None, 0.0, 1.0) else "1"
    yield from _argument(program, ("mul", "div"), 1, one)


def operands_swapped(program):
    for line, match, arguments in program.calls("sub", "div", "matmul", "bmm"):
        if len(arguments) > 1 and arguments[0].startswith("%") and arguments[1].startswith("%"):
            yield program.with_arguments(line, match,
                                         [arguments[1], arguments[0], *arguments[2:]])


def wrong_axis(program):
    def other(text):
        return {"-1": "-2", "1": "-1", "2": "1", "3": "2", "-2": "-1"}.get(text)
    yield from _argument(program, ("softmax", "cumsum", "log_softmax", "_softmax", "flip"), 1, other)


def running_statistics_stale(program):
    for line, match, arguments in program.calls("batch_norm"):
        if len(arguments) > 4 and arguments[4].startswith("%"):
            made = program.with_line(
                line, f"  %stale = aten.mul.Tensor({arguments[4]}, 1.02)\n"
                f"  %{match['name']} = {match['target']}"
                f"({', '.join([*arguments[:4], '%stale', *arguments[5:]])}){match['rest']}")
            yield made


def gelu_by_tanh(program):
    for line, match, arguments in program.calls("gelu"):
        tanh = any("tanh" in argument for argument in arguments)
        yield program.with_arguments(line, match, [arguments[0]] if tanh
                                     else [arguments[0], 'approximate="tanh"'])


def bias_missing(program):
    yield from _argument(program, ("linear", "conv2d", "conv1d", "convolution"), 2,
                         lambda text: "None" if text.startswith("%") else None)


def relu_missing(program):
    for line, match, arguments in program.calls("relu", "relu_"):
        yield program.with_line(line, f"  %{match['name']} = aten.alias.default({arguments[0]})")


def weight_transposed(program):
    for line, match, arguments in program.calls("linear"):
        yield program.with_line(
            line, f"  %turned = aten.t.default({arguments[1]})\n  %{match['name']} = "
            f"{match['target']}({', '.join([arguments[0], '%turned', *arguments[2:]])})"
            f"{match['rest']}")


PRODUCTS = ("linear", "matmul", "bmm", "mm", "addmm", "conv2d", "convolution", "conv1d")
POINTWISE = ("add", "mul", "silu", "gelu", "sigmoid", "relu", "hardswish", "tanh", "exp", "sub",
             "layer_norm", "batch_norm")


def products_in(dtype):
    def made(program):
        for line, match, arguments in program.calls(*PRODUCTS):
            first = arguments[0]
            if not first.startswith("%"):
                continue
            yield program.with_line(
                line, f"  %narrow = aten.to.dtype({first}, torch.{dtype})\n"
                f"  %wide = aten.to.dtype(%narrow, {{DTYPE}})\n"
                f"  %{match['name']} = {match['target']}"
                f"({', '.join(['%wide', *arguments[1:]])}){match['rest']}")
    return made


KINDS = {
    "eps left out": lambda p: _eps(p, "0.0"),
    "eps of another layer": lambda p: _eps(p, "0.001"),
    "scale missing": scale_missing,
    "operands swapped": operands_swapped,
    "wrong axis": wrong_axis,
    "stale running statistics": running_statistics_stale,
    "gelu by tanh, or the reverse": gelu_by_tanh,
    "bias missing": bias_missing,
    "relu missing": relu_missing,
    "square weight transposed": weight_transposed,
    "product of bfloat16 operands": products_in("bfloat16"),
    "product of float16 operands": products_in("float16"),
    "value stored as float16": lambda p: _behind(
        p, POINTWISE, "aten.to.dtype({x}, torch.float16)", "aten.to.dtype({x}, {{DTYPE}})"),
    "rows moved by one": lambda p: _behind(p, POINTWISE, "aten.roll.default({x}, [1], [-1])"),
    "last element left out": lambda p: _behind(
        p, POINTWISE, "aten.slice.Tensor({x}, -1, 0, -1)", "aten.constant_pad_nd.default({x}, [0, 1])"),
    "dropout not undone": lambda p: _behind(p, POINTWISE, "aten.mul.Tensor({x}, 0.9)"),
    "reciprocal of 12 bits": lambda p: _behind(p, ("div", "rsqrt", "softmax", "layer_norm", "sigmoid"),
                                               "aten.mul.Tensor({x}, 1.000244140625)"),
    "one too large": lambda p: _behind(p, POINTWISE, "aten.clamp.default({x}, -2, 2)"),
    "sign lost": lambda p: _behind(p, POINTWISE, "aten.abs.default({x})"),
    "log2 for log, exp2 for exp": lambda p: (
        p.with_line(line, f"  %{m['name']} = aten.{'exp2' if '.exp' in m['target'] else 'log2'}"
                    f".default({a[0]})") for line, m, a in p.calls("exp", "log")),
    "wrong approximation of sigmoid": lambda p: (
        p.with_line(line, f"  %{m['name']} = aten.hardsigmoid.default({a[0]})")
        for line, m, a in p.calls("sigmoid")),
    "silu by hardswish": lambda p: (
        p.with_line(line, f"  %{m['name']} = aten.hardswish.default({a[0]})")
        for line, m, a in p.calls("silu")),
}
DTYPES = {"f32": "torch.float32", "f16": "torch.float16", "bf16": "torch.bfloat16"}


def faults_of(program, dtype):
    """(kind, text) of every fault that the program can have."""
    for kind, make in KINDS.items():
        for made in make(program):
            yield kind, made.text().replace("{DTYPE}", DTYPES[dtype])
