"""Programs of a few lines whose values, sizes and bodies are shared so often that a walk which
takes them for trees never ends. amplify_test.py runs the tool on each of them.

A shape is a name, a form (text here; amplify_files.py has folders, pt2, protobuf, torchscript, PIR) and a
function that writes it below a folder. Sizes come from `Size`: `full()` has those that the tool is held to, `quick()`
smaller ones that show the same faults of growth.
"""

import pathlib
from dataclasses import dataclass
from typing import Callable, Dict, List, Tuple


@dataclass
class Size:
    depth: int  # of doublings
    bodies: int  # of doublings of bodies
    chain: int
    fan: int  # this many by this many
    names: int  # that collide

    @staticmethod
    def full() -> "Size":
        return Size(depth=40, bodies=30, chain=100_000, fan=5_000, names=65_000)

    @staticmethod
    def quick() -> "Size":
        return Size(depth=40, bodies=30, chain=6_000, fan=1_200, names=8_000)


@dataclass
class Shape:
    name: str
    form: str
    write: Callable[[pathlib.Path, "Size", "Bases"], pathlib.Path]
    # It is larger than what a file may hold or means nothing: every command may refuse it.
    unreadable: bool = False


class Bases:
    """Archives that the tool made of a program of two lines; shapes change what is in them."""

    def __init__(self, convert: Callable[[pathlib.Path, pathlib.Path], None], folder: pathlib.Path):
        text = folder / "base.gn"
        text.write_text(
            "symbol S0 = 3\n\n"
            "graph @forward(%x : f32[S0, 3]@cpu, %p : bool[]@cpu) {\n"
            "  %y = aten.relu.default(%x) : f32[S0, 3]@cpu\n"
            "  return (%y,)\n}\n")
        related = folder / "related.gn"
        related.write_text(text.read_text().replace("= 3\n", "= 3\nrelation S0 <= 64\n", 1))
        self.pt2, self.proto = folder / "base.pt2", folder / "base.pb"
        self.related = folder / "related.pb"
        for source, made in ((text, self.pt2), (text, self.proto), (related, self.related)):
            convert(source, made)
        plain = folder / "plain.gn"
        plain.write_text(
            "graph @forward(%x : f32[2, 3]@cpu) {\n"
            "  %y = aten.relu.default(%x) : f32[2, 3]@cpu\n"
            "  return %y\n}\n")
        self.torchscript = folder / "base.pt"
        convert(plain, self.torchscript)


SHAPES: Dict[str, Shape] = {}


def add(name: str, form: str, write: Callable[[pathlib.Path, Size, Bases], pathlib.Path],
        unreadable: bool = False) -> None:
    assert name not in SHAPES, name
    SHAPES[name] = Shape(name, form, write, unreadable)


# --- text ---------------------------------------------------------------------------------------

SQUARE = "%x : f32[3, 3]@cpu"


def add_text(name: str, lines: Callable[[Size], Tuple[str, List[str], str, str]]) -> None:
    """`lines` yields the parameters, the statements, what is returned and what stands around."""

    def write(folder: pathlib.Path, size: Size, _: Bases) -> pathlib.Path:
        parameters, statements, result, around = lines(size)
        path = folder / f"{name}.gn"
        with path.open("w") as out:
            out.write(around if around.startswith("symbol") else "")
            out.write(f"graph @forward({parameters}) {{\n")
            out.writelines(f"  {line}\n" for line in statements)
            out.write(f"  return {result}\n}}\n")
            out.write("" if around.startswith("symbol") else around)
        return path

    add(name, "text", write)


def doubled(first: str, step: str, depth: int) -> List[str]:
    """%v0 by `first`, then each by `step`, wherein {v} is the one before."""
    lines = [f"%v0 = {first}"]
    lines += [f"%v{i} = {step.format(v=f'%v{i - 1}')}" for i in range(1, depth + 1)]
    return lines


