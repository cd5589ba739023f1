#!/usr/bin/env bash
# Damaged, meaningless or hostile input: the tool prints one line with the place and the problem,
# exits with 2, writes nothing, and needs little memory and time.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

# Runs the tool with 4 GB of address space, of which LibTorch maps about one, and 20 s. Its exit
# code goes to `code`, its output to out.txt and err.txt.
run() {
  code=0
  (ulimit -v 4000000 && exec timeout 20 "$graphnet" "$@") >out.txt 2>err.txt || code=$?
}

# Makes the folders good/ and bad/ of inputs, and the file `expected`: the name of each bad one, and
# the text that its message must contain.
mkdir good bad
"$graphnet" convert "$samples/resnet.pt" good/resnet.pb
python3 - "$samples/resnet.pt" good/resnet.pb <<'EOF_PYTHON'
import os, struct, sys, warnings, zipfile, zlib

expected = open("expected", "w")


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content.encode() if isinstance(content, str) else content)


def case(name, content, message):
    write("bad/" + name, content)
    print(name, message, sep="\t", file=expected)


# --- Sample folders -----------------------------------------------------------
HEAD = """import torch
class GraphModule(torch.nn.Module):
    def forward(self, s0: torch.SymInt, x: torch.Tensor):
"""
BODY = "a = torch.relu(x)\nb = a + 1\nreturn (b,)\n"


def model(body):
    return HEAD + "".join("        %s\n" % line for line in body.split("\n")[:-1])


def record(name, shape, dtype="float32", more="", cls=None):
    return f"""class Program_weight_tensor_meta_{cls or name}:
    name = "{name}"
    shape = {shape}
    dtype = "torch.{dtype}"
    device = "cpu"
    mean = None
    std = None
{more}"""


S0 = record("s0", "[]", "int64", "    data = [4]\n")
SYMBOLS = 'S0 = Symbol("S0")\ndynamic_dim_constraint_symbols = [S0]\n'
EXAMPLES = "dynamic_dim_constraint_symbol2example_value = {S0: 4}\n"
SHAPES = 'dynamic_dim_constraint_input_shapes = [([S0, 8], "x"), ([], "s0")]\n'
FILES = {
    "model.py": model(BODY),
    "weight_meta.py": S0 + record("x", "[4, 8]"),
    "input_meta.py": "",
    "input_tensor_constraints.py": SYMBOLS + EXAMPLES + SHAPES,
    "graph_net.json": '{"framework": "torch"}',
    "graph_hash.txt": "00",
}


def folder(name, message=None, files={}, missing=None):
    for file, content in {**FILES, **files}.items():
        if file != missing:
            write(f"{'bad' if message else 'good'}/{name}/{file}", content)
    if message:
        print(name, message, sep="\t", file=expected)


def body(name, text, message):
    folder(name, "model.py:" + message, {"model.py": model(text)})


def metas(name, text, message):
    folder(name, "weight_meta.py:" + message, {"weight_meta.py": text})


def constraints(name, text, message):
    folder(name, "input_tensor_constraints.py:" + message, {"input_tensor_constraints.py": text})


folder("folder")
for file in ("model.py", "weight_meta.py"):
    folder("no_" + file, "the sample has no file " + file, missing=file)
folder("no_json", "a GraphNet sample without its graph_net.json", missing="graph_net.json")

body("cut_function", BODY[:BODY.index("return")], "6:1: the function ends without a return")
folder("cut_in_line", "model.py:4:25: expected ')' after the arguments",
       {"model.py": model(BODY)[:model(BODY).index("relu(x") + 6]})
folder("empty_model", "model.py:1:1: expected 'class GraphModule", {"model.py": ""})
metas("cut_metas", FILES["weight_meta.py"][:-60], "12:13: the string does not end on its line")
metas("cut_record", FILES["weight_meta.py"].rpartition("    device")[0], "9:1: the record has no field 'device'")
folder("empty_metas", "model.py:3:23: argument 's0' has no record", {"weight_meta.py": ""})
constraints("cut_constraints", SYMBOLS + EXAMPLES[:-4], "3:51: expected an integer")

