#!/usr/bin/env bash
# TorchScript archives in the forms of older releases of PyTorch, and archives that another tool has
# packed anew: every one is checked, shown, hashed, and run with PyTorch's results, bit for bit but for
# products, which another processor may round in another way. Exploits in these forms stay refused.
set -euo pipefail
graphnet=$PWD/$1
testdata=$PWD/$2
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

cat >equal.py <<'END'
"""Exits with 1 unless two files of safetensors have the same tensors, bit for bit; with `close`,
floats may differ by rounding."""
import json, math, struct, sys


def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = (entry["dtype"], entry["shape"], data[8 + size + begin:8 + size + end])
    return tensors


def same(x, y):
    form = {"F32": "f", "F64": "d"}.get(x[0])
    if x == y or sys.argv[3:] != ["close"] or form is None or x[:2] != y[:2]:
        return x == y
    pairs = zip(struct.iter_unpack(form, x[2]), struct.iter_unpack(form, y[2]))
    return all(math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) for (a,), (b,) in pairs)


x, y = read(sys.argv[1]), read(sys.argv[2])
assert x.keys() == y.keys() and all(same(x[name], y[name]) for name in x), sys.argv[1:]
END

cat >pack.py <<'END'
"""Packs an archive anew in the way that argv[3] names."""
import sys, zipfile

source, target, way = sys.argv[1:]
entries = [(info.filename, zipfile.ZipFile(source).read(info)) for info in zipfile.ZipFile(source).infolist()]
folder = entries[0][0].split("/")[0] + "/"
method = zipfile.ZIP_STORED if way in ("comment", "extra") else zipfile.ZIP_DEFLATED
if way == "reversed":
    entries.reverse()
if way == "folders":
    entries[:0] = [(folder, b""), (folder + "data/", b"")]
if way == "extra":
    entries += [(folder + name, b"x") for name in
                ("extra/notes.txt", "extra/NOTES.txt", "LICENSE", ".data/serialization_id", "data/.DS_Store")]
    entries += [("__MACOSX/._" + folder + "data.pkl", b"x"), (folder + "byteorder", b"little")]
with zipfile.ZipFile(target, "w", method) as out:
    for name, content in entries:
        info = zipfile.ZipInfo(name)
        info.compress_type = method
        if way == "comment":
            info.comment = b"of an entry"
        out.writestr(info, content)
    if way == "comment":
        out.comment = b"packed anew, with a comment of some length" * 40
if way == "stream":  # as a tool that cannot seek writes it
    class Pipe:
        def __init__(self, file): self.file = file
        def write(self, data): return self.file.write(data)
        def flush(self): self.file.flush()
    with zipfile.ZipFile(Pipe(open(target, "wb")), "w", method) as out:
        for name, content in entries:
            out.writestr(name, content)
END