# How an aggregate is made of {v} twice.
AGGREGATES = {
    "list": ("prim.ListConstruct(%x, %x)", "prim.ListConstruct({v}, {v})"),
    "dict": ('prim.DictConstruct("a", %x, "b", %x)', 'prim.DictConstruct("a", {v}, "b", {v})'),
    "list-of-dict": ('prim.DictConstruct("a", %x)', "prim.ListConstruct({v}, {v})"),
    "stack": ("torch.stack((%x, %x))", "torch.stack(({v}, {v}))"),
    "cat": ("torch.cat([%x, %x])", "torch.cat([{v}, {v}])"),
    "vstack-aten": ("aten.cat.default([%x, %x])", "aten.cat.default([{v}, {v}], 1)"),
    "list-sum": ("prim.ListConstruct(%x, %x)", "aten.add.t({v}, {v})"),
    "list-mul": ("prim.ListConstruct(%x, %x)", "aten.mul.left_t({v}, 2)"),
    "list-copy": ("prim.ListConstruct(%x, %x)", "aten.list.t({v})"),
    "tensor-sum": ("operator.add(%x, %x)", "operator.add({v}, {v})"),
    "kwargs": ("torch.add(input = %x, other = %x)", "torch.add(input = {v}, other = {v})"),
    "expand": ("aten.expand.default(%x, [2, 3, 3])", "aten.repeat.default({v}, [2, 1, 1])"),
}
POSITIONS = {
    "arg": ("%o = torch.stack(%v{n})", "%o"),
    "kwarg": ("%o = torch.stack(tensors = %v{n})", "%o"),
    "output": ("", "%v{n}"),
    "nested": ("%o = torch.utils.pick([{{\"k\": (%v{n}, %v{n})}}, %v{n}], k = [%v{n}, (%v{n},)])",
               "[%v{n}, (%v{n}, %o)]"),
    "body": ("%o = torch.vmap(@b, (%v{n}, %v{n}))", "%o"),
    "taken": ("%o = operator.getitem(%v{n}, 0)", "%o"),
}
BODY = "graph @b(%a, %c) {\n  %s = torch.add(%a, %c)\n  return %s\n}\n"

for aggregate, (first, step) in AGGREGATES.items():
    for position, (use, result) in POSITIONS.items():
        if aggregate not in ("list", "dict") and position not in ("output", "nested"):
            continue
        add_text(
            f"double-{aggregate}-{position}",
            lambda size, first=first, step=step, use=use, result=result, position=position:
            (SQUARE, doubled(first, step, size.depth) + ([use.format(n=size.depth)] if use else []),
             result.format(n=size.depth), BODY if position == "body" else ""))

add_text("unpacked", lambda size: (
    SQUARE, doubled("prim.ListConstruct(%x, %x)", "prim.ListConstruct({v}, {v})", size.depth) +
    [f"%w0 = operator.getitem(%v{size.depth}, 1)"] +
    [f"%w{i} = operator.getitem(%w{i - 1}, {i % 2})" for i in range(1, size.depth)],
    f"%w{size.depth - 1}", ""))
add_text("three-wide-lists", lambda size: (
    SQUARE, ["%v0 = prim.ListConstruct(" + ", ".join(["%x"] * 2200) + ")"] +
    [f"%v{i} = prim.ListConstruct(" + ", ".join([f"%v{i - 1}"] * 2200) + ")" for i in (1, 2)],
    "%v2", ""))
add_text("one-wide-call", lambda size: (
    SQUARE, ["%v = torch.cat([" + ", ".join(["%x"] * size.chain) + "])"], "%v", ""))
add_text("wide-output", lambda size: (
    SQUARE, ["%v = torch.relu(%x)"], "[" + ", ".join(["%v"] * size.chain) + "]", ""))
add_text("wide-kwargs", lambda size: (
    SQUARE, ["%v = torch.cat(" + ", ".join(f"k{i} = %x" for i in range(min(size.chain, 60_000))) + ")"],
    "%v", ""))



# --- texts, versions and brackets ---------------------------------------------------------------

for name, step in (("format", 'aten.format.default("{{}}{{}}", {v}, {v})'), ("add", "aten.add.str({v}, {v})")):
    add_text(f"texts-{name}", lambda size, step=step: (
        SQUARE, doubled('aten.format.default("{}", "aaaaaaaa\\"")', step, size.depth), f"(%x, %v{size.depth})", ""))
add_text("many-long-texts", lambda size: (
    SQUARE, doubled('aten.format.default("{}", "aaaaaaaa")', "aten.add.str({v}, {v})", 12) +
    [f'%w{i} = aten.format.default("{i}{{}}", %v12)' for i in range(size.chain)],
    f"(%x, %w{size.chain - 1})", ""))