body("undefined", "a = torch.relu(z)\nreturn a\n", "4:24: 'z' is not defined")
body("used_before", "a = torch.relu(b)\nb = x\nreturn a\n", "4:24: 'b' is not defined")
body("released", "a = torch.relu(x);  x = None\nreturn x\n", "5:16: 'x' is used after")
folder("duplicate_parameter", "model.py:3:26: a second parameter named 'x'",
       {"model.py": FILES["model.py"].replace("s0: torch.SymInt, x: torch.Tensor", "x, x")})
body("duplicate_keyword", "a = torch.f(k=x, k=x)\nreturn a\n", "4:27: keyword 'k' is given twice")
body("duplicate_function", "def f(a):\n    return a\ndef f(a):\n    return a\nreturn x\n",
     "6:13: a second function named 'f'")
body("indented", "a = x\n  b = x\nreturn a\n", "5:11: unexpected indentation")
folder("dedented", "model.py:5:3: the function ends without a return",
       {"model.py": HEAD + "        a = x\n  b = x\n        return a\n"})
body("tab", "a = x\n\tb = x\nreturn a\n", "5:10: unexpected indentation")

body("deep_brackets", "a = " + "(" * 10**6 + "\nreturn a\n", "4:213: brackets nest more than 200 deep")
body("deep_lists", "a = " + "[" * 10**6 + "]" * 10**6 + "\nreturn a\n", "4:213: brackets nest")
body("deep_minus", "a = " + "-" * 10**6 + "x\nreturn a\n", "4:213: operators nest too deep")
body("deep_powers", "a = " + "x ** " * 10**6 + "x\nreturn a\n", "4:1020: operators nest too deep")
folder("deep_json", "graph_net.json:1:1: JSON nests more than 256 deep",
       {"graph_net.json": '{"a": ' + "[" * 10**6})
constraints("deep_constraint", SYMBOLS + "dynamic_dim_constraint_relations = [" + "(" * 10**6,
            "3:138: the expression nests too deep")
body("line_100_mb", "a = torch.relu(x" + " " * (100 << 20) + ")\nreturn a\n",
     " 104857750 bytes; at most 67108864 are read")
body("line_60_mb", "a = '" + "x" * (60 << 20) + "\nreturn a\n", "4:13: the string does not end")

body("nul", "a = x\0\nreturn a\n", "4:14: unexpected character '\\x00'")
body("nul_in_string", "a = torch.f(x, 'a\0b')\nreturn a\n", "4:24: the string holds a NUL")
body("nul_in_comment", "a = x  # \0\nreturn a\n", "4:16: the comment holds a NUL")
for name, line, message in (
    ("utf8", b"a = x\xff", "4:14: unexpected character '\\xff'"),
    ("utf8_in_string", b"a = torch.f(x, '\xff')", "4:24: the string holds a NUL or is not UTF-8"),
    ("utf8_in_comment", b"a = x  # \xc0\xaf", "4:16: the comment holds a NUL or is not UTF-8")):
    folder("not_" + name, "model.py:" + message,
           {"model.py": HEAD.encode() + b"        " + line + b"\n        return a\n"})
metas("metas_not_utf8", FILES["weight_meta.py"].encode().replace(b'"s0"', b'"s\xff"'),
      "2:12: the string holds a NUL or is not UTF-8")
folder("json_not_utf8", "graph_net.json:1:", {"graph_net.json": b'{"a": "\xff"}'})
folder("json_cut", "graph_net.json:1:22: malformed JSON", {"graph_net.json": FILES["graph_net.json"][:-1]})

folder("import_os", "model.py:1:8: module 'os' may not be imported",
       {"model.py": "import os\n" + FILES["model.py"]})
metas("import_os_in_metas", "import os\n" + S0, "1:1: expected a class, found 'import'")
constraints("import_os_in_constraints", "from os import system\n", "1:6: only sympy may be imported")
body("os_system", "a = os.system('true')\nreturn a\n", "4:13: 'os' is not defined")
body("eval", "a = torch.f(__import__('os'))\nreturn a\n", "4:21: '__import__' is not defined")
body("for", "for i in x:\n    a = i\nreturn a\n", "4:9: 'for' is outside the subset")
body("while", "while True:\n    a = x\nreturn a\n", "4:9: 'while' is outside the subset")
body("lambda", "a = lambda: x\nreturn a\n", "4:13: 'lambda' is outside the subset")
body("comprehension", "a = [x for i in x]\nreturn a\n", "4:16: 'for' is outside the subset")

