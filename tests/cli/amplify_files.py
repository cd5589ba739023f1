"""Shapes of amplify_shapes.py in files of other forms: folders, archives and listings."""

import io
import json
import pathlib
import struct
import zipfile
import zlib
from typing import Callable, Dict, List, Tuple

from amplify_shapes import Bases, Size, add


# --- GraphNet folder ----------------------------------------------------------------------------

def add_folder(name: str, lines: Callable[[Size], List[str]]) -> None:
    def write(folder: pathlib.Path, size: Size, _: Bases) -> pathlib.Path:
        path = folder / name
        path.mkdir()
        (path / "model.py").write_text(
            "import torch\n\n\nclass GraphModule(torch.nn.Module):\n"
            "    def forward(self, L_x_: torch.Tensor, L_p_: torch.Tensor):\n" +
            "".join(f"        {line}\n" for line in ["x = L_x_", "p = L_p_"] + lines(size)))
        record = ('class Program_weight_tensor_meta_{name}:\n    name = "{name}"\n    shape = {shape}\n'
                  '    dtype = "{dtype}"\n    device = "cpu"\n    mean = 0.0\n    std = 1.0\n    data = None\n')
        (path / "weight_meta.py").write_text(
            record.format(name="L_x_", shape=[3, 3], dtype="torch.float32") + "\n\n" +
            record.format(name="L_p_", shape=[], dtype="torch.bool"))
        (path / "input_meta.py").write_text("")
        (path / "input_tensor_constraints.py").write_text(
            "dynamic_dim_constraint_symbols = []\n\n"
            "dynamic_dim_constraint_symbol2example_value = {}\n\n"
            "dynamic_dim_constraint_relations = []\n\n"
            'dynamic_dim_constraint_input_shapes = [([3, 3], "L_x_"), ([], "L_p_")]\n')
        (path / "graph_net.json").write_text('{"framework": "torch", "num_devices_required": 1}\n')
        return path

    add(name, "folder", write)


def wrong_records(folder: pathlib.Path, size: Size, _: Bases) -> pathlib.Path:
    """A folder whose records each contradict themselves: `lint` says where each stands."""
    path = folder / "folder-wrong-records"
    path.mkdir()
    names = [f"L_x{i}_" for i in range(size.names)]
    (path / "model.py").write_text(
        "import torch\n\n\nclass GraphModule(torch.nn.Module):\n"
        f"    def forward(self, {', '.join(f'{name}: torch.Tensor' for name in names)}):\n"
        f"        y = torch.relu({names[-1]})\n        return (y,)\n")
    (path / "weight_meta.py").write_text("\n\n".join(
        f'class Program_weight_tensor_meta_{name}:\n    name = "{name}"\n    shape = [3]\n'
        '    dtype = "torch.float32"\n    device = "cpu"\n    mean = 0.0\n    std = -1.0\n'
        '    min_val = 2.0\n    max_val = 1.0\n    data = None\n' for name in names))
    (path / "input_meta.py").write_text("")
    (path / "graph_net.json").write_text('{"framework": "torch", "num_devices_required": 1}\n')
    return path


add("folder-wrong-records", "folder", wrong_records)

PYTHON_STEPS = {
    "tuple": ("(x, x)", "({v}, {v})"),
    "list": ("[x, x]", "[{v}, {v}]"),
    "dict": ("{{'a': x, 'b': x}}", "{{'a': {v}, 'b': {v}}}"),
    "slice": ("slice(x, x, None)", "slice({v}, {v}, {v})"),
    "numbers": ("(1, 2)", "({v}, {v})"),
    "empty": ("()", "({v}, {v})"),
    "mixed": ("(1, x)", "[({v}, 1), {{'k': {v}}}]"),
    "sum": ("x + x", "{v} + {v}"),
    "tuple-sum": ("(x, x)", "{v} + {v}"),
    "tuple-times": ("(1, 2)", "{v} * 2"),
    "text": ("'ab'", "{v} + {v}"),
}
PYTHON_USES = {
    "returned": ["return (v,)"],
    "arg": ["y = torch.stack(v)", "return (y,)"],
    "kwarg": ["y = torch.stack(tensors = v)", "return (y,)"],
    "nested": ["y = torch.relu([{'a': (v, v)}], k = [v, (v,)])", "return (y, v)"],
    "subscript": ["y = x[v]", "return (y,)"],
    "taken": ["y = v[0]", "z = v[1]", "return (y, z)"],
    "unused": ["y = torch.relu(x)", "return (y,)"],
    "set": ["x[v] = v", "return (x,)"],
    "released": ["y = torch.relu(x)", "v = None", "return (y,)"],
}
for python_step, (first, step) in PYTHON_STEPS.items():
    for use, after in PYTHON_USES.items():
        if python_step not in ("tuple", "dict") and use not in ("returned", "subscript", "nested"):
            continue
        add_folder(f"folder-{python_step}-{use}", lambda size, first=first, step=step, after=after: (
            [f"v = {first.format(v='v')}"] + [f"v = {step.format(v='v')}"] * size.depth + after))