add_text("versions", lambda size: (
    SQUARE, ["%y = aten.clone.default(%x)"] +
    [f"%r{i} = aten.relu_.default(%y)" for i in range(min(size.chain, 50_000))], "%y", ""))
add_text("versions-read", lambda size: (
    SQUARE, ["%y = aten.clone.default(%x)"] +
    [f"%r{i} = aten.relu_.default(%y)" for i in range(size.fan)],
    "(" + ", ".join(f"%r{i}" for i in range(size.fan)) + ",)", ""))
add_text("versions-of-a-view", lambda size: (
    SQUARE, ["%y = aten.clone.default(%x)", "%v = aten.view.default(%y, [9])"] +
    [f"%r{i} = aten.relu_.default(%v)" for i in range(min(size.chain, 50_000))], "%y", ""))

OPEN = '_enter_autocast("{}", torch.bfloat16, True, None)'
for name, device in (("", "cpu"), ("-unknown", "d{i}")):
    add_text(f"brackets-open{name}", lambda size, device=device: (
        SQUARE, [f"%e{i} = torch.amp.autocast_mode.{OPEN.format(device.format(i=i))}" for i in range(size.chain)] +
        ["%y = torch.relu(%x)"], "%y", ""))
add_text("brackets-nested", lambda size: (
    SQUARE, [f"%e{i} = torch.amp.autocast_mode.{OPEN.format('cpu')}" for i in range(size.chain)] +
    ["%y = torch.matmul(%x, %x)"] +
    [f"%c{i} = torch.amp.autocast_mode._exit_autocast(%e{i})" for i in reversed(range(size.chain))],
    "%y", ""))


# --- sizes --------------------------------------------------------------------------------------

def sizes_of(step: str, count: Callable[[Size], int]) -> Callable[[Size], Tuple[str, List[str], str, str]]:
    def lines(size: Size) -> Tuple[str, List[str], str, str]:
        n = count(size)
        return ("%x : f32[S0, 3]@cpu",
                doubled("aten.sym_size.int(%x, 0)", step, n) +
                [f"%o = aten.expand.default(%x, [%v{n}, -1, -1])"],
                f"(%o, %v{n})", "symbol S0 = 3\n\n")
    return lines


for operator in ("add", "mul", "sub", "floordiv", "mod"):
    add_text(f"double-size-{operator}", sizes_of(f"operator.{operator}({{v}}, {{v}})", lambda s: s.depth))
for function in ("torch.sym_max", "torch.sym_min", "builtins.max"):
    add_text(f"double-size-{function.split('.')[1]}", sizes_of(f"{function}({{v}}, {{v}})", lambda s: s.depth))
add_text("chain-size-add", sizes_of("operator.add({v}, 1)", lambda s: s.chain))
add_text("chain-size-mul", sizes_of("operator.mul({v}, 2)", lambda s: s.chain))
add_text("chain-size-mixed", sizes_of("operator.add({v}, %v0)", lambda s: s.chain))


def doubled_expression(depth: int) -> str:
    text = "S0"
    for _ in range(depth):
        text = f"({text} + {text})"
    return text


def deep_difference(i: int) -> str:
    """Returns an expression that differs from the others of its kind below many equal terms."""
    text = f"(S0 + {i})"
    for _ in range(40):
        text = f"(1 + {text})"
    return text


add_text("deep-differences", lambda size: (
    "%x : f32[S0, 3]@cpu",
    [f"%v{i} = torch.relu(%x) : f32[sym({deep_difference(i)}), 3]" for i in range(min(size.chain, 50_000))],
    "%x", "symbol S0 = 3\n\n"))
add_text("deep-differences-in-lists", lambda size: (
    "%x : f32[S0, 3]@cpu",
    [f"%v{i} = torch.reshape(%x, [sym({deep_difference(i)}), -1])" for i in range(min(size.chain, 50_000))],
    "%x", "symbol S0 = 3\n\n"))
