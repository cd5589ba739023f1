#!/usr/bin/env python3
"""Checkpoints that commands put into programs: --weights, --cast-weights, --partial, --draw-weights.

    tests/cli/weights_test.py GRAPHNET

The results are those of the same arithmetic in Python. tests/pytorch (suite weights) compares with
load_state_dict.
"""

import json
import os
import struct
import subprocess
import sys

graphnet, this = map(os.path.abspath, [sys.argv[1], sys.argv[0]])
os.chdir(os.environ["TEST_TMPDIR"])

# y = x * scale + net.shift, of two numbers each.
PROGRAM = """graphnet.module 1

attribute net.scale : f32[2] as torch.nn.parameter.Parameter
attribute net.shift : f32[2] as torch.Tensor

graph @forward(%x : f32[2]) {
  %scale = get_attr net.scale : f32[2]
  %shift = get_attr net.shift : f32[2]
  %mul = aten.mul.Tensor(%x, %scale) : f32[2]
  %add = aten.add.Tensor(%mul, %shift) : f32[2]
  return (%add,)
}
end
"""
# The same with inputs, as Dynamo names them.
SAMPLE = """graphnet.module 1

graph @forward(%x : f32[2], %L_self_modules_net_parameters_scale_ : f32[2], %L_self_modules_net_buffers_shift_ : f32[2]) {
  %mul = aten.mul.Tensor(%x, %L_self_modules_net_parameters_scale_) : f32[2]
  %add = aten.add.Tensor(%mul, %L_self_modules_net_buffers_shift_) : f32[2]
  return (%add,)
}
end
"""


def write(path, tensors):
    """Writes float32 tensors, or bytes of another dtype, as safetensors."""
    header, data = {}, b""
    for name, values in tensors.items():
        dtype, shape, content = values if isinstance(values, tuple) else (
            "F32", [len(values)], struct.pack(f"<{len(values)}f", *values))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    begin, end = header["o0"]["data_offsets"]
    return list(struct.unpack(f"<{(end - begin) // 4}f", data[8 + size + begin:8 + size + end]))


