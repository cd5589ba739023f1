#!/usr/bin/env bash
# `graphnet compose` of models, end to end.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() {
  echo "FAILED: $1" >&2
  cat out.txt err.txt >&2 || true
  exit 1
}
# code WANTED COMMAND...: the exit code is WANTED.
code() {
  local wanted=$1 got=0
  shift
  "$@" >out.txt 2>err.txt || got=$?
  [ "$got" -eq "$wanted" ] || fail "$* exits with $got"
}

# Two models whose values, symbols, attributes and inputs have the same names.
cat >a.gn <<'END'
graphnet.module 1

symbol s0 = 3
symbol s1 = 5
relation s0 >= 2

attribute fc.weight : f32[6, 4]@cpu as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}

graph @forward(%x : f32[s0, 4]@cpu {mean = 0.0, std = 1.0}, %z : f32[s1]@cpu {mean = 0.0, std = 1.0}) {
  %w = get_attr fc.weight : f32[6, 4]@cpu
  %h = aten.linear.default(%x, %w) : f32[s0, 6]@cpu
  %r = aten.relu.default(%h) : f32[s0, 6]@cpu in relu
  %q = aten.sin.default(%z) : f32[s1]@cpu
  return (%r, %q)
}
end
END
cat >b.gn <<'END'
graphnet.module 1

symbol s0 = 7
symbol s1 = 2

attribute fc.weight : f32[2, 6]@cpu as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}

graph @forward(%x : f32[s0, 6]@cpu {mean = 0.0, std = 1.0}, %z : f32[s1]@cpu {mean = 0.0, std = 1.0}) {
  %w = get_attr fc.weight : f32[2, 6]@cpu
  %h = aten.linear.default(%x, %w) : f32[s0, 2]@cpu
  %n = aten.reshape.default(%h, [sym(s0*2)]) : f32[s0*2]@cpu
  %e = aten.exp.default(%z) : f32[s1]@cpu
  return (%n, %e)
}
end
END
code 0 "$graphnet" compose a.gn b.gn --connect r:x -o both.gn
grep -q '^2 models, 6 operators$' out.txt || fail "counted"
grep -q 'not returned any more: a.q' out.txt || fail "what is lost is told"
for line in 'symbol s1_1 = 2' 'relation s0 >= 2' 'attribute a.fc.weight : f32\[6, 4\]' \
  'attribute b.fc.weight : f32\[2, 6\]' '%z_1 : f32\[s1_1\]@cpu' \
  'aten.linear.default(%r, %w_1) : f32\[s0, 2\]@cpu in b' 'f32\[s0, 6\]@cpu in a.relu' \
  'reshape.default(%h_1, \[sym(s0\*2)\])'; do
  grep -q "$line" both.gn || fail "no $line: $(cat both.gn)"
done
"$graphnet" check both.gn >out.txt 2>err.txt || fail "it is a sample"

# It computes what the models compute one after the other, with their weights, in bits.
cat >head.gn <<'END'
graphnet.module 1

graph @forward(%mask : f32[1, 2, 64, 64]@cpu {mean = 0.0, std = 1.0}) {
  %relu_ = torch.tanh(%mask) : f32[1, 2, 64, 64]@cpu
  return (%relu_,)
}
end
END
code 0 "$graphnet" compose "$samples/unet.pb" head.gn -o both.pb
[ -s both.safetensors ] || fail "weights"
code 0 "$graphnet" compose "$samples/unet.pb" head.gn -o both.pt2
python3 - <<'END'
import json, struct
text = json.dumps({"image": {"dtype": "F32", "shape": [1, 1, 64, 64], "data_offsets": [0, 16384]}}).encode()
image = struct.pack("<4096f", *[(i * 37 % 101) / 50 - 1 for i in range(4096)])
open("image.in", "wb").write(struct.pack("<Q", len(text)) + text + image)
END
"$graphnet" run "$samples/unet.pb" --inputs image.in -o unet.out >/dev/null
python3 - <<'END'
data = open("unet.out", "rb").read()
import json, struct
size = int.from_bytes(data[:8], "little")
head = json.loads(data[8:8 + size])
text = json.dumps({"mask": head["o0"]}).encode()
open("mask.in", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
END
"$graphnet" run head.gn --inputs mask.in -o head.out >/dev/null
"$graphnet" run both.pb --inputs image.in -o both.out >/dev/null
cmp head.out both.out || fail "other values"
"$graphnet" run both.pt2 --inputs image.in -o both2.out >/dev/null
cmp head.out both2.out || fail "other values of the .pt2"

# Three models, one of them twice; without --connect, one value goes to one input.
code 0 "$graphnet" compose a.gn b.gn b.gn --connect 1.r:2.x --connect 1.r:3.x -o three.gn
grep -q 'attribute b_2.fc.weight' three.gn || fail "a model twice"
cat >c.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[4]@cpu {mean = 0.0, std = 1.0}) {
  %y = torch.tanh(%x) : f32[4]@cpu
  return (%y,)
}
end
END
code 0 "$graphnet" compose c.gn c.gn c.gn -o chain.gn
[ "$(grep -c torch.tanh chain.gn)" -eq 3 ] || fail "a chain"
code 0 "$graphnet" compose c.gn c.gn -o json.gn --json
python3 -c 'import json; d = json.load(open("out.txt")); assert (d["models"], d["num_operators"], d["unused"]) == (2, 2, []), d'

# What is wrong is named, with both models and both sizes.
refused() {
  local says=$1
  shift
  code 2 "$graphnet" compose "$@" -o bad.gn
  grep -qF "$says" err.txt || fail "$* does not say: $says"
  [ ! -e bad.gn ] || fail "$* writes"
}
refused 'a returns 2 values and b takes 2; --connect OUT:IN says which' a.gn b.gn
refused 'b.x cannot take a.q: its rank is 2, not 1' a.gn b.gn --connect q:x
refused 'c.x cannot take a.r: its rank is 1, not 2' a.gn c.gn --connect r:x
refused 'b takes no nox' a.gn b.gn --connect r:nox
refused 'a returns no nor; it returns r, q' a.gn b.gn --connect nor:x
refused 'b.n cannot be an input of a, which runs before' a.gn b.gn --connect 2.n:1.x
refused 'r is not OUT:IN' a.gn b.gn --connect r
refused 'b.x is connected twice' a.gn b.gn --connect r:x --connect q:x
refused 'there is no model 9 of 2' a.gn b.gn --connect r:9.x
refused 'models 2 and 3 have an input x; say 2.x or 3.x' a.gn b.gn b.gn --connect r:x
refused 'give a folder of pieces, or two or more models' a.gn
sed 's/f32\[s0, 6\]@cpu {mean/f32[s0, 5]@cpu {mean/; s/f32\[2, 6\]/f32[2, 5]/g' b.gn >five.gn
refused 'five.x cannot take a.r: its size 1 is 5, not 6' a.gn five.gn --connect r:x
sed 's/%x : f32\[s0, 6\]/%x : bf16[s0, 6]/' b.gn >half.gn
refused 'half.x cannot take a.r: its dtype is bf16, not f32' a.gn half.gn --connect r:x
echo OK