add_text("metas-of-expressions", lambda size: (
    "%x : f32[S0, 3]@cpu",
    [f"%v{i} = torch.cat([%{'x' if i == 0 else f'v{i - 1}'}] * 0) : f32[sym({doubled_expression(min(i, 12))})]"
     .replace("[%x] * 0", "[%x]").replace(f"[%v{i - 1}] * 0", f"[%v{i - 1}]") for i in range(20)],
    "%v19", "symbol S0 = 3\n\n"))


# --- bodies -------------------------------------------------------------------------------------

def bodies(call: str, parameters: str, last: str) -> Callable[[Size], Tuple[str, List[str], str, str]]:
    def lines(size: Size) -> Tuple[str, List[str], str, str]:
        around = ""
        for i in range(size.bodies):
            statement = (f"%c = {call.format(b=f'@b{i + 1}')} : (f32[3, 3]@cpu,)\n"
                         "  %y = operator.getitem(%c, 0) : f32[3, 3]@cpu")
            around += f"graph @b{i}({parameters}) {{\n  {statement}\n  return (%y,)\n}}\n"
        around += f"graph @b{size.bodies}({parameters}) {{\n  {last}\n  return (%y,)\n}}\n"
        return (parameters, [f"%c = {call.format(b='@b0')} : (f32[3, 3]@cpu,)"], "%c", around)
    return lines


PREDICATE = "%p : bool[]@cpu, %x : f32[3, 3]@cpu"
RELU = "%y = aten.relu.default(%x) : f32[3, 3]@cpu"
add_text("bodies-cond", bodies("torch.cond(%p, {b}, {b}, (%p, %x))", PREDICATE, RELU))
add_text("bodies-cond-aten", bodies(
    "torch.ops.higher_order.cond(%p, {b}, {b}, (%p, %x))", PREDICATE, RELU))
add_text("bodies-written", bodies(
    "torch.cond(%p, {b}, {b}, (%p, %x))", PREDICATE,
    "%w = aten.add_.Tensor(%x, 1) : f32[3, 3]@cpu\n  " + RELU))
add_text("bodies-scan", bodies("torch.ops.higher_order.scan({b}, {b}, (%p, %x))", PREDICATE, RELU))
add_text("bodies-while", bodies(
    "torch.ops.higher_order.while_loop({b}, {b}, (%p, %x), ())", PREDICATE, RELU))
add_text("bodies-checkpoint", bodies(
    "torch.ops.higher_order.wrap({b}, %p, %x, k = {b})", PREDICATE, RELU))


def vmapped(size: Size) -> Tuple[str, List[str], str, str]:
    around = ""
    for i in range(size.bodies):
        around += (f"graph @b{i}(%x) {{\n  %l = torch.vmap(@b{i + 1}, (%x,))\n"
                   f"  %r = torch.vmap(@b{i + 1}, (%l,))\n  return %r\n}}\n")
    around += f"graph @b{size.bodies}(%x) {{\n  %y = torch.relu(%x)\n  return %y\n}}\n"
    return (SQUARE, ["%l = torch.vmap(@b0, (%x,))"], "%l", around)


