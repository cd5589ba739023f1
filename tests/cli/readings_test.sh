#!/usr/bin/env bash
# Numbers, byte-order marks and coding lines of model.py, read as CPython reads them.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"
python3 -W ignore - "$graphnet" <<'EOF_PYTHON'
import ast
import codecs, io, json, os, random, re, subprocess, sys, tokenize

graphnet = sys.argv[1]
HEAD = "import torch\n\nclass GraphModule(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
META = ('class Program_weight_tensor_meta_x:\n    name = "x"\n    shape = [2]\n'
        '    dtype = "torch.float32"\n    device = "cpu"\n    mean = 0.0\n    std = 1.0\n    data = None\n')


def write(folder, model):
    os.makedirs(folder)
    with open(f"{folder}/model.py", "wb") as f:
        f.write(model)
    for name, content in (("weight_meta.py", META), ("input_meta.py", ""),
                          ("input_tensor_constraints.py", ""), ("graph_net.json", "{}")):
        with open(f"{folder}/{name}", "w") as f:
            f.write(content)


def model(numbers):
    lines = [f"        y{i} = torch.add(x, {number})\n" for i, number in enumerate(numbers)]
    return HEAD + "".join(lines) + "        return (x,)\n"


def accepted(folder):
    """Which of the samples in a folder graphnet reads."""
    run = subprocess.run([graphnet, "stats", "--json", folder], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    assert run.returncode in (0, 2), run.stderr
    return {os.path.basename(sample["path"]) for sample in json.loads(run.stdout)["samples"]
            if "error" not in sample}


def python_value(text):
    """The number that Python reads, None if it reads none; the node if it is another expression."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return node.value if isinstance(node, ast.Constant) else node


# --- Numbers: made by a grammar, then with a character added, removed or changed.
rng = random.Random(17)


def digits(alphabet):
    return "".join(rng.choice(alphabet) + ("_" if rng.random() < 0.15 else "")
                   for _ in range(rng.randint(1, 6)))


def number():
    kind = rng.randrange(6)
    if kind == 0:
        return "0" + rng.choice("xX") + rng.choice(["", "_"]) + digits("0123456789abcdefABCDEF")
    if kind == 1:
        return "0" + rng.choice("bB") + digits("01")
    if kind == 2:
        return "0" + rng.choice("oO") + digits("01234567")
    text = digits("0123456789")
    if rng.random() < 0.5:
        text += "." + (digits("0123456789") if rng.random() < 0.8 else "")
    if rng.random() < 0.3:
        text += rng.choice("eE") + rng.choice(["", "+", "-"]) + digits("0123456789")
    return text + ("j" if rng.random() < 0.1 else "")


def mutated(text):
    at = rng.randrange(len(text) + 1)
    c = rng.choice("0123456789_xbojeE.aAf")
    return rng.choice([text[:at] + c + text[at:], text[:at] + text[at + 1:], text[:at] + c + text[at + 1:]])


numbers = set()
while len(numbers) < 1500:
    text = number()
    if rng.random() < 0.4:
        text = mutated(text)
    # An attribute of a number is not a number.
    if text and (text[0].isdigit() or text[0] == ".") and not isinstance(python_value(text), ast.AST):
        numbers.add(text)
numbers = sorted(numbers)
values = {text: python_value(text) for text in numbers}
valid = [text for text in numbers if values[text] is not None]
invalid = [text for text in numbers if values[text] is None]
assert len(valid) > 500 and len(invalid) > 200, (len(valid), len(invalid))

write("valid", model(valid).encode())
shown = subprocess.run([graphnet, "show", "valid"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
assert shown.returncode == 0, shown.stderr
ours = dict(re.findall(r"^ *%y(\d+) = torch\.add\(%x, (.*?)\)(?: at .*)?$", shown.stdout, re.M))
assert len(ours) == len(valid), (len(ours), len(valid), shown.stdout[:500])
inf = float("inf")
for i, text in enumerate(valid):
    value = eval(ours[str(i)])
    assert type(value) == type(values[text]) and value == values[text], (text, values[text], ours[str(i)])
for i, text in enumerate(invalid):
    write(f"invalid/{i}", model([text]).encode())
wrong = accepted("invalid")
assert not wrong, [invalid[int(i)] for i in wrong]

# --- Lines before the text.
codings = ["utf-8", "UTF-8", "utf_8", "utf8", "Utf-8-unix", "u8", "latin-1", "ascii", "cp1252", "koi8-r"]
comments = ["# coding: {}\n", "# -*- coding: {} -*-\n", "#coding={}\n", "  # vim: set fileencoding={} :\n",
            "#!/usr/bin/env python\n# coding: {}\n", "\n# coding: {}\n", "# a\n# b\n# coding: {}\n",
            "import math\n# coding: {}\n", "import math  # coding: {}\n", "# coding {}\n",
            "# coding: utf-8\n# coding: {}\n"]
texts = [comment.format(coding).encode() for comment in comments for coding in codings]
texts += [b"\xef\xbb\xbf", b"\xef\xbb\xbf# coding: utf-8\n", b"\xef\xbb\xbf# coding: latin-1\n", b""]
expected = set()
for i, text in enumerate(texts):
    content = text + model(["1"]).encode()
    write(f"head/{i}", content)
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
        if codecs.lookup(encoding).name.startswith("utf-8"):
            ast.parse(content)
            expected.add(str(i))
    except SyntaxError:
        pass
assert 20 < len(expected) < len(texts) - 20
difference = accepted("head") ^ expected
assert not difference, [texts[int(i)] for i in difference]
print(f"{len(valid)} numbers equal, {len(invalid)} refused, {len(texts)} heads")
EOF_PYTHON
echo PASSED