add_folder("folder-fan", lambda size: (
    ["a = (" + "x, " * size.fan + ")", "b = (" + "a, " * size.fan + ")"] +
    ["y = torch.stack(b)", "return (y,)"]))
add_folder("folder-constants-fan", lambda size: (
    ["a = (" + "1, " * size.fan + ")"] + [f"y{i} = x.view(a)" for i in range(size.fan)] +
    ["return (y0,)"]))
add_folder("folder-chain", lambda size: ["y = x"] + ["y = y.transpose(0, 1)"] * size.chain + ["return (y,)"])
add_folder("folder-nest", lambda size: ["y = x"] + ["y = (y,)"] * size.chain + ["return (y,)"])
add_folder("folder-subscripts", lambda size: ["y = x"] + ["y = y[:, None][:, 0]"] * (size.chain // 2) + ["return (y,)"])
add_folder("folder-setitem", lambda size: ["y = x"] + [f"y[{i}] = x" for i in range(size.chain)] + ["return (y,)"])
add_folder("folder-bodies", lambda size: (
    ["def b0(p, x):", "    return torch.relu(x)"] +
    [line for i in range(1, size.bodies) for line in
     (f"def b{i}(p, x):", f"    y = torch.cond(p, b{i - 1}, b{i - 1}, [p, x])", "    return y")] +
    [f"y = torch.cond(p, b{size.bodies - 1}, b{size.bodies - 1}, [p, x])", "return (y,)"]))


# --- torch.export -------------------------------------------------------------------------------

def tensor(name: str) -> Dict[str, object]:
    return {"as_tensor": {"name": name}}


def size_named(name: str) -> Dict[str, object]:
    return {"as_sym_int": {"as_name": name}}


def call(target: str, output: Dict[str, object], **inputs: Dict[str, object]) -> Dict[str, object]:
    return {"target": target, "outputs": [output], "metadata": {}, "is_hop_single_tensor_return": None,
            "inputs": [{"name": name, "arg": arg, "kind": 1} for name, arg in inputs.items()]}


def add_pt2(name: str, change: Callable[[Dict[str, object], Size], None],
            unreadable: bool = False) -> None:
    """`change` takes the graph of the program's JSON."""

    def write(folder: pathlib.Path, size: Size, bases: Bases) -> pathlib.Path:
        path = folder / f"{name}.pt2"
        with zipfile.ZipFile(bases.pt2) as old, zipfile.ZipFile(path, "w") as new:
            for info in old.infolist():
                content = old.read(info)
                if info.filename.endswith("models/model.json"):
                    program = json.loads(content)
                    change(program["graph_module"]["graph"], size)
                    content = json.dumps(program).encode()
                new.writestr(info.filename, content)
        return path

    add(name, "pt2", write, unreadable)


def meta_of(graph: Dict[str, object], *names: str) -> None:
    for name in names:
        graph["tensor_values"][name] = graph["tensor_values"]["y"]


def pt2_chain(calls: List[Callable[[str, str], Dict[str, object]]]) -> Callable[[Dict[str, object], Size], None]:
    def change(graph: Dict[str, object], size: Size) -> None:
        last = "x"
        nodes = graph["nodes"] = []
        for i in range(size.chain // 4):
            nodes.append(calls[i % len(calls)](last, f"v{i}"))
            last = f"v{i}"
            meta_of(graph, last)
        nodes.append(call("torch.ops.aten.relu.default", tensor("y"), self=tensor(last)))
    return change


add_pt2("pt2-chain-transpose", pt2_chain([lambda v, o: call(
    "torch.ops.aten.transpose.int", tensor(o), self=tensor(v), dim0={"as_int": 0}, dim1={"as_int": 1})]))
add_pt2("pt2-chain-relu", pt2_chain([lambda v, o: call(
    "torch.ops.aten.relu.default", tensor(o), self=tensor(v))]))
add_pt2("pt2-chain-write", pt2_chain([
    lambda v, o: call("torch.ops.aten.add_.Tensor", tensor(o), self=tensor(v), other={"as_int": 1}),
    lambda v, o: call("torch.ops.aten.alias.default", tensor(o), self=tensor(v))]))


def pt2_sizes(target: str, count: Callable[[Size], int], other: Dict[str, object]) -> Callable[[Dict[str, object], Size], None]:
    def change(graph: Dict[str, object], size: Size) -> None:
        expression = {"as_expr": {"expr_str": "Symbol('S0', positive=True, integer=True)", "hint": {"as_int": 3}}}
        nodes = [call("torch.ops.aten.sym_size.int", size_named("n0"), self=tensor("x"), dim={"as_int": 0})]
        graph["sym_int_values"]["n0"] = expression
        for i in range(1, count(size) + 1):
            nodes.append(call(target, size_named(f"n{i}"), a=size_named(f"n{i - 1}"),
                              b=other or size_named(f"n{i - 1}")))
            graph["sym_int_values"][f"n{i}"] = expression
        graph["nodes"] = nodes + graph["nodes"]
    return change


for operator in ("add", "mul", "sub", "floordiv"):
    add_pt2(f"pt2-double-size-{operator}", pt2_sizes(f"_operator.{operator}", lambda s: s.depth, {}))
add_pt2("pt2-chain-size", pt2_sizes("_operator.add", lambda s: s.chain // 4, {"as_sym_int": {"as_int": 1}}))


def pt2_expression(text: Callable[[Size], str]) -> Callable[[Dict[str, object], Size], None]:
    def change(graph: Dict[str, object], size: Size) -> None:
        graph["tensor_values"]["y"] = json.loads(json.dumps(graph["tensor_values"]["y"]))
        graph["tensor_values"]["y"]["sizes"][0] = {
            "as_expr": {"expr_str": text(size), "hint": {"as_int": 3}}}
    return change


SYMBOL = "Symbol('S0', positive=True, integer=True)"
add_pt2("pt2-expression-sum", pt2_expression(lambda s: "Add(" + ", ".join([SYMBOL] * s.fan) + ")"))
add_pt2("pt2-expression-deep", pt2_expression(lambda s: "Add(" * s.fan + SYMBOL + ", Integer(1))" * s.fan),
        unreadable=True)
add_pt2("pt2-expression-power", pt2_expression(
    lambda s: "Pow(" * 40 + f"Add({SYMBOL}, Integer(1))" + ", Integer(9))" * 40))


def pt2_getitem(graph: Dict[str, object], size: Size) -> None:
    graph["nodes"] = [
        {"target": "torch.ops.aten.split.Tensor", "metadata": {}, "is_hop_single_tensor_return": None,
         "outputs": [{"as_tensors": [{"name": "s"}]}],
         "inputs": [{"name": "self", "arg": tensor("x"), "kind": 1},
                    {"name": "split_size", "arg": {"as_int": 1}, "kind": 1}]},
        call("_operator.getitem", tensor("y"), a=tensor("s"), b={"as_int": 10**9})]
    meta_of(graph, "s")


def pt2_wide(graph: Dict[str, object], size: Size) -> None:
    graph["nodes"] = [call("torch.ops.aten.cat.default", tensor("y"),
                           tensors={"as_tensors": [{"name": "x"}] * size.chain})]


def pt2_names(graph: Dict[str, object], size: Size) -> None:
    # PyTorch evaluates names, so a program with others than Python's is written anew.
    names = [f"relu_{i:03}_" for i in range(size.names // 2)]
    graph["nodes"] = graph["nodes"] + [
        call("torch.ops.aten.relu.default", tensor(name), self=tensor("x")) for name in names]
    meta_of(graph, *names)


def pt2_bodies(graph: Dict[str, object], size: Size) -> None:
    """A body of JSON cannot be shared: this is as deep as the text may nest."""
    def body(depth: int) -> Dict[str, object]:
        nodes = [call("torch.ops.aten.relu.default", tensor("y"), self=tensor("x"))]
        if depth:
            nodes = [call("torch.ops.higher_order.cond", tensor("y"), pred=tensor("p"),
                          true_graph=graph_of(depth - 1), false_graph=graph_of(depth - 1),
                          operands={"as_tensors": [{"name": "p"}, {"name": "x"}]})]
        return {"inputs": [tensor("p"), tensor("x")], "outputs": [tensor("y")], "nodes": nodes,
                "tensor_values": graph["tensor_values"], "sym_int_values": {}, "sym_bool_values": {},
                "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}

    def graph_of(depth: int) -> Dict[str, object]:
        return {"as_graph": {"name": f"b{depth}", "graph": body(depth)}}

    graph["nodes"] = body(9)["nodes"]


for name, change in (("getitem", pt2_getitem), ("wide", pt2_wide), ("names", pt2_names), ("bodies", pt2_bodies)):
    add_pt2(f"pt2-{name}", change)


# --- protobuf -----------------------------------------------------------------------------------

def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def fields_of(data: bytes) -> List[Tuple[int, int, object]]:
    """Number, wire type and value of each field."""
    fields, at = [], 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            fields.append((tag >> 3, 0, number()))
        else:
            length = {1: 8, 5: 4}.get(tag & 7) or number()
            fields.append((tag >> 3, tag & 7, data[at:at + length]))
            at += length
    return fields


def bytes_of(fields: List[Tuple[int, int, object]]) -> bytes:
    out = io.BytesIO()
    for number, wire, value in fields:
        out.write(varint(number << 3 | wire))
        if wire == 0:
            out.write(varint(value))
        else:
            out.write((varint(len(value)) if wire == 2 else b"") + value)
    return out.getvalue()


def packed(data: bytes) -> List[int]:
    return [value for _, _, value in fields_of(b"".join(b"\x08" + part for part in split_varints(data)))]


def split_varints(data: bytes) -> List[bytes]:
    parts, begin = [], 0
    for i, byte in enumerate(data):
        if byte < 128:
            parts.append(data[begin:i + 1])
            begin = i + 1
    return parts


def add_proto(name: str, column: int, more: Callable[[List[int], Size], List[int]],
              base: str = "proto", unreadable: bool = False) -> None:
    """`more` yields what a column of the module is instead; of graphs' metas that of the nodes.
    `base` names the archive of Bases that is changed."""

    def write(folder: pathlib.Path, size: Size, bases: Bases) -> pathlib.Path:
        path = folder / f"{name}.pb"
        sample = fields_of(getattr(bases, base).read_bytes())
        head, rest = sample[:4], sample[4:]
        for i, (number, wire, value) in enumerate(rest):
            if number == 6:
                module = fields_of(value)
                numbers = [field for field, _, _ in module]
                if column not in numbers:
                    module.append((column, 2, b""))
                module = [(field, kind, b"".join(map(varint, more(packed(content), size)))
                           if field == column else content) for field, kind, content in module]
                module.sort(key=lambda field: field[0])
                rest[i] = (number, wire, bytes_of(module))
        body = bytes_of(rest)
        before = bytes_of(head[:2] + [(3, 5, struct.pack("<I", len(body)))])
        checksum = zlib.crc32(body, zlib.crc32(before))
        path.write_bytes(before + bytes_of([(4, 5, struct.pack("<I", checksum))]) + body)
        return path

    add(name, "protobuf", write, unreadable)


# A tuple of the entry before, twice, so often; what nodes have comes last. A meta is no larger
# than what a file of that size can write out.
add_proto("proto-metas", 6, lambda old, size: old + [
    value for i in range(size.depth) for value in (2 | 2 << 2, 1, 1)], unreadable=True)
add_proto("proto-metas-first", 6, lambda old, size: (
    [1 | 0 << 4] + [value for i in range(size.depth) for value in (2 | 2 << 2, 1, 1)]), unreadable=True)
for kind, number in (("add", 3), ("mul", 5), ("pow", 8), ("min", 9)):
    add_proto(f"proto-expressions-{kind}", 5, lambda old, size, number=number: (
        old + [value for i in range(size.depth) for value in (number, 1, 1)]))
add_proto("proto-relations", 12, lambda old, size: old * size.chain, base="related")
add_proto("proto-templates", 7, lambda old, size: old * size.fan)


# --- TorchScript --------------------------------------------------------------------------------

def add_torchscript(name: str, lines: Callable[[Size], List[str]], signature: str = "x: Tensor",
                    result: str = "Tensor", unreadable: bool = False) -> None:
    def write(folder: pathlib.Path, size: Size, bases: Bases) -> pathlib.Path:
        path = folder / f"{name}.pt"
        with zipfile.ZipFile(bases.torchscript) as old, zipfile.ZipFile(path, "w") as new:
            for info in old.infolist():
                content = old.read(info)
                if info.filename.endswith(".py"):
                    text = content.decode()
                    head = text[:text.index("  def forward")]
                    begin = text.index("self:") + 5
                    type_of_self = text[begin:text.index(",", begin)].strip()
                    content = (head + f"  def forward(self: {type_of_self},\n    {signature}) -> {result}:\n" +
                               "".join(f"    {line}\n" for line in lines(size))).encode()
                if not info.filename.endswith(".debug_pkl"):
                    new.writestr(info.filename, content)
        return path

    add(name, "torchscript", write, unreadable)


def nested_list(depth: int) -> str:
    return "List[" * depth + "Tensor" + "]" * depth


add_torchscript("torchscript-lists", lambda size: (
    ["l0 = [x, x]"] + [f"l{i} = [l{i - 1}, l{i - 1}]" for i in range(1, size.depth)] +
    [f"return l{size.depth - 1}"]), result=nested_list(40), unreadable=True)
add_torchscript("torchscript-tuples", lambda size: (
    ["t0 = (x, x)"] + [f"t{i} = (t{i - 1}, t{i - 1})" for i in range(1, 12)] +
    ["_0, _1 = t11", "return torch.relu(x)"]))
add_torchscript("torchscript-list-tuples", lambda size: (
    ["l0 = [(x, x)]"] + [f"l{i} = [(l{i - 1}, 1)]" for i in range(1, size.depth)] + ["return torch.relu(x)"]))
add_torchscript("torchscript-sum", lambda size: (
    ["v0 = torch.add(x, x)"] + [f"v{i} = torch.add(v{i - 1}, v{i - 1})" for i in range(1, size.depth)] +
    [f"return v{size.depth - 1}"]))
add_torchscript("torchscript-extend", lambda size: (
    ["l = [x]"] + ["torch.extend(l, l)"] * size.depth + ["return torch.stack(l)"]))
add_torchscript("torchscript-numbers", lambda size: (
    ["n0 = torch.size(x, 0)"] + [f"n{i} = torch.add(n{i - 1}, n{i - 1})" for i in range(1, size.depth)] +
    [f"return torch.mul(x, n{size.depth - 1})"]))
add_torchscript("torchscript-chain", lambda size: (
    ["v0 = x"] + [f"v{i} = torch.transpose(v{i - 1}, 0, 1)" for i in range(1, size.chain // 10)] +
    [f"return v{size.chain // 10 - 1}"]))
add_torchscript("torchscript-loop", lambda size: (
    ["l = [x]", "for i in range(1000000000):", "  _0 = torch.append(l, x)", "return torch.stack(l)"]))


# --- Listings of Paddle --------------------------------------------------------------------------

def pir_attributes(folder: pathlib.Path, size: Size, _: Bases) -> pathlib.Path:
    path = folder / "pir-attributes.txt"
    attributes = ",".join(f"a{i}:true" for i in range(size.names))
    path.write_text(
        '{\n    (%0) = "pd_op.data" [id:1] () {dtype:(pd_op.DataType)float32,name:"x",'
        'place:(pd_op.Place)Place(undefined:0),shape:(pd_op.IntArray)[3],stop_gradient:[false]} '
        ': () -> builtin.tensor<3xf32>\n'
        f'    (%1) = "pd_op.relu" [id:2] (%0) {{{attributes}}} '
        ': (builtin.tensor<3xf32>) -> builtin.tensor<3xf32>\n}\n')
    return path


add("pir-attributes", "pir", pir_attributes)