add_text("bodies-vmap", vmapped)
# `run` calls as many operators as there are, 1,000 a call, and `validate --run` twice as many.
add_text("bodies-many-users", lambda size: (
    PREDICATE, [f"%c{i} = torch.cond(%p, @b, @b, (%x,))" for i in range(size.chain // 30)],
    f"%c{size.chain // 30 - 1}",
    "graph @b(%x) {\n" + "".join(f"  %y{i} = torch.relu(%x)\n" for i in range(1000)) +
    "  return (%y0,)\n}\n"))

# --- chains -------------------------------------------------------------------------------------

# Calls in turn, each of {v}, the one before. They end in sizes [3, 3], as they begin.
VIEWS = {
    "unsqueeze": ["aten.unsqueeze.default({v}, 0)", "aten.squeeze.dim({v}, 0)"],
    "transpose": ["aten.transpose.int({v}, 0, 1)"],
    "permute": ["aten.permute.default({v}, [1, 0])"],
    "view": ["aten.view.default({v}, [9])", "aten.view.default({v}, [3, 3])"],
    "reshape": ["aten.reshape.default({v}, [9])", "aten.reshape.default({v}, [3, 3])"],
    "flatten": ["torch.flatten({v})", "torch.unflatten({v}, 0, (3, 3))"],
    "expand": ["aten.expand.default({v}, [3, 3])"],
    "expand_as": ["aten.expand_as.default({v}, %x)"],
    "view_as": ["aten.view_as.default({v}, %x)"],
    "slice": ["aten.slice.Tensor({v}, 0, 0, 9)"],
    "narrow": ["aten.narrow.default({v}, 0, 0, 3)"],
    "select": ["aten.unsqueeze.default({v}, 0)", "aten.select.int({v}, 0, 0)"],
    "alias": ["aten.alias.default({v})"],
    "detach": ["aten.detach.default({v})"],
    "t": ["aten.t.default({v})"],
    "numpy_T": ["aten.numpy_T.default({v})"],
    "swapaxes": ["aten.swapaxes.default({v}, 0, 1)"],
    "movedim": ["aten.movedim.int({v}, 0, 1)"],
    "as_strided": ["aten.as_strided.default({v}, [3, 3], [3, 1])"],
    "diagonal": ["aten.unsqueeze.default({v}, 0)", "aten.expand.default({v}, [1, 3, 3])",
                 "aten.diagonal.default({v}, 0, 0, 0)", "aten.select.int({v}, 1, 0)",
                 "aten.expand.default({v}, [3, 3])"],
    "unfold": ["aten.unfold.default({v}, 0, 3, 1)", "aten.squeeze.dim({v}, 0)"],
    "split": ["aten.split.Tensor({v}, 3)", "operator.getitem({v}, 0)"],
    "chunk": ["torch.chunk({v}, 1)", "operator.getitem({v}, 0)"],
    "unbind": ["aten.unsqueeze.default({v}, 0)", "aten.unbind.int({v})", "operator.getitem({v}, 0)"],
    "view-dtype": ["aten.view.dtype({v}, torch.int32)", "aten.view.dtype({v}, torch.float32)"],
    "method-view": [".view({v}, 9)", ".view({v}, (3, 3))"],
    "method-transpose": [".transpose({v}, 0, 1)"],
    "method-contiguous": [".contiguous({v})"],
    "method-to": [".to({v}, torch.float32)"],
    "subscript": ["operator.getitem({v}, (slice(None, None, None), slice(None, None, None)))"],
    "subscript-none": ["operator.getitem({v}, None)", "operator.getitem({v}, 0)"],
    "getattr": ["builtins.getattr({v}, \"mT\")"],
    "relu": ["aten.relu.default({v})"],
    "add": ["operator.add({v}, 1)"],
    "cast": ["aten._to_copy.default({v}, dtype = torch.float64)",
             "aten._to_copy.default({v}, dtype = torch.float32)"],
    "write": ["aten.add_.Tensor({v}, 1)"],
    "copy": ["aten.copy_.default({v}, %x)"],
    "clone": ["aten.clone.default({v})"],
    "dropout": ["torch.nn.functional.dropout({v}, 0.0, False)"],
    "linear": ["torch.nn.functional.linear({v}, %x)"],
    "layer_norm": ["torch.nn.functional.layer_norm({v}, (3,))"],
}


def chain_of(calls: List[str], length: int) -> List[str]:
    length -= length % len(calls)
    return ["%v0 = aten.alias.default(%x)"] + [
        f"%v{i + 1} = {calls[i % len(calls)].format(v=f'%v{i}')}" for i in range(length)]


for view, calls in VIEWS.items():
    def lines(size: Size, calls: List[str] = calls) -> Tuple[str, List[str], str, str]:
        chain = chain_of(calls, size.chain)
        last = f"%v{len(chain) - 1}"
        return (SQUARE, chain + ["%w = aten.add_.Tensor(%x, 1)", f"%o = aten.mul.Tensor({last}, 2)"],
                f"(%o, {last})", "")
    add_text(f"chain-{view}", lines)

# Calls on the list %l; {v} is the value before, {i} a number.
LISTS = {
    "append": "aten.append.t(%l, %x)",
    "append-result": "aten.append.t({v}, %x)",
    "extend": "aten.extend.t(%l, %k)",
    "insert": "aten.insert.t(%l, 0, %x)",
    "append-pop": "aten.append.t(%l, %x)\n  %p{i} = aten.pop.t(%l, -1)",
    "set_item": "aten._set_item.t(%l, 0, %x)",
    "setitem": "operator.setitem(%l, 0, %x)",
    "clear": "aten.clear.t(%l)",
    "reverse": "aten.reverse.t(%l)",
    "getitem": "aten.__getitem__.t(%l, 0)",
    "add": "aten.add.t({v}, %k)",
    "iadd": "aten.add_.t({v}, %k)",
    "mul": "aten.mul.left_t({v}, 1)",
    "list": "aten.list.t({v})",
    "copy": "aten.copy.t({v})",
    "slice": "aten.slice.t({v}, 0, 1, 1)",
    "len": "aten.len.t(%l)",
    "nest": "prim.ListConstruct({v})",
    "nest-dict": 'prim.DictConstruct("a", {v})',
    "swap-nested": "prim.ListConstruct({v})\n  %q{i} = operator.getitem(%u{i}, 0)",
    "dict-set": 'aten._set_item.str(%d, "a", %x)',
    "dict-get": 'aten.__getitem__.Dict_str(%d, "a")',
    "dict-grow": 'aten._set_item.str(%d, "k{i}", %x)',
    "dict-update": "aten.update.str(%d, %d)",
    "stack": "torch.stack(%l)",
}
# PyTorch's lists move all of their elements at each of these calls, or take memory for all anew.
MOVING = ("extend", "insert")
for name, call in LISTS.items():
    def lines(size: Size, name: str = name, call: str = call) -> Tuple[str, List[str], str, str]:
        length = size.chain // 5 if name in MOVING else size.chain
        begin = ["%l = prim.ListConstruct(%x)", "%k = prim.ListConstruct(%x)",
                 '%d = prim.DictConstruct("a", %x)', "%u0 = prim.ListConstruct(%x)"]
        chain = [f"%u{i} = {call.format(v=f'%u{i - 1}', i=i)}" for i in range(1, length + 1)]
        return SQUARE, begin + chain + ["%o = torch.stack(%l)"], f"(%o, %u{length})", ""
    add_text(f"list-{name}", lines)

# --- fans ---------------------------------------------------------------------------------------

add_text("fan-views-by-writes", lambda size: (
    SQUARE, [f"%v{i} = aten.transpose.int(%x, 0, 1)" for i in range(size.fan)] +
    [f"%w{i} = aten.add_.Tensor(%x, {i})" for i in range(size.fan)] +
    [f"%u{i} = aten.relu.default(%v{i})" for i in range(size.fan)],
    f"(%u0, %u{size.fan - 1}, %w{size.fan - 1})", ""))
add_text("fan-writes-through-views", lambda size: (
    SQUARE, [f"%v{i} = aten.select.int(%x, 0, {i % 3})" for i in range(size.fan)] +
    [f"%w{i} = aten.add_.Tensor(%v{i}, {i})" for i in range(size.fan)] +
    [f"%u{i} = aten.relu.default(%v{i})" for i in range(size.fan)],
    f"(%u0, %u{size.fan - 1}, %x)", ""))
add_text("fan-list-by-users", lambda size: (
    SQUARE, [f"%v{i} = aten.relu.default(%x)" for i in range(size.fan)] +
    ["%l = prim.ListConstruct(" + ", ".join(f"%v{i}" for i in range(size.fan)) + ")"] +
    # PyTorch takes 0.3 us for each element of each.
    [f"%s{i} = torch.stack(%l)" for i in range(size.fan // 4)],
    "[" + ", ".join(f"%s{i}" for i in range(size.fan // 4)) + "]", ""))
add_text("fan-lists-of-lists", lambda size: (
    SQUARE, ["%l0 = prim.ListConstruct(" + ", ".join(["%x"] * size.fan) + ")",
             "%l1 = prim.ListConstruct(" + ", ".join(["%l0"] * size.fan) + ")"] +
    [f"%s{i} = operator.getitem(%l1, {i})" for i in range(size.fan)],
    "[" + ", ".join(f"%s{i}" for i in range(size.fan)) + "]", ""))
add_text("fan-one-value", lambda size: (
    SQUARE, ["%v = aten.relu.default(%x)"] +
    [f"%u{i} = aten.add.Tensor(%v, {i})" for i in range(size.chain)],
    f"(%u0, %u{size.chain - 1}, %v)", ""))
add_text("fan-all-returned", lambda size: (
    SQUARE, [f"%u{i} = aten.add.Tensor(%x, {i})" for i in range(size.chain // 4)],
    "(" + ", ".join(f"%u{i}" for i in range(size.chain // 4)) + ")", ""))
add_text("fan-split", lambda size: (
    SQUARE, ["%v = torch.unbind(%x)"] +
    [f"%u{i} = operator.getitem(%v, {i % 3})" for i in range(size.chain)],
    f"(%u0, %u{size.chain - 1})", ""))
add_text("fan-far-uses", lambda size: (
    SQUARE, [f"%u{i} = aten.relu.default(%x)" for i in range(size.fan)] +
    [f"%s{i} = aten.add.Tensor(%u{i}, %u{size.fan - 1 - i})" for i in range(size.fan)],
    "(" + ", ".join(f"%s{i}" for i in range(size.fan)) + ")", ""))
add_text("fan-parameters", lambda size: (
    ", ".join(f"%x{i} : f32[3, 3]@cpu" for i in range(size.fan)),
    ["%y0 = aten.relu.default(%x0)"] +
    [f"%y{i} = aten.add.Tensor(%y{i - 1}, %x{i})" for i in range(1, size.fan)],
    f"%y{size.fan - 1}", ""))

# --- what holds itself --------------------------------------------------------------------------

HOLD = {
    "append": ["%l = prim.ListConstruct(%x)", "%m = aten.append.t(%l, %l)"],
    "insert": ["%l = prim.ListConstruct(%x)", "%m = aten.insert.t(%l, 0, %l)"],
    "set_item": ["%l = prim.ListConstruct(%x)", "%m = aten._set_item.t(%l, 0, %l)"],
    "setitem": ["%l = prim.ListConstruct(%x)", "%m = operator.setitem(%l, 0, %l)"],
    "extend": ["%l = prim.ListConstruct(%x)", "%k = prim.ListConstruct(%l)",
               "%m = aten.extend.t(%l, %k)"],
    "dict": ['%l = prim.DictConstruct("a", %x)', '%m = aten._set_item.str(%l, "b", %l)'],
    "through-dict": ['%d = prim.DictConstruct("a", %x)', "%l = prim.ListConstruct(%d)",
                     '%m = aten._set_item.str(%d, "b", %l)'],
    "two": ["%l = prim.ListConstruct(%x)", "%k = prim.ListConstruct(%l)",
            "%m = aten.append.t(%l, %k)"],
    "result": ["%l = prim.ListConstruct(%x)", "%k = aten.append.t(%l, %l)",
               "%m = aten.append.t(%k, %k)"],
}
for name, statements in HOLD.items():
    add_text(f"holds-itself-{name}", lambda size, statements=statements: (
        SQUARE, statements + ["%o = aten.relu.default(%x)"], "%l", ""))
    add_text(f"holds-itself-{name}-used", lambda size, statements=statements: (
        SQUARE, statements + ["%o = torch.stack(%l)", "%g = operator.getitem(%l, 0)"], "(%o, %g, %m)", ""))
add_text("extends-itself", lambda size: (
    SQUARE, ["%l = prim.ListConstruct(%x)"] +
    [f"%m{i} = aten.extend.t(%l, %l)" for i in range(size.depth)] + ["%o = torch.stack(%l)"],
    "(%o, %l)", ""))

# --- numbers and names --------------------------------------------------------------------------

for index in (10**9, 2**31, 2**62, -10**9):
    add_text(f"getitem-{index}", lambda size, index=index: (
        SQUARE, ["%h = aten.split.Tensor(%x, 1)", f"%o = operator.getitem(%h, {index})",
                 "%k = torch.ops.unknown.call(%x)", f"%q = operator.getitem(%k, {index})"],
        "(%o, %q)", ""))
add_text("getitem-list-1e9", lambda size: (
    SQUARE, ["%l = prim.ListConstruct(%x)", "%o = operator.getitem(%l, 1000000000)",
             "%s = aten._set_item.t(%l, 1000000000, %x)", "%i = aten.insert.t(%l, 1000000000, %x)"],
    "(%o, %l)", ""))
add_text("repeated-list-1e9", lambda size: (
    SQUARE, ["%l = prim.ListConstruct(%x)", "%o = aten.mul.left_t(%l, 1000000000)"], "%o", ""))
add_text("split-1e9", lambda size: (
    # Of one element, so that what is refused is the list and not the memory of a tensor.
    "%x : f32[1]@cpu", ["%e = aten.expand.default(%x, [1000000000])", "%h = aten.split.Tensor(%e, 1)",
                        "%o = operator.getitem(%h, 7)", "%c = torch.chunk(%e, 1000000000)",
                        "%u = torch.unbind(%e)", "%g = operator.getitem(%u, 999999999)"], "(%o, %g)", ""))
add_text("arange-1e12", lambda size: (
    SQUARE, ["%a = torch.arange(1000000000000)", "%z = torch.zeros((1000000, 1000000))",
             "%r = .repeat(%x, 1000000, 1000000)"], "(%a, %z, %r)", ""))
add_text("range-list", lambda size: (
    SQUARE, ["%l = prim.ListConstruct(%x)", "%r = torch.ops.aten.arange.default(1000000000)",
             "%t = prim.tolist(%r, 1, 0)", "%u = .tolist(%r)"], "(%l, %t)", ""))


def colliding(count: int) -> List[str]:
    """Names that all become the same word when only letters, digits and _ may stand in one."""
    marks = "-+:;!~^&|<>=?@#$"
    return ["n" + "".join(marks[i >> shift & 15] for shift in (0, 4, 8, 12)) for i in range(count)]


add_text("colliding-values", lambda size: (
    SQUARE, [f'%"{name}" = aten.relu.default(%x) : f32[3, 3]@cpu' for name in colliding(size.names)],
    f'%"{colliding(1)[0]}"', ""))
add_text("colliding-inputs", lambda size: (
    ", ".join(f'%"{name}" : f32[3]@cpu' for name in colliding(size.names)),
    [f'%y = aten.relu.default(%"{colliding(1)[0]}")'], "%y", ""))
add_text("colliding-targets", lambda size: (
    ", ".join(f'%x{i} "{name}" : f32[3]@cpu' for i, name in enumerate(colliding(size.names))),
    ["%y = aten.relu.default(%x0)"], "%y", ""))


def colliding_attributes(size: Size) -> Tuple[str, List[str], str, str]:
    names = colliding(size.names)
    return (SQUARE, [f'%a{i} = get_attr "{name}"' for i, name in enumerate(names)] +
            ["%y = aten.relu.default(%a0)"], "%y",
            "".join(f'attribute "{name}" : f32[3]@cpu\n' for name in names))


add_text("colliding-attributes", colliding_attributes)
add_text("colliding-symbols", lambda size: (
    "%x : f32[" + ", ".join(f'"{name}"' for name in colliding(20)) + "]@cpu",
    ["%y = aten.relu.default(%x)"], "%y",
    "symbol S0 = 2\n" + "".join(f'symbol "{name}" = 2\n' for name in colliding(size.names))))
add_text("colliding-bodies", lambda size: (
    PREDICATE, [f'%y{i} = torch.cond(%p, @"{name}", @"{name}", (%x,))'
                for i, name in enumerate(colliding(size.names // 4))], "%y0",
    "".join(f'graph @"{name}"(%x) {{\n  %y = torch.relu(%x)\n  return (%y,)\n}}\n'
            for name in colliding(size.names // 4))))
add_text("colliding-suffixes", lambda size: (
    SQUARE, [f"%relu_{i} = aten.add.Tensor(%x, {i})" for i in range(1, size.names // 2)] +
    [f'%"r{i}!" = aten.relu.default(%x)' for i in range(size.names // 2)], "%relu_1", ""))
add_text("module-paths", lambda size: (
    SQUARE, [f"%y{i} = aten.relu.default(%x) : f32[3, 3]@cpu in a.b{i}.c{i % 7}" for i in range(size.chain // 2)],
    "%y0", ""))
add_text("module-paths-deep", lambda size: (
    SQUARE, [f"%y{i} = aten.relu.default(%x) in " + ".".join(["m"] * min(1 + i, 2000)) for i in range(2_000)],
    "%y0", ""))
