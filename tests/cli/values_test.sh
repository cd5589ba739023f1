#!/usr/bin/env bash
# Values that a file should have and lacks: commands that need them stop and say so, and go on with
# --draw-weights. Values that lie beside a file are found.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $*" >&2; exit 1; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }
refused() {
  local expected=$1 out code=0
  shift
  out=$("$graphnet" "$@" 2>&1) || code=$?
  [ "$code" -ge 1 ] || fail "$* goes on: $out"
  contains "$out" "$expected"
}
# Writes an archive anew without the entries whose name has this part.
without() {
  python3 - "$@" <<'PY'
import sys, zipfile
source, made, part = sys.argv[1:]
with zipfile.ZipFile(source) as old, zipfile.ZipFile(made, "w") as new:
    left = [entry for entry in old.infolist() if part not in entry.filename]
    assert len(left) < len(old.infolist()), old.namelist()
    for entry in left: new.writestr(entry, old.read(entry))
PY
}
outputs() { "$graphnet" run "$1" -o "$scratch/out.safetensors" >/dev/null && sha256sum <"$scratch/out.safetensors"; }

# --- Archives of torch.export without the values, or without one of them.
"$graphnet" convert "$samples/resnet.pb" whole.pt2
one=$(python3 -c 'import zipfile
names = [n for n in zipfile.ZipFile("whole.pt2").namelist() if "data/weights/weight_" in n]
print(sorted(names)[0].split("data/weights/")[1])')
without whole.pt2 none.pt2 data/weights/
without whole.pt2 one.pt2 "data/weights/$one"
"$graphnet" decompose whole.pt2 --pieces 2 -o pieces >/dev/null
for archive in none.pt2 one.pt2; do
  refused "lacks" check $archive
  while read -r command; do
    rm -rf made made.*
    refused "--draw-weights draws what it lacks" ${command//IN/$archive}
    [ ! -e made.pb ] && [ ! -e made ] || [[ $command == bench* ]] || fail "$command left something"
    rm -rf made made.*
    code=0
    out=$("$graphnet" ${command//IN/$archive} --draw-weights 2>&1) || code=$?
    # Drawn weights are other weights than those of the archive, and lint finds that they are.
    [[ $command =~ ^(diff|validate|lint) ]] && [ "$code" -eq 1 ] && code=0
    [ "$code" -eq 0 ] || fail "$command --draw-weights: $out"
    ! grep -q 'the archive lacks' <<<"$out" || fail "$command --draw-weights: $out"
  done <<'COMMANDS'
run IN
bench IN --backend nope --warmup 0 --trials 1 -o made
diff-run whole.pt2 IN
diff whole.pt2 IN --weights
validate IN pieces --run
shard IN --mesh 2 --check
shapes IN
show IN --shapes
hash IN --weights
lint IN --rule finite-run
decompose IN --pieces 2 -o made
convert IN made.pb
opt IN --passes=dce -o made.pb
subgraph IN --range 0:3 -o made.pb
roundtrip IN -o made
COMMANDS
done
# What needs no values does not ask for them.
"$graphnet" show none.pt2 >/dev/null || fail "show"
"$graphnet" stats none.pt2 >/dev/null || fail "stats"

# --- A protobuf and the file of its weights: it is found, or the command says what is wrong.
expected=$(outputs "$samples/resnet.pb")
"$graphnet" convert "$samples/resnet.pb" beside.pb --strip-weights
drawn=$(outputs beside.pb)
[ "$drawn" != "$expected" ] || fail "drawn weights are those of the sample"
contains "$("$graphnet" run beside.pb 2>&1)" "weights are drawn"
cp "$samples/resnet.safetensors" beside.safetensors
[ "$(outputs beside.pb)" = "$expected" ] || fail "the values beside beside.pb are not found"
"$graphnet" diff-run "$samples/resnet.pb" beside.pb | grep -q 'o0 *bit-equal' || fail "diff-run"
[ "$("$graphnet" hash --weights beside.pb | cut -d' ' -f1)" = "$("$graphnet" hash --weights "$samples/resnet.pb" | cut -d' ' -f1)" ] || fail "hash"
"$graphnet" convert beside.pb text.gn
mv beside.safetensors text.safetensors
[ "$(outputs text.gn)" = "$expected" ] || fail "the values beside text.gn are not found"
# Other files may have this name: the results of a run.
"$graphnet" run beside.pb -o beside.safetensors >/dev/null
[ "$(outputs beside.pb)" = "$drawn" ] || fail "results are no weights"
edit() {
  python3 - "$samples/resnet.safetensors" beside.safetensors "$1" <<'PY'
import json, struct, sys
source, made, how = sys.argv[1:]
data = open(source, "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
names = sorted(name for name in header if name != "__metadata__" and len(header[name]["shape"]) == 4)
if how == "shape": header[names[0]]["shape"] = list(reversed(header[names[0]]["shape"])) + [1]
if how == "dtype": header[names[0]]["dtype"] = "I32"
if how == "name": header["another"] = header.pop(names[0])
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
tail = data[8 + size:]
open(made, "wb").write(struct.pack("<Q", len(text)) + text + (tail[:-4] if how == "short" else tail))
PY
}
for how in "shape:there, not f32[" "dtype:is i32[8, 3, 7, 7] there, not f32[8, 3, 7, 7]" "name:is not there" "short:beside.safetensors"; do
  edit "${how%%:*}"
  refused "${how#*:}" run beside.pb
  rm -rf made
  refused "beside.safetensors" bench beside.pb --backend nope --warmup 0 --trials 1 -o made
  "$graphnet" run beside.pb --draw-weights >/dev/null || fail "$how: --draw-weights"
  "$graphnet" show beside.pb >/dev/null || fail "$how: show"
done
# The file that a protobuf says that it has is gone.
cp "$samples/resnet.pb" gone.pb
refused "gone.safetensors" run gone.pb
contains "$("$graphnet" run gone.pb --draw-weights 2>&1)" "weights are drawn"

# --- show --shapes and shapes are one answer, also where sizes depend on values of weights.
cat >masked.gn <<'END'
graphnet.module 1

attribute ids : i64[100]@cpu
attribute mask : bool[100]@cpu
attribute table : f32[7, 4]@cpu as torch.nn.parameter.Parameter

graph @forward(%x : f32[100, 4]@cpu {mean = 0.0, std = 1.0}) {
  %table = get_attr table : f32[7, 4]@cpu
  %ids = get_attr ids : i64[100]@cpu
  %mask = get_attr mask : bool[100]@cpu
  %rows = aten.embedding.default(%table, %ids)
  %sum = aten.add.Tensor(%rows, %x)
  %kept = aten.index.Tensor(%sum, [%mask])
  %most = aten.max.default(%ids)
  %number = aten.item.default(%most)
  %zeros = aten.zeros.default([%number, 2])
  return (%kept, %zeros)
}
end
END
python3 - <<'PY'
import json, struct
parts = {"ids": ("I64", [100], struct.pack("<100q", *[6] * 100)),
         "mask": ("BOOL", [100], bytes([0] * 3 + [1] * 97)),
         "table": ("F32", [7, 4], struct.pack("<28f", *range(28)))}
header, data = {}, b""
for name, (dtype, shape, raw) in parts.items():
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
open("masked.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
PY
"$graphnet" convert masked.gn stored.pb
for sample in masked.gn stored.pb "$samples/bert.pb"; do
  "$graphnet" shapes "$sample" 2>/dev/null | grep -o '^ *%[^ ]* = .* : [a-z0-9]*\[[^]]*\]' >shapes.txt || fail "shapes of $sample"
  "$graphnet" show "$sample" --shapes | grep -o '^ *%[^ ]* = .* : [a-z0-9]*\[[^]]*\]' >shown.txt || fail "show of $sample"
  diff shapes.txt shown.txt || fail "two answers for $sample"
  [[ $sample == "$samples"/* ]] || grep -q '%kept = .* : f32\[97, 4\]' shown.txt || fail "$(cat shown.txt)"
done
