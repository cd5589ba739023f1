"""Names that end a text, a tag or a statement in some language, and samples that have them everywhere."""

import random

PARTS = [
    'a"b',
    "a'b",
    "</script><script>alert(1)</script>",
    '";import os;os.system("touch PWNED")#',
    "\\",
    '\\"',
    "a\nb",
    "a\r\nb",
    "\u2028",
    "\u2029",
    "%s{0}",
    "${x}",
    "`id`",
    "$(id)",
    "=1+1",
    "+1+1",
    "-1+x",
    "@SUM(1)",
    "\t=1",
    "<b>",
    "&amp;",
    "&",
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[",
    '{"a":1}',
    '"""',
    "'''",
    "#",
    "//",
    "/*",
    "*/",
    "|",
    "a|b",
    "[x](javascript:1)",
    "a,b",
    "\u202e",
    "\ud7ff",
    "é",
    "日本",
    "\x00",
    "\x1b[31m",
    "\x7f",
    "\\n",
    "\\N{DIGIT ONE}",
    "\\x41",
    "\\u0041",
    "lambda",
    "class",
    "None",
    "True",
    "self",
    "return",
    "if",
    "1",
    "1a",
    "a b",
    "a.b",
    "..",
    "/",
    "../x",
    "a:b",
    "::",
    "@",
    "%",
    "%1",
    "!",
    "!torch",
    "->",
    "=",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    ";",
    "s0",
    '__import__("os")',
    "torch.ops",
    "__class__",
    "__proto__",
    "constructor",
    "<svg onload=alert(1)>",
    '"><img src=x onerror=alert(1)>',
    "data-x",
    "onload",
    "javascript:alert(1)",
    "\\l\\r",
    "\\G",
    "{a|b}",
    "<TABLE>",
    "digraph",
    "subgraph",
    "node",
    "edge",
    "strict",
    "a" * 300,
]


def hostile_names(count: int, seed: int) -> list[str]:
    choice = random.Random(seed)
    names: dict[str, None] = {}
    while len(names) < count:
        name = "".join(choice.choice(PARTS) for _ in range(choice.choice([1, 1, 1, 2, 3])))
        if choice.random() < 0.3:
            name += chr(choice.choice([choice.randrange(1, 128), choice.randrange(0x80, 0x2FFF)]))
        names[name] = None
    return list(names)


def quoted(text: str) -> str:
    """A string of the text form."""
    out = ""
    for byte in text.encode():
        out += chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\x{byte:02x}"
    return f'"{out}"'


def sample(names: list[str], calls: str, with_targets: bool = False) -> str:
    """A chain of calls: names of values, texts, keys, module paths, file names, perhaps of inputs."""
    lines = ["graphnet.sample 1", f"name = {quoted(names[0])}", "graphnet.module 1", ""]
    inputs = names[: len(names) // 4] if with_targets else ["x"]
    places = ", ".join(f"%{quoted('in ' + n)} {quoted(n)} : f32[2, 2]@cpu {{mean = 0.0, std = 1.0}}" for n in inputs)
    lines.append(f"graph @forward({places}) {{")
    before = "in " + inputs[0]
    for i, name in enumerate(names):
        call = calls.format(before=quoted(before), other=quoted("in " + inputs[i % len(inputs)]), text=quoted(name))
        lines.append(f"  %{quoted(name)} = {call} in {quoted(name)} at {quoted(name)}:{i + 1}:1")
        before = name
    return "\n".join([*lines, f"  return (%{quoted(before)},)", "}", "end", ""])


OPAQUE = "torch.mylib(%{before}, {text}, key = ({text}, {{{text}: 1}}))"
KNOWN = "torch.add(%{before}, %{other})"