def call(*words, code=0):
    done = subprocess.run([graphnet, *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done)
    return done


def has(text, *parts):
    for part in parts:
        assert part in text, (part, text)


def outputs(program, *words):
    call("run", program, "--inputs", "x.safetensors", "-o", "out.safetensors", *words)
    return read("out.safetensors")


for path, text in {"p.gn": PROGRAM, "s.gn": SAMPLE}.items():
    with open(path, "w") as file:
        file.write(text)
write("x.safetensors", {"x": [1, 2]})
write("w.safetensors", {"net.scale": [3, 4], "net.shift": [0.5, 0.25]})
write("ddp.safetensors", {"module.net.scale": [3, 4], "module.net.shift": [0.5, 0.25], "module.n": [1]})
write("part.safetensors", {"net.scale": [3, 4]})
write("shape.safetensors", {"net.scale": [3, 4], "net.shift": [1, 2, 3]})
write("half.safetensors", {"net.scale": ("F16", [2], struct.pack("<2e", 3, 4)), "net.shift": [0.5, 0.25]})
write("two.safetensors", {f"{who}.net.{name}": [who == "a", 1] for who in "ab" for name in ["scale", "shift"]})
EXPECTED = [1 * 3 + 0.5, 2 * 4 + 0.25]

# --- run, convert and opt put it in alike.
assert outputs("p.gn", "--weights", "w.safetensors") == EXPECTED
assert outputs("s.gn", "--weights", "w.safetensors") == EXPECTED
assert outputs("p.gn", "--weights", "ddp.safetensors") == EXPECTED
assert outputs("p.gn", "--weights", "half.safetensors", "--cast-weights") == EXPECTED
for command in [["convert"], ["opt", "-p", "dce"]]:
    for out in ["made.pb", "made.pt2"]:
        call(*command, "p.gn", "-o", out, "--weights", "w.safetensors")
        assert outputs(out) == EXPECTED, (command, out)
        # Its values are replaced, and a program is a checkpoint, too.
        call(*command, out, "-o", "again.pb", "--weights", "two.safetensors#a")
        assert outputs("again.pb") == [1 * 1 + 1, 2 * 1 + 1]
        assert outputs("p.gn", "--weights", "again.pb") == [2, 3]
os.makedirs("many", exist_ok=True)
for name in "ab":
    with open(f"many/{name}.gn", "w") as file:
        file.write(PROGRAM)
call("convert", "many", "-o", "converted", "--to", "protobuf", "--weights", "w.safetensors")
assert outputs("converted/a.pb") == outputs("converted/b.pb") == EXPECTED
call("opt", "many", "-p", "dce", "-o", "opted", "--weights", "w.safetensors")
done = json.loads(call("run", "many", "--weights", "w.safetensors", "--json").stdout)
assert [sample["weights"]["num_put"] for sample in done["samples"]] == [2, 2]

# --- What was done is said.
has(call("run", "p.gn", "--weights", "ddp.safetensors").stdout,
    "weights: 2 of ddp.safetensors; module. is taken off; 1 of the file unused (module.n)")
found = json.loads(call("convert", "p.gn", "-o", "made.pb", "--weights", "ddp.safetensors", "--json").stdout)
assert found["samples"][0]["weights"] == {
    "file": "ddp.safetensors", "num_put": 2, "num_cast": 0, "prefix_removed": "module.", "missing": [], "kept": [],
    "unused": ["module.n"], "other_shape": [], "other_dtype": []}, found

# --- What does not fit is refused, unless the part is wanted; nothing is written then.
for file, said in {"part": "1 missing (net.shift); --partial takes what fits",
                   "shape": "1 of another shape (net.shift: f32[3] for f32[2]); --partial takes what fits",
                   "half": "1 of another dtype (net.scale: f16[2] for f32[2]); --cast-weights converts floats"}.items():
    words = ["--weights", f"{file}.safetensors"]
    for command in [["run", "p.gn"], ["convert", "p.gn", "-o", "no.pb"], ["opt", "p.gn", "-p", "dce", "-o", "no.pb"]]:
        has(call(*command, *words, code=1).stderr, f"FAIL p.gn: --weights {file}.safetensors: {said}")
    assert not os.path.exists("no.pb")
    found = json.loads(call("run", "p.gn", *words, "--json", code=1).stdout)
    assert found["failed"] == 1 and found["samples"][0]["weights"]["num_put"] == 1, found
    has(call("convert", "many", "-o", "no", "--to", "protobuf", *words, code=2).stderr, "FAIL many/a.gn", "failed 2: ")
has(call("run", "p.gn", "--weights", "part.safetensors", "--partial").stdout, "1 missing (net.shift)")
has(call("run", "p.gn", "--weights", "two.safetensors", code=2).stderr,
    "names are ambiguous: 2 weights get a value if a. is taken off, and as many if b. is taken off")
has(call("run", "p.gn", "--weights", "x.safetensors", code=2).stderr, "none of its 1 names is one of the program's")
has(call("run", "p.gn", "--weights", "p.gn", code=2).stderr, "p.gn: there are no tensors in this checkpoint")
has(call("run", "p.gn", "--weights", this, code=2).stderr, "not a checkpoint")
with open("old.pth", "wb") as file:
    file.write(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.")
has(call("run", "p.gn", "--weights", "old.pth", code=2).stderr, "a pickle, which is never executed; torch.save(")

# --- The index of several files.
write("1.safetensors", {"net.scale": [3, 4]})
write("2.safetensors", {"net.shift": [0.5, 0.25]})
for files, code in [(["1.safetensors", "2.safetensors"], 0), (["1.safetensors", "../2.safetensors"], 2)]:
    with open("m.safetensors.index.json", "w") as file:
        json.dump({"weight_map": dict(zip(["net.scale", "net.shift"], files))}, file)
    call("run", "p.gn", "--weights", "m.safetensors.index.json", code=code)

# --- Without values: the message says what gives them, and --draw-weights does.
has(call("convert", "p.gn", "-o", "no.pt2", code=2).stderr,
    "the value of net.scale is not known; --weights FILE gives it, or --draw-weights draws it")
has(call("run", "p.gn").stderr, "2 weights are drawn, as their values are not there; --weights FILE gives them")
call("run", "p.gn", "--inputs", "x.safetensors", "-o", "out.safetensors")
drawn = read("out.safetensors")
for out in ["drawn.pb", "drawn.pt2"]:
    has(call("convert", "p.gn", "-o", out, "--draw-weights").stdout, "2 weights are drawn")
    assert outputs(out) == drawn
    call("opt", "p.gn", "-p", "dce", "-o", out, "--draw-weights")
    assert outputs(out) == drawn
# A checkpoint beside the sample whose names have a prefix is not taken in silence.
call("convert", "p.gn", "bare.pb")
write("bare.safetensors", {"module.net.scale": [3, 4], "module.net.shift": [0.5, 0.25]})
has(call("run", "bare.pb").stderr, "bare.safetensors: not read, as it has no weight of the sample beside it by its name")
assert outputs("bare.pb", "--weights", "bare.safetensors") == EXPECTED
print("passed")