folder("no_meta", "model.py:3:41: argument 'x' has no record", {"weight_meta.py": S0})
metas("meta_of_nothing", FILES["weight_meta.py"] + record("q", "[1]"), "17:12: forward has no argument 'q'")
metas("meta_twice", FILES["weight_meta.py"] + S0, "17:12: a second record of 's0'")
folder("meta_in_both", "input_meta.py:2:12: a second record of 'x'",
       {"input_meta.py": record("x", "[4, 8]").replace("weight", "input")})
metas("meta_of_another", S0 + record("x", "[4, 8]", cls="y"), "10:12: the class is named after 'y'")
metas("data_of_another_size", S0 + record("x", "[4, 8]", more="    data = [1.0]\n"),
      "16:12: the data has 1 elements, the shape 32")
metas("no_dtype", S0 + record("x", "[4, 8]", "float33"), "12:13: expected a dtype")
constraints("other_shape", SYMBOLS + EXAMPLES + SHAPES.replace("S0, 8", "S0, 9"),
            "4:40: the shape of 'x' at the example values is not the one in weight_meta.py")
constraints("broken_relation", SYMBOLS + EXAMPLES + "dynamic_dim_constraint_relations = [S0 > 4]\n",
            "4:37: the example values break the relation")
metas("negative", S0 + record("x", "[4, -8]"), "11:17: expected a size that is not negative")
metas("overflow", S0 + record("x", "[4294967296, 4294967296]"), "11:26: the tensor has too many elements")
metas("overflow_int64", S0 + record("x", "[4, 9223372036854775808]"), "11:17: the integer does not fit")
metas("overflow_beside_zero", S0 + record("x", "[0, 9223372036854775807]"), "11:17: the tensor has too many")
metas("petabytes", S0 + record("x", "[1099511627776]"), "11:13: the tensors of the sample together are too large")
for file in ("graph_hash.txt", "notes.txt"):
    folder("link_" + file, f"{file}: is a symbolic link", missing=file)
    os.symlink("/etc/passwd", f"bad/link_{file}/{file}")

# --- Text ---------------------------------------------------------------------
TEXT = """graphnet.module 1

graph @forward(%x : f32[4, 8]) {
  %a = torch.relu(%x)
  return %a
}
end
"""
write("good/text.txt", TEXT)


def text(name, content, message):
    case(name + ".txt", content, f".txt:{message}")


text("cut", TEXT[:TEXT.index("(%x)")], "4:18: expected '('")
text("cut_at_a_line", TEXT[:TEXT.index("end")], "7:1: expected ")
text("undefined", TEXT.replace("(%x)", "(%z)"), "4:19: ")
text("duplicate", TEXT.replace("%a =", "%x ="), "4:3: ")
text("negative", TEXT.replace("[4", "[-4"), " invariant 11: graph forward, node x: dimension -4 is negative")
text("overflow", TEXT.replace("4, 8", "4294967296, 4294967296"), " invariant 11: ")
text("overflow_int64", TEXT.replace("8]", "9223372036854775808]"), "3:28: the integer does not fit")
text("not_utf8", TEXT.encode().replace(b"torch.", b"\xff"), "4:8: ")
text("deep", TEXT.replace("(%x)", "(" + "[" * 10**6), "4:220: nested deeper than 200")
text("newer", TEXT.replace("module 1", "module 2"), "1:17: version 2 is not supported")
text("line_100_mb", TEXT.replace("(%x)", "(\"" + "x" * (100 << 20)), " 104857")
text("nul", TEXT.replace("%a\n", "\0\n"), "5:10: expected ")

# --- Protobuf -----------------------------------------------------------------
PB = open(sys.argv[2], "rb").read()
PAYLOAD = PB[22:]


def envelope(payload, size=None, version=1):
    head = b"\x0a\x08graphnet\x10" + bytes([version]) + b"\x1d"
    head += struct.pack("<I", len(payload) if size is None else size)
    return head + b"\x25" + struct.pack("<I", zlib.crc32(payload, zlib.crc32(head))) + payload


def field(number, content):
    return bytes([number << 3 | 2]) + struct.pack("B", len(content)) + content


