#!/usr/bin/env bash
# `graphnet hash` and `graphnet diff`, end to end.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() {
  echo "FAILED: $1" >&2
  exit 1
}
# code WANTED COMMAND...: the exit code is WANTED.
code() {
  local wanted=$1 got=0
  shift
  "$@" >out.txt 2>err.txt || got=$?
  [ "$got" -eq "$wanted" ] || fail "$* exits with $got: $(cat out.txt err.txt)"
}

cat >a.gn <<'EOF2'
attribute w : f32[4, 3, 3, 3]@cpu
graph @forward(%x : f32[2, 3, 8, 8]@cpu) {
  %w = get_attr w
  %c = torch.conv2d(%x, %w, None, padding = 1) at "net.py":7
  %r = torch.nn.functional.relu(%c, inplace = True)
  %f = .flatten(%r, 1)
  return (%f,)
}
EOF2
cat >b.gn <<'EOF2'
attribute weight : f32[4, 3, 3, 3]@cpu
graph @forward(%input : f32[2, 3, 8, 8]@cpu) {
  %1 = get_attr weight
  %2 = aten._convolution.default(%input, %1, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True)
  %3 = aten.relu.default(%2)
  %4 = aten.view.default(%3, [2, -1])
  return %4
}
EOF2
sed 's/relu/gelu/; s/, inplace = True//' a.gn >c.gn

# It prints one line per input, like sha256sum.
"$graphnet" hash a.gn b.gn >hashes.txt
grep -qE '^[0-9a-f]{64}  a\.gn$' hashes.txt || fail "a line: $(cat hashes.txt)"
[ "$(cut -d' ' -f1 hashes.txt | sort -u | wc -l)" -eq 2 ] || fail "two ways to write it"
"$graphnet" hash --normal-form a.gn b.gn c.gn | cut -d' ' -f1 | sort | uniq -c | sort -n |
  awk '{print $1}' | paste -sd' ' | grep -qx '1 2' || fail "one normal form of a and b"
"$graphnet" hash --json a.gn | grep -q '"passed": 1' || fail "json"

# A TorchScript archive and its conversion.
code 0 "$graphnet" diff "$samples/resnet.pt" "$samples/resnet.pb"
grep -qx 'equal: 381 nodes' out.txt || fail "equal"

code 0 "$graphnet" diff --normal-form a.gn b.gn
code 1 "$graphnet" diff --normal-form a.gn c.gn
diff -u - out.txt <<'EOF2' || fail "the text of a diff"
~ %r = aten.relu.default(%c) : f32[2, 4, 8, 8]@cpu
    target: aten.relu.default became aten.gelu.default
0 removed, 0 added, 1 changed, 5 the same
EOF2
code 1 "$graphnet" diff --normal-form --json a.gn c.gn
grep -q '"changed": 1' out.txt || fail "json of a diff"
code 1 "$graphnet" diff --normal-form --format dot a.gn c.gn
grep -q '#fcf0c3' out.txt || fail "a changed node is yellow"
code 1 "$graphnet" diff a.gn b.gn --picture d.svg
[ -s d.svg ] || fail "a picture"
code 1 "$graphnet" diff a.gn b.gn --picture d.html
grep -qE '"notes":\{"[0-9]+":\["' d.html || fail "what differs on a page"
code 2 "$graphnet" diff a.gn nowhere.gn
code 1 "$graphnet" diff a.gn b.gn --picture d.html --side-by-side
grep -q '"pairs":\[0,0,' d.html || fail "both graphs on a page"
code 2 "$graphnet" diff a.gn b.gn --picture d.svg --side-by-side
code 2 "$graphnet" diff a.gn b.gn --picture d.txt

# The written sample computes the same.
code 0 "$graphnet" hash --normal-form "$samples/vit.pb" -o vit.pb
code 0 "$graphnet" diff-run "$samples/vit.pb" vit.pb
code 2 "$graphnet" hash "$samples/vit.pb" -o vit.pb

# --- Weights: one parameter of a checkpoint times two, one of another dtype, one that is new.
cat >checkpoint.py <<'END'
import json, struct, sys
def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    open(path, "wb").write(struct.pack("<Q", len(head)) + head + data)
f32 = lambda *x: struct.pack("<%df" % len(x), *x)
f16 = lambda *x: struct.pack("<%de" % len(x), *x)
write("a.safetensors", {"b": ("F32", [2], f32(1, 2)), "h": ("F32", [1], f32(1.5)), "w": ("F32", [2], f32(1, 2))})
write("b.safetensors", {"b": ("F32", [2], f32(1, 2)), "h": ("F16", [1], f16(1.5)), "n": ("F32", [1], f32(0)),
                        "w": ("F32", [2], f32(2, 4))})
END
python3 checkpoint.py
code 1 "$graphnet" diff --weights a.safetensors b.safetensors
diff - out.txt <<'END' || fail "checkpoints"
~ h  f32[1] became f16[1], by at most 0
+ n  f32[1]
~ w  f32[2], by at most 2
2 of 3 weights that both have differ, by at most 2, 1 only in B
END
code 0 "$graphnet" diff --weights a.safetensors a.safetensors
grep -qx "weights are equal: 3" out.txt || fail "one checkpoint"
code 1 "$graphnet" diff --weights a.safetensors b.safetensors --json
python3 - <<'END' || fail "JSON of checkpoints: $(cat out.txt)"
import json
document = json.load(open("out.txt"))
assert not document["equal"] and document["weights"]["compared"] == 3
assert [(d["kind"], d["name"]) for d in document["weights"]["differences"]] == [
    ("changed", "h"), ("added", "n"), ("changed", "w")]
assert document["weights"]["differences"][0]["b"] == {"dtype": "float16", "shape": [1]}
END
code 2 "$graphnet" diff --weights a.safetensors b.safetensors --picture x.svg
code 2 "$graphnet" diff --weights a.safetensors missing.safetensors
# The graphs are equal, the weights are not.
"$graphnet" opt "$samples/resnet.pb" -p 'change-dtype{to=bf16}' -o half.pb >log.txt
code 1 "$graphnet" diff --weights "$samples/resnet.pb" half.pb
grep -qE '^~ conv1.weight  f32\[8, 3, 7, 7\] became bf16' out.txt || fail "resnet: $(head out.txt)"
[ "$("$graphnet" hash --weights "$samples/resnet.pb" half.pb | cut -d' ' -f1 | sort -u | wc -l)" -eq 2 ] ||
  fail "hash --weights"
# The format and the name do not matter.
"$graphnet" convert "$samples/resnet.pb" resnet.pt2
"$graphnet" convert resnet.pt2 resnet.pb
[ "$("$graphnet" hash --weights resnet.pt2 resnet.pb | cut -d' ' -f1 | sort -u | wc -l)" -eq 1 ] ||
  fail "hash --weights of two formats"
code 2 "$graphnet" hash --weights --normal-form half.pb