"$graphnet" check "$testdata"/*.pt >log 2>&1 || fail "check: $(cat log)"
count=0
for archive in "$testdata"/*.pt; do
  name=$(basename "$archive" .pt)
  "$graphnet" run "$archive" --inputs "${archive%.pt}.in.safetensors" -o "$name.out.safetensors" >/dev/null ||
    fail "run $name"
  python3 equal.py "$name.out.safetensors" "${archive%.pt}.out.safetensors" close ||
    fail "$name has other outputs"
  count=$((count + 1))
done
((count >= 13)) || fail "only $count archives"

# --- A table of source positions that is not read costs one note, and nothing else ---------------

for name in unknown_table damaged_table; do
  "$graphnet" check "$testdata/$name.pt" >log 2>notes || fail "check $name"
  [ "$(grep -c "^note: .*$name.pt: the source lines are those of the code in the archive" notes)" = 1 ] ||
    fail "notes on $name: $(cat notes)"
  "$graphnet" diff "$testdata/$name.pt" "$testdata/$name.pt" >log 2>notes || fail "diff $name"
  [ "$(wc -l <notes)" = 1 ] || fail "notes of diff: $(cat notes)"
done
"$graphnet" check "$testdata/version_1.pt" "$testdata/mobile.pt" >log 2>notes
[ ! -s notes ] || fail "a note on a good table: $(cat notes)"

# --- Packed anew ---------------------------------------------------------------------------------

for way in comment deflated reversed folders extra stream; do
  python3 pack.py "$testdata/mobile.pt" packed.pt $way
  "$graphnet" run packed.pt --inputs "$testdata/mobile.in.safetensors" -o out.safetensors >/dev/null ||
    fail "run mobile, $way"
  python3 equal.py out.safetensors mobile.out.safetensors || fail "mobile, $way, has other outputs"
done

# --- A deflated .pt2 is the same program, too --------------------------------------------------

"$graphnet" convert "$testdata/mobile.pt" net.pt2 --input 'x=f32[2,3]' >/dev/null
"$graphnet" run net.pt2 -o out.safetensors >/dev/null
for way in comment deflated reversed stream; do
  python3 pack.py net.pt2 packed.pt2 $way
  "$graphnet" run packed.pt2 -o again.safetensors >/dev/null || fail "run .pt2, $way"
  python3 equal.py out.safetensors again.safetensors || fail ".pt2, $way, has other outputs"
done

# --- Quantised programs ------------------------------------------------------------------------

for archive in "$testdata"/quantised_*.pt; do
  name=$(basename "$archive" .pt)
  for form in pb pt; do
    "$graphnet" convert "$archive" "$name.$form" >/dev/null || fail "convert $name to $form"
    "$graphnet" run "$name.$form" --inputs "${archive%.pt}.in.safetensors" -o out.safetensors >/dev/null ||
      fail "run $name as $form"
    python3 equal.py out.safetensors "$name.out.safetensors" || fail "$name as $form has other outputs"
  done
  "$graphnet" hash "$archive" "$name.pb" | cut -d' ' -f1 | uniq | wc -l | grep -qx 1 || fail "hash of $name"
done
"$graphnet" show "$testdata/quantised_2_1_static.pt" >log 2>&1
grep -q 'conv._packed_params.weight : i8\[4, 2, 3, 3\]' log || fail "no weight: $(cat log)"
grep -q 'conv._packed_params.weight.scales : f64\[4\]' log || fail "no scales: $(cat log)"
grep -q 'aten._make_per_channel_quantized_tensor.default(.*, 0)' log || fail "no axis: $(cat log)"
grep -q 'quantized.conv2d_prepack.default(.*, \[1, 1\], \[0, 0\], \[1, 1\], 1)' log || fail "no packing: $(cat log)"
if "$graphnet" convert "$testdata/quantised_2_1_static.pt" no.pt2 --input 'x=f32[2,2,5,5]' >log 2>&1; then
  fail "a quantised .pt2"
fi
grep -q 'torch.export has no dtype quint8' log || fail "why no .pt2: $(cat log)"

cat >hostile.py <<'END'
"""Changes the state of a quantised program, or the code that takes it. argv: source, target, kind."""
import sys, zipfile

source, target, kind = sys.argv[1:]
with zipfile.ZipFile(source) as read:
    entries = {info.filename: read.read(info) for info in read.infolist()}
end, old, new = {
    "groups": ("data.pkl", b"K\x01X\x05\0\0\0zeros", b"K\x00X\x05\0\0\0zeros"),
    "more_groups": ("data.pkl", b"K\x01X\x05\0\0\0zeros", b"K\x03X\x05\0\0\0zeros"),
    "stride": ("data.pkl", b"K\x01K\x01\x86", b"K\x00K\x01\x86"),
    "from_file": ("modules/conv.py", b"_16 = ops.quantized.conv2d_prepack(w, ",
                  b'_98 = torch.from_file("/etc/passwd", False, 10, dtype=0)\n'
                  b"      _16 = ops.quantized.conv2d_prepack(_98, "),
    "attribute": ("modules/conv.py", b"self.stride = (state)[3]", b"self.stride = (state)[6]"),
    "no_attribute": ("modules/conv.py", b"    self.zero_point = (state)[13]\n", b""),
    "loop": ("modules/conv.py", b"    self.zero_point = (state)[13]\n", b"    _9 = (self).__setstate__(state, )\n"),
    "recursion": ("modules/conv.py", b"      stride = self.stride\n",
                  b"      _99 = (self).set_weight_bias(w, b, )\n      stride = self.stride\n"),
    "class": ("data.pkl", b"LinearPackedParamsBase", b"LinearPackedParamsBasf"),
}[kind]
name = next(name for name in entries if name.endswith(end))
assert old in entries[name], kind
entries[name] = entries[name].replace(old, new, -1 if kind == "recursion" else 1)
with zipfile.ZipFile(target, "w") as out:
    for name, content in entries.items():
        out.writestr(name, content)
END
for kind in groups more_groups stride from_file attribute no_attribute loop recursion class; do
  python3 hostile.py "$testdata/quantised_2_1_static.pt" "hostile_$kind.pt" "$kind"
done
code=0
"$graphnet" check hostile_*.pt >log 2>&1 || code=$?
((code == 1 || code == 2)) || fail "hostile quantised programs: exit code $code: $(cat log)"
grep -q '^0 passed, 9 failed' log || fail "hostile quantised programs: $(cat log)"
for why in '4 channels do not make 0 groups' '4 channels do not make 3 groups' 'stride is 0, not within' \
  'calls aten::from_file, which only a run may do' 'mentions __setstate__' \
  'a class that the archive may not use'; do
  grep -q "$why" log || fail "not refused because of '$why': $(cat log)"
done

# --- Exploits in old forms ---------------------------------------------------------------------

cat >exploit.py <<'END'
"""Changes an archive so that it would do harm. argv: source, target, kind."""
import sys, zipfile

source, target, kind = sys.argv[1:]
with zipfile.ZipFile(source) as read:
    entries = {info.filename: read.read(info) for info in read.infolist()}
folder = next(iter(entries)).split("/")[0] + "/"
code = entries[folder + "code/__torch__.py"].decode()
data = entries[folder + "data.pkl"]
body = code.index("  def forward(")
read_file = 'torch.from_file("/etc/passwd", False, 10, dtype=0)'
if kind == "setstate":
    code = code[:body] + (
        "  def __setstate__(self: __torch__.M,\n    state: Tensor) -> NoneType:\n"
        f"    self.w = {read_file}\n    return None\n") + code[body:]
elif kind == "default":
    code = code.replace("x: Tensor)", f"x: Tensor={read_file})")
elif kind == "version":
    code = "op_version_set = torch.rand([1])\n" + code.replace("op_version_set = 1\n", "")
elif kind == "class":
    data = data.replace(b"c__torch__\nM\n", b"c__torch__.torch.classes.dist_rpc\nWorkerInfo\n")
elif kind == "bounds":
    data = data.replace(b"QK\x00(K\x03t", b"QK\x01(K\x03t")
elif kind == "global":
    data = data.replace(b"ctorch._utils\n_rebuild_tensor_v2\n", b"cposix\nsystem\n")
elif kind == "outside":
    entries[folder + "code/m.py"] = b"class M(Module):\n  pass\n"
elif kind == "case":
    entries[folder + "Code/__torch__/N.py"] = b"class M(Module):\n  pass\n"
before = (entries[folder + "code/__torch__.py"], entries[folder + "data.pkl"], len(entries))
entries[folder + "code/__torch__.py"] = code.encode()
entries[folder + "data.pkl"] = data
size = 10 if kind in ("outside", "case") else 0
assert size or before[:2] != (code.encode(), data), "nothing has changed"
with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as out:
    for name, content in entries.items():
        out.writestr(name, content)
END

exploits=0
for form in version_1 version_2_flat version_3_flat unknown_table mobile; do
  for kind in setstate default version class bounds global outside case; do
    python3 exploit.py "$testdata/$form.pt" "exploit_${form}_$kind.pt" $kind
    exploits=$((exploits + 1))
  done
done
code=0
"$graphnet" check exploit_*.pt >log 2>&1 || code=$?
((code == 2 || code == 1)) || fail "exploits: exit code $code: $(cat log)"
grep -q "^0 passed, $exploits failed" log || fail "exploits: $(cat log)"
echo "$count archives, $exploits exploits"