assert envelope(PAYLOAD) == PB


def protobuf(name, content, message):
    case(name + ".pb", content, f".pb: {message}")


protobuf("cut", PB[:1000], f"truncated: 978 of {len(PAYLOAD)} bytes")
protobuf("cut_head", PB[:15], "damaged: no size")
protobuf("longer", PB + b"x", "damaged: 1 bytes after the end")
for i in range(8):
    at = 30 + i * len(PAYLOAD) // 8
    protobuf(f"bit_{i}", PB[:at] + bytes([PB[at] ^ 1 << i]) + PB[at + 1:], "damaged: its checksum is wrong")
protobuf("newer", envelope(PAYLOAD, version=2), "written by graphnet format version 2; this program reads up to 1")
protobuf("size_too_large", envelope(PAYLOAD, size=0xffffffff), "truncated: ")
protobuf("size_too_small", envelope(PAYLOAD, size=9), "damaged: ")
# The checksum is right, but the content is wrong.
protobuf("inner_size", envelope(PAYLOAD + b"\x62\xff\xff\xff\xff\x07"), "not a protobuf message Sample")
protobuf("garbage", envelope(b"\xff" * 1000), "not a protobuf message Sample")
protobuf("deep_groups", envelope(b"\xfb\x07" * 10**6), "not a protobuf message Sample")
protobuf("unknown_field", envelope(PAYLOAD + b"\xf8\x07\x01"), "a field that this version does not have")
protobuf("empty", envelope(b""), "the module has no graph")
protobuf("num_nodes", envelope(PAYLOAD + field(6, b"\x08\x07")), "num_nodes is 7, but there are ")
protobuf("leaves_its_folder", envelope(PAYLOAD + field(12, field(1, b"../x"))),
         "extra_files: ../x is not the name of a file")

# --- TorchScript --------------------------------------------------------------
PT = open(sys.argv[1], "rb").read()
with zipfile.ZipFile(sys.argv[1]) as archive:
    INFOS = archive.infolist()
    ENTRIES = [(info.filename, archive.read(info)) for info in INFOS]
ROOT = ENTRIES[0][0].split("/")[0]
CODE = ROOT + "/code/__torch__.py"


