#!/usr/bin/env python3
"""Writes operators.txt and functions.txt: the operands and results of Paddle's PIR operators, and
the parameters of the Python functions that to-paddle writes.

Run it with a Python that has Paddle: make_operators.py DIR PADDLE_RULES, where DIR is this folder
and PADDLE_RULES is graphnet/paddle/paddle_rules.txt. The operators are those that the headers of
the wheel declare, without those of gradients, onednn and xpu. Signatures are read from the
functions themselves.
"""

import inspect
import os
import re
import sys

import paddle

TYPES = {
    "bool": "Bool", "int": "Int32", "int64_t": "Int64", "float": "Float", "double": "Double",
    "std::string": "Str", "phi::DataType": "DataType", "phi::Place": "Place",
    "phi::Scalar": "Double", "DataLayout": "DataLayout", "phi::DataLayout": "DataLayout",
}


def split(text):
    """Splits parameters at commas outside of brackets and strings."""
    parts, depth, quoted, part = [], 0, False, ""
    for c in text:
        if c == '"':
            quoted = not quoted
        if not quoted:
            depth += (c in "<{(") - (c in ">})")
        if c == "," and depth == 0 and not quoted:
            parts.append(part.strip())
            part = ""
        else:
            part += c
    return parts + [part.strip()] if part.strip() else parts


def type_of(declared, name):
    declared = declared.replace("const ", "").replace("&", "").strip()
    inner = re.fullmatch(r"std::vector<(.*)>", declared)
    if inner:
        # In Paddle, sizes that may be symbolic have their own kind of attribute.
        if inner[1] == "int64_t" and name == "shape":
            return "IntArray"
        return TYPES[inner[1]] + "[]" if inner[1] in TYPES else None
    return TYPES.get(declared)


def default_of(text, kind):
    if text is None:
        return None
    if kind.endswith("[]") or kind == "IntArray":
        return "[" + ", ".join(part.strip() for part in text.strip("{}").split(",")) + "]"
    if kind == "DataType":
        word = text.split("::")[-1]
        return "Undefined" if word == "UNDEFINED" else word.lower()
    if kind == "Place":
        return "Place(cpu)" if text == "phi::CPUPlace()" else "Place(undefined:0)"
    if kind in ("Float", "Double"):
        text = re.sub(r"(?<=[\d.])f", "", text)
        return repr(float(text)) if re.fullmatch(r"[-+\d.e]+", text) else None
    return text


def parse(parameter):
    declared, _, default = parameter.partition("=")
    words = declared.split()
    return " ".join(words[:-1]), words[-1], default.strip() or None


def operator_of(body):
    """Returns operands, attributes and results of a class; None if it builds itself."""
    builds = [split(text) for text in re.findall(
        r"static void Build\(pir::Builder &builder, pir::OperationArgument &argument,? ?(.*?)\);",
        body)]
    builds = [list(map(parse, b)) for b in builds if not any("AttributeMap" in p for p in b)]
    operands = re.findall(r"pir::Value (\w+)\(\) \{ return operand_source\((\d+)\); \}", body)
    results = re.findall(r"pir::Value (\w+)\(\) \{ return result\((\d+)\); \}", body)
    if not builds and operands:
        return None
    first = builds[0] if builds else []
    last = builds[-1] if builds else []
    given = {name: (declared, default) for declared, name, default in first}
    texts = []
    for name, _ in sorted(operands, key=lambda o: int(o[1])):
        declared, default = given.get(name, ("pir::Value", None))
        kind = type_of(declared, "shape" if "vector" in declared else name)
        if kind is None or declared == "pir::Value":
            texts.append(name)
        else:
            default = default_of(default, kind)
            texts.append(f"{name}:{kind}" + ("" if default is None else f"={default}"))
    attributes = []
    for declared, name, default in last:
        if declared == "pir::Value":
            continue
        kind = type_of(declared, name)
        if kind is None:
            return None
        default = default_of(default, kind)
        attributes.append(f"{name}:{kind}" + ("" if default is None else f"={default}"))
    outs = [name for name, _ in sorted(results, key=lambda r: int(r[1]))]
    return f"({', '.join(texts)}; {', '.join(attributes)}) -> {', '.join(outs)}"


def has_effects(name, bases):
    """Returns whether other results may depend on when the operator runs."""
    return "SideEffectTrait" in bases or "InplaceTrait" in bases or name.endswith("_")


# Operators that are written by hand in Paddle, without a Build that declares their operands.
BY_HAND = {
    "expand": "(x, shape:IntArray=[]; ) -> out",
    "assign_out_": "(x, output; ) -> out !",
}


def operators():
    root = os.path.join(os.path.dirname(paddle.__file__), "include/paddle/fluid/pir/dialect/operator/ir")
    found = {}
    for header in ("manual_op.h", "pd_op.h"):
        with open(os.path.join(root, header), encoding="utf-8") as file:
            text = file.read()
        for bases, name, body in re.findall(
                r'^class [^\n]*?: public ([^{]*)\{.*?return "pd_op\.(\w+)"; \}(.*?)\n};',
                text, re.S | re.M):
            if re.search(r"_grad(_|$)|_xpu|onednn|^send_|^c_|^p_(send|recv)|^fused_", name) or name in found:
                continue
            if operator := operator_of(body):
                found[name] = operator + (" !" if has_effects(name, bases) else "")
    return found | BY_HAND


def functions(rules):
    """Returns the names of functions on the right of the rows of to-paddle."""
    names = set()
    with open(rules, encoding="utf-8") as file:
        for line in file:
            if line.startswith("#") or ": " not in line:
                continue
            head, call = line.rstrip().split(": ", 1)
            subjects = head.split(" when ")[0].split()[1:]
            for name in re.findall(r"paddle\.[\w.*]+", call):
                names.update(name.replace("*", s.split(".")[-1]) for s in subjects
                             ) if "*" in name else names.add(name)
    found = {}
    for name in sorted(names):
        function = paddle
        for part in name.split(".")[1:]:
            function = getattr(function, part, None)
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        texts = []
        for p in parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) or p.name in ("name", "out"):
                continue
            plain = p.default is None or isinstance(p.default, (bool, int, float, str, list, tuple))
            if p.default is p.empty:
                texts.append(p.name)
            elif plain:
                default = list(p.default) if isinstance(p.default, tuple) else p.default
                texts.append(f"{p.name} = " + (f'"{default}"' if isinstance(default, str) else repr(default)))
            else:
                texts.append(p.name)
        found[name] = f"({', '.join(texts)})"
    return found


def write(path, head, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + "".join(f"{name}{rows[name]}\n" for name in sorted(rows)))


def main():
    folder, rules = sys.argv[1:]
    version = paddle.__version__
    write(os.path.join(folder, "operators.txt"),
          f"# PIR operators of Paddle {version}, as make_operators.py finds them:\n"
          "# name(operands; attributes) -> results. An operand with a type may be a constant of it;\n"
          "# '=' is followed by the default, and '!' means that the operator has effects.\n",
          operators())
    write(os.path.join(folder, "functions.txt"),
          f"# Functions of Paddle {version} that to-paddle writes, as make_operators.py finds them, with\n"
          "# the defaults of their parameters.\n", functions(rules))


if __name__ == "__main__":
    main()