def rewritten(path, replace={}, add=(), attributes=0, deflated=()):
    """Writes the archive with some contents replaced or entries added."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with zipfile.ZipFile(path, "w") as out:
        for name, content in [(n, replace.get(n, c)) for n, c in ENTRIES] + list(add):
            info = zipfile.ZipInfo(name)
            info.external_attr = attributes if (name, content) in add else 0
            info.compress_type = zipfile.ZIP_DEFLATED if name in deflated else zipfile.ZIP_STORED
            out.writestr(info, content)


def torchscript(name, message, **changes):
    rewritten(f"bad/{name}.pt", **changes)
    print(name + ".pt", message, sep="\t", file=expected)


def code(name, more, message):
    """`more` follows the code, on a line of its own."""
    text = dict(ENTRIES)[CODE] + (more if isinstance(more, bytes) else more.encode())
    torchscript(name, "code/__torch__.py:" + message, replace={CODE: text})


def content_at(name):
    info = next(info for info in INFOS if info.filename == name)
    at = info.header_offset
    return at + 30 + sum(struct.unpack("<HH", PT[at + 26:at + 30]))


rewritten("good/rewritten.pt")
LINES = dict(ENTRIES)[CODE].count(b"\n")
case("cut.pt", PT[:1000], "byte 1000: ")
case("cut_end.pt", PT[:-30], "byte ")
for name in ("data/0", "data.pkl", "code/__torch__.py", "version"):
    at = content_at(f"{ROOT}/{name}")
    case(f"crc_{name.replace('/', '_')}.pt", PT[:at] + bytes([PT[at] ^ 1]) + PT[at + 1:],
         f"{ROOT}/{name}: wrong CRC")
warnings.simplefilter("ignore")  # of duplicates
torchscript("twice", f"{ROOT}/version: occurs twice", add=[(ROOT + "/version", b"3\n")])
torchscript("twice_in_upper_case", "VERSION: is there twice", add=[(ROOT + "/VERSION", b"3\n")])
torchscript("parent", "the name has a component . or ..: ../evil", add=[("../evil", b"")])
torchscript("parent_inside", f"the name has a component . or ..: {ROOT}/../../evil", add=[(ROOT + "/../../evil", b"")])
torchscript("absolute", "the name is an absolute path: /etc/evil", add=[("/etc/evil", b"")])
torchscript("link", f"{ROOT}/extra/a: is a symbolic link", add=[(ROOT + "/extra/a", b"/etc/passwd")], attributes=0xA1FF0000)
torchscript("no_entry", "code/evil.py: is code outside of __torch__", add=[(ROOT + "/code/evil.py", b"")])
torchscript("bomb", f"{ROOT}/extra/a: is larger than 268435456 bytes and deflated by more than 4 times",
            add=[(ROOT + "/extra/a", bytes(300 << 20))], deflated=[ROOT + "/extra/a"])
torchscript("bomb_in_storage", "data.pkl: byte ",
            replace={ROOT + "/data/0": bytes(100 << 20)}, deflated=[ROOT + "/data/0"])
rewritten("bad/bomb_that_lies.pt", add=[(ROOT + "/extra/a", bytes(100 << 20))], deflated=[ROOT + "/extra/a"])
lie = open("bad/bomb_that_lies.pt", "rb").read().replace(struct.pack("<I", 100 << 20), struct.pack("<I", 1000))
case("bomb_that_lies.pt", lie, f"{ROOT}/extra/a: inflates to more than the declared 1000 bytes")
torchscript("version", "version: the format's version 100 is not supported", replace={ROOT + "/version": b"100\n"})
torchscript("short_storage", "data.pkl: byte ", replace={ROOT + "/data/0": b"1234"})

system = b"cos\nsystem\n(X\x04\0\0\0truetR"
torchscript("os_system", "constants.pkl: byte 3: calls os.system, which is not on the list",
            replace={ROOT + "/constants.pkl": b"\x80\x02(" + system + b"t."})
torchscript("os_system_as_model", "data.pkl: has the wrong type",
            replace={ROOT + "/data.pkl": b"\x80\x02" + system + b"."})
torchscript("pickle_cut", "data.pkl: byte ", replace={ROOT + "/data.pkl": dict(ENTRIES)[ROOT + "/data.pkl"][:-5]})
torchscript("pickle_deep", "constants.pkl: byte ", replace={ROOT + "/constants.pkl": b"\x80\x02" + b"(" * 10**6 + b"t" * 10**6 + b"."})
torchscript("pickle_cycle", "constants.pkl: byte ", replace={ROOT + "/constants.pkl": b"\x80\x02(]r\0\0\0\0j\0\0\0\0at."})

EVIL = "class Evil(Module):\n  a : int\n  def %s(self: __torch__.Evil,\n    x: int) -> NoneType:\n%s    return None\n"
LOOP = "    while True:\n      pass\n"
code("setstate_that_loops", EVIL % ("__setstate__", LOOP), f"{LINES + 3}:7: defines __setstate__, which runs when the file is loaded")
code("from_file", "def f(x: Tensor=ops.aten.from_file(\"evil\", True, 9)) -> Tensor:\n  return x\n",
     f"{LINES + 1}:17: only a literal is allowed here")
code("torchbind", "class A:\n  a : __torch__.torch.classes.a.B\n", f"{LINES + 2}:23: mentions torch.classes")
code("import", "import os\n", f"{LINES + 1}:1: 'import' is not what PyTorch writes here")
code("lambda_in_code", EVIL % ("f", "    y = lambda: x\n"), f"{LINES + 5}:9: 'lambda' is not what")
code("nul_in_code", "\0", f"{LINES + 1}:1: ")
code("utf8_in_code", b"\xff", f"{LINES + 1}:1: ")
code("deep_code", EVIL % ("f", "    y = " + "(" * 10**6 + "\n"), f"{LINES + 5}:209: brackets are nested more than 200 deep")
torchscript("long_code", "code/__torch__.py: larger than 67108864 bytes", replace={CODE: b" " * (100 << 20)})
# These once crashed LibTorch.
code("enum_without_value", "class A(Enum):\n  RED : int\n", f"{LINES + 2}:7: ':'")
code("interface_without_self", "class A(Interface):\n  def f() -> int:\n    pass\n", f"{LINES + 2}:7: 'f'")
code("empty_index", "def f(x: Tensor) -> Tensor:\n  return x[]\n", f"{LINES + 2}:12: ']'")
EOF_PYTHON

# --- Valid input passes under these limits
for input in good/folder good/text.txt good/resnet.pb good/rewritten.pt; do
  run convert "$input" copy.pb
  [ "$code" -eq 0 ] || fail "$input: exit code $code: $(cat err.txt)"
  rm -f copy.*
done

# --- expect_error MESSAGE COMMAND…
expect_error() {
  local message=$1 lines=1
  shift
  run "$@"
  [ "$code" -eq 2 ] || fail "$*: exit code $code: $(head -c 500 err.txt)"
  [ ! -s out.txt ] || fail "$*: prints something"
  head -n 1 err.txt | grep -qF -- "graphnet: " || fail "$*: $(cat err.txt)"
  head -n 1 err.txt | grep -qF -- "$message" || fail "$*: no '$message' in: $(cat err.txt)"
  # The line and a caret may follow an error in a text.
  [[ $* == *.txt* ]] && lines=3
  [ "$(wc -l <err.txt)" -le "$lines" ] || fail "$*: several lines: $(cat err.txt)"
  [ "$(wc -c <err.txt)" -le 1000 ] || fail "$*: a long message"
  ! tr -d '\n' <err.txt | LC_ALL=C grep -q '[[:cntrl:]]' || fail "$*: control characters"
  [ -z "$(find . -maxdepth 1 -name 'copy*')" ] || fail "$*: leaves something behind: $(ls)"
}

while IFS=$'\t' read -r name message; do
  expect_error "$message" convert "bad/$name" copy.pb
  grep -qF "graphnet: bad/$name" err.txt || fail "$name: not named in: $(cat err.txt)"
done <expected

# --- All at once: each is reported in one line, and the good ones pass.
run check good bad
[ "$code" -eq 1 ] || fail "check: exit code $code: $(cat err.txt)"
! grep -q ^FAIL out.txt || fail "check: $(cat out.txt)"
unknown=no_json  # has no known format, so it is not an input
while IFS=$'\t' read -r name message; do
  [ "$name" != "$unknown" ] || continue
  [ "$(grep -cF "FAIL bad/$name:" err.txt)" -eq 1 ] || fail "check: not one line for $name"
  grep -F "FAIL bad/$name:" err.txt | grep -qF -- "$message" || fail "check: no '$message' for $name"
done <expected
failures=$(grep -c ^FAIL err.txt)
[ "$(tail -n 1 out.txt)" = "4 passed, $failures failed" ] || fail "check: $(tail -n 1 out.txt)"
[ "$failures" -eq "$(($(wc -l <expected) - 1))" ] || fail "check: $failures failed"

# --- Weights, which only some commands read
mkdir weights
cp good/resnet.pb good/resnet.safetensors weights
rm weights/resnet.safetensors
expect_error "weights/resnet.safetensors: No such file" convert weights/resnet.pb copy.pb
head -c 1000 good/resnet.safetensors >weights/resnet.safetensors
expect_error "weights/resnet.safetensors: not the weights that resnet.pb was written with" convert weights/resnet.pb copy.pb

# --- Paths
expect_error "nowhere: no such file or folder" show nowhere
# Other inputs are still processed.
run check good nowhere
[ "$code" -eq 2 ] || fail "check good nowhere: exit code $code"
grep -qx "FAIL nowhere: no such file or folder" err.txt || fail "check good nowhere: $(cat err.txt)"
[ "$(tail -n 1 out.txt)" = "4 passed, 1 failed" ] || fail "check good nowhere: $(tail -n 1 out.txt)"
mkfifo pipe
expect_error "pipe: not a regular file" show pipe
expect_error "/dev/zero: not a regular file" show /dev/zero
printf 'graphnet.module 1\n\x1b[31m' >$'new\nline\x1b[31m.txt'
expect_error 'new\nline\x1b[31m.txt:2:1: ' show $'new\nline\x1b[31m.txt'
mkdir loop
ln -s . loop/a
ln -s . loop/b
expect_error "loop: no samples in this folder" check loop
echo PASSED
