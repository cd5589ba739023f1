#!/usr/bin/env bash
# Running graphs through the tool: run, shapes, diff-run, and TorchScript out.
set -euo pipefail
graphnet=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }

sample() {
  mkdir "$scratch/$1"
  cat >"$scratch/$1/model.py" <<END
import torch

class GraphModule(torch.nn.Module):
    def forward(self, x : torch.Tensor, s0 : torch.SymInt, w : torch.Tensor):
        linear = torch._C._nn.linear(x, w)
        relu = torch.nn.functional.relu(linear, inplace = True);  linear = None
        rand = torch.rand(3)
        add = relu + rand
        view = add.view($2)
        return (view, s0)
END
  for name in x w; do
    printf 'class Program_weight_tensor_meta_%s:\n    name = "%s"\n    shape = [3, 4]\n' $name $name
    printf '    dtype = "torch.float32"\n    device = "cuda:0"\n    mean = 0.5\n    std = 1.0\n    data = None\n'
  done >"$scratch/$1/weight_meta.py"
  printf 'class Program_weight_tensor_meta_s0:\n    name = "s0"\n    shape = []\n    dtype = "torch.int64"\n    device = "cpu"\n    data = [9]\n' \
    >>"$scratch/$1/weight_meta.py"
  : >"$scratch/$1/input_meta.py"
  : >"$scratch/$1/input_tensor_constraints.py"
  printf '{"framework": "torch", "model_name": "%s"}' "$1" >"$scratch/$1/graph_net.json"
}

sample good "s0, 1"
out=$("$graphnet" run "$scratch/good" --outputs "$scratch/a.safetensors" --seed 3 --profile)
contains "$out" "o0  f32[9, 1]"
contains "$out" "o1  i64[]"
contains "$out" "torch._C._nn.linear"
"$graphnet" run "$scratch/good" --outputs "$scratch/b.safetensors" --seed 3 --repeat 2 >/dev/null
cmp "$scratch/a.safetensors" "$scratch/b.safetensors" || fail "the same seed gives other outputs"
"$graphnet" run "$scratch/good" --outputs "$scratch/c.safetensors" --seed 4 >/dev/null
! cmp -s "$scratch/a.safetensors" "$scratch/c.safetensors" || fail "another seed gives the same outputs"

out=$("$graphnet" shapes "$scratch/good" 2>&1)
contains "$out" "%view = .view(%add, %s0, 1) : f32[9, 1]"
contains "$out" "5 values, at most"
out=$("$graphnet" shapes "$scratch/good" --check)
contains "$out" "5 passed, 0 failed"

out=$("$graphnet" diff-run "$scratch/good" "$scratch/good")
contains "$out" "o0   bit-equal"
sed 's/relu + rand/relu * rand/' "$scratch/good/model.py" >"$scratch/model.py"
sample other "s0, 1"
cp "$scratch/model.py" "$scratch/other/model.py"
if out=$("$graphnet" diff-run "$scratch/good" "$scratch/other"); then fail "no difference was found"; fi
contains "$out" "DIFFERENT: at most"

# It prints one line on stderr with the node, and writes no output file.
sample bad "7, 7"
if "$graphnet" run "$scratch/bad" --outputs "$scratch/d.safetensors" >"$scratch/out" 2>"$scratch/err"; then
  fail "a view of another size ran"
fi
contains "$(cat "$scratch/err")" "model.py:9:9: view (node view): shape '[7, 7]' is invalid"
[ ! -e "$scratch/d.safetensors" ] || fail "a failed run left outputs"

# --- A tensor of integers without dimensions is a size wherever PyTorch takes one.
while IFS='|' read -r call expected; do
  cat >"$scratch/size.gn" <<END
graph @forward(%x : f32[1, 4], %s : i64[] {min = 4, max = 4}) {
  $call
  return (%y,)
}
END
  out=$("$graphnet" run "$scratch/size.gn") || fail "$call: $out"
  contains "$out" "$expected"
done <<'END'
%y = .expand(%x, 3, %s)|f32[3, 4]
%y = .expand(%x, %s, -1)|f32[4, 4]
%y = .view(%x, %s, -1)|f32[4, 1]
%y = .view(%x, (%s, -1))|f32[4, 1]
%y = .reshape(%x, %s)|f32[4]
%y = .repeat(%x, %s, 1)|f32[4, 4]
%y = .new_zeros(%x, %s, 2)|f32[4, 2]
%y = torch.zeros(%s, 3)|f32[4, 3]
%y = torch.ones(%s)|f32[4]
%n = operator.add(%s, 1) %y = torch.zeros(%n, %s)|f32[5, 4]
%n = .item(%s) %y = .view(%x, %n, -1)|f32[4, 1]
%y = operator.getitem(%x, (0, slice(None, %s, 2)))|f32[2]
%y = torch.arange(%s)|i64[4]
END

# --- diff-run compares the samples as they are: each side has its own weights.
different() {
  local message=$1
  shift
  if out=$("$graphnet" diff-run "$@"); then fail "$*: no difference was found: $out"; fi
  contains "$out" "$message"
}
same() {
  out=$("$graphnet" diff-run "$@") || fail "$*: $out"
  contains "$out" "bit-equal"
}
# Another dtype: in protobuf, in a program of torch.export, and in folders, whose values are drawn.
"$graphnet" convert samples/resnet.pb "$scratch/whole.pt2"
"$graphnet" convert samples/resnet.pb "$scratch/whole" --lift >/dev/null
cp samples/resnet.{pb,safetensors} "$scratch"
for whole in resnet.pb whole.pt2 whole; do
  half=$scratch/half_$whole
  "$graphnet" opt "$scratch/$whole" -p 'change-dtype{to=bf16}' -o "$half" >/dev/null
  for inputs in "" "--inputs random"; do
    # shellcheck disable=SC2086
    different "weights differ, by at most " "$scratch/$whole" "$half" $inputs
    contains "$out" "f32 in A and bf16 in B"
    contains "$out" "1 of 1 inputs differ"
    contains "$out" "DIFFERENT in dtype, f32[1, 10] and bf16[1, 10]: at most "
    same "$half" "$half"
    ! grep -q ' differ,' <<<"$out" || fail "equal values differ: $out"
  done
done
# The weights of both sides can be chosen.
"$graphnet" opt "$scratch/resnet.pb" -p 'change-dtype{to=f16},change-dtype{to=f32}' -o "$scratch/other.pb" >/dev/null
different "weights differ, by at most " "$scratch/resnet.pb" "$scratch/other.pb"
for side in a b; do
  same "$scratch/resnet.pb" "$scratch/other.pb" --weights "$side"
  ! grep -q ' differ,' <<<"$out" || fail "the weights of one side differ: $out"
done
contains "$out" "A ran with the values of B for "
# The difference equals that of the outputs that run writes.
"$graphnet" run "$scratch/resnet.pb" -o "$scratch/a.safetensors" >/dev/null
"$graphnet" run "$scratch/half_resnet.pb" -o "$scratch/b.safetensors" >/dev/null
"$graphnet" diff-run "$scratch/resnet.pb" "$scratch/half_resnet.pb" --json >"$scratch/diff.json" || true
python3 - "$scratch" <<'END'
import json, struct, sys
def read(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    (entry,) = json.loads(data[8:8 + size]).values()
    raw = data[8 + size:]
    if entry["dtype"] == "BF16":
        raw = b"".join(b"\0\0" + raw[i:i + 2] for i in range(0, len(raw), 2))
    return struct.unpack(f"<{len(raw) // 4}f", raw)
a, b = read(sys.argv[1] + "/a.safetensors"), read(sys.argv[1] + "/b.safetensors")
found = json.load(open(sys.argv[1] + "/diff.json"))
largest = max(abs(x - y) for x, y in zip(a, b))
assert largest > 0 and abs(found["outputs"][0]["max_difference"] - largest) < 1e-9, (found, largest)
assert found["weights"]["different"] == found["weights"]["different_dtype"] > 0, found
assert found["inputs"] == {"compared": 1, "different": 1, "max_difference": found["inputs"]["max_difference"],
                           "different_dtype": 1, "different_shape": 0}, found
assert not found["equal"] and found["outputs"][0]["difference"] == "dtype", found
END
# Two checkpoints of one model: the weights of one are rounded.
cp samples/unet.{pb,safetensors} "$scratch"
"$graphnet" opt samples/unet.pb -p 'change-dtype{to=bf16},change-dtype{to=f32}' -o "$scratch/rounded.pb" >/dev/null
for order in "unet rounded" "rounded unet"; do
  read -r a b <<<"$order"
  different "weights differ, by at most 0.00" "$scratch/$a.pb" "$scratch/$b.pb"
  ! grep -q " in A" <<<"$out" || fail "dtypes differ: $out"
  contains "$out" "DIFFERENT: at most "
done
# A folder has no values. Drawn values stay the same, B takes the missing ones from A, and a note
# says so.
"$graphnet" convert samples/unet.pb "$scratch/unet_folder" --lift >/dev/null
same samples/unet.pb "$scratch/unet_folder"
contains "$out" "note: B has no values for "
same "$scratch/unet_folder" samples/unet.pb
contains "$out" "note: A has no values for "
same "$scratch/unet_folder" "$scratch/unet_folder"
! grep -q "note: [AB] has no" <<<"$out" || fail "drawn values are told as taken: $out"
# Dtypes and shapes of outputs count, even if the numbers are equal.
cat >"$scratch/ints.gn" <<'END'
graph @forward(%x : i64[2, 3] {min = 0, max = 9}) {
  %y = torch.add(%x, 1)
  return (%y,)
}
END
sed 's/%y = torch.add(%x, 1)/%a = torch.add(%x, 1)\n  %y = .to(%a, torch.float64)/' "$scratch/ints.gn" >"$scratch/doubles.gn"
different "DIFFERENT in dtype, i64[2, 3] and f64[2, 3]: in no number" "$scratch/ints.gn" "$scratch/doubles.gn"
sed 's/%y = torch.add(%x, 1)/%a = torch.add(%x, 1)\n  %y = .reshape(%a, 6)/' "$scratch/ints.gn" >"$scratch/flat.gn"
different "DIFFERENT in shape, i64[2, 3] and i64[6]" "$scratch/ints.gn" "$scratch/flat.gn"
cat >"$scratch/nan.gn" <<'END'
graph @forward(%x : f32[2, 3] {mean = 1.0, std = 0.0}) {
  %y = torch.sub(%x, 2.0)
  %z = torch.sqrt(%y)
  return (%z, %y)
}
END
same "$scratch/nan.gn" "$scratch/nan.gn"
sed 's/torch.sqrt/torch.neg/' "$scratch/nan.gn" >"$scratch/neg.gn"
different "DIFFERENT: at most inf" "$scratch/nan.gn" "$scratch/neg.gn"
# Weights that become inputs round like the parameters that they replace.
cat >"$scratch/linear.gn" <<'END'
attribute w : f32[24, 8] as torch.nn.parameter.Parameter {std = 1.0}
graph @forward(%x : f32[2, 5, 8] {std = 5.0}) {
  %w = get_attr w
  %t = aten.transpose.int(%x, 0, 1)
  %y = aten.linear.default(%t, %w, None)
  return (%y,)
}
END
"$graphnet" opt "$scratch/linear.gn" --passes=lift-attributes -o "$scratch/lifted.gn" >/dev/null
"$graphnet" opt "$scratch/lifted.gn" --passes=rename -o "$scratch/renamed.gn" >/dev/null
"$graphnet" convert "$scratch/linear.gn" "$scratch/linear" --lift >/dev/null
for other in lifted.gn renamed.gn linear; do
  same "$scratch/linear.gn" "$scratch/$other"
  same "$scratch/$other" "$scratch/linear.gn"
done
"$graphnet" run "$scratch/linear.gn" -o "$scratch/a.safetensors" >/dev/null
"$graphnet" run "$scratch/lifted.gn" -o "$scratch/b.safetensors" >/dev/null
cmp "$scratch/a.safetensors" "$scratch/b.safetensors" || fail "a lifted parameter rounds otherwise"
"$graphnet" shard "$scratch/linear.gn" --mesh 2 --check >/dev/null || fail "ranks of an undivided linear differ"

# The memory plan refuses it before the first operator.
cat >"$scratch/large.txt" <<'END'
graphnet.module 1

graph @forward(%x : f32[2]) {
  %z = torch.zeros((1024, 1024))
  %y = .sum(%z)
  return (%y,)
}
end
END
"$graphnet" run "$scratch/large.txt" --max-memory 8 >/dev/null
if out=$("$graphnet" run "$scratch/large.txt" --max-memory 3 2>&1); then fail "ran beyond --max-memory"; fi
contains "$out" "would need 4.0 MiB for its tensors; 3.0 MiB may be used"

# Inputs as words: in order, by name, for lists; a file has the same names.
cat >"$scratch/list.txt" <<'END'
graph @forward(%xs as "List[Tensor]", %y, %n as int) {
  %c = torch.cat(%xs)
  %s = operator.mul(%c, %n)
  %r = operator.add(%s, %y)
  return (%r,)
}
END
words=(--input 'list(f32[2,4],f32[3,4])' --input y=f32[4] --input int=3)
out=$("$graphnet" run "$scratch/list.txt" "${words[@]}" -o "$scratch/list.safetensors")
contains "$out" "o0  f32[5, 4]"
python3 - "$scratch/given.safetensors" <<'END'
import json, struct, sys
names = {"xs.0": [1, 4], "xs.1": [1, 4], "y": [4]}
header, begin = {}, 0
for name, shape in names.items():
    header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, begin + 16]}
    begin += 16
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<12f", *range(12)))
END
out=$("$graphnet" run "$scratch/list.txt" --inputs "$scratch/given.safetensors" --input n=int=2 -o "$scratch/list.safetensors")
contains "$out" "o0  f32[2, 4]"
python3 - "$scratch/list.safetensors" <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
found = struct.unpack("<8f", data[-32:])
wanted = tuple(2.0 * x + (8 + x % 4) for x in range(8))
assert found == wanted, (found, wanted)
END
refused() {
  local message=$1
  shift
  if out=$("$graphnet" "$@" 2>&1); then fail "$*: was not refused"; fi
  contains "$out" "$message"
}
refused "no input z; did you mean y?" run "$scratch/list.txt" --input z=f32[4]
refused "there is no input for it" run "$scratch/list.txt" "${words[@]}" --input f32[1]
refused "xs is annotated List[Tensor]" run "$scratch/list.txt" --input f32[4]
refused ": its elements are not known; give them, for example --input 'xs=list(" run "$scratch/list.txt"
refused "give it, for example --input y=f32[" run "$scratch/list.txt" --input 'list(f32[2,4])'
refused "x is known to be f32[3,4]" run "$scratch/good" --input x=f32[3]
out=$("$graphnet" shapes "$scratch/list.txt" "${words[@]}" 2>/dev/null)
contains "$out" "%r = operator.add(%s, %y) : f32[5, 4]"
out=$("$graphnet" diff-run "$scratch/list.txt" "$scratch/list.txt" "${words[@]}")
contains "$out" "o0   bit-equal"

# Nested tensors, which an encoder with a padding mask makes internally, and sparse ones.
cat >"$scratch/nested.txt" <<'END'
graph @forward(%x : f32[2, 3, 4]@cpu) {
  %m = torch.tensor([[True, True, False], [True, True, True]])
  %n = torch._nested_tensor_from_mask(%x, %m)
  %r = torch.relu(%n)
  %p = aten.to_padded_tensor.default(%r, 0.0, [2, 3, 4])
  %s = .to_sparse(%p)
  %t = aten.neg.default(%s)
  %d = .to_dense(%t)
  return (%p, %d)
}
END
contains "$("$graphnet" run "$scratch/nested.txt" 2>"$scratch/err.txt")" "o0  f32[2, 3, 4]"
! grep -q '\[W' "$scratch/err.txt" || fail "PyTorch warns: $(cat "$scratch/err.txt")"
contains "$("$graphnet" shapes "$scratch/nested.txt" --check 2>/dev/null)" "0 failed"
out=$("$graphnet" diff-run "$scratch/nested.txt" "$scratch/nested.txt" 2>/dev/null) || fail "$out"
contains "$out" "o0   bit-equal"
contains "$out" "o1   bit-equal"
"$graphnet" decompose "$scratch/nested.txt" -o "$scratch/nested" --pieces 2 --to protobuf >/dev/null 2>&1
contains "$("$graphnet" validate "$scratch/nested.txt" "$scratch/nested" --run 2>/dev/null)" "2 of 2 outputs bit-equal"

# A program is captured once, compiled, and called again; all calls are compared with LibTorch.
four_calls() {
  out=$("$graphnet" run samples/$1.pt --backend $2 --repeat 4 --check --json) || fail "$1: $out"
  python3 - $2 "$out" <<'END' || fail "$1: $out"
import json, sys
sample = json.loads(sys.argv[2])["samples"][0]
assert sample["backend"] == sys.argv[1]
assert [call["hit"] for call in sample["calls"]] == [False, True, True, True], sample["calls"]
assert sample["calls"][0]["compiled"] > 0
assert all(call["compiled"] == 0 for call in sample["calls"][1:])
assert all(call["right"] for call in sample["calls"])
END
}
backend=jit
! "$graphnet" run samples/resnet.pt --backend openvino >/dev/null 2>&1 || backend=openvino
four_calls resnet $backend
if [ $backend = openvino ]; then  # A cache behind a URL.
  "$graphnet" run samples/resnet.pt --backend openvino --cache "$scratch/made" >/dev/null
  digest=$("$graphnet" backends --index-cache "$scratch/made")
  python3 -u -m http.server --bind 127.0.0.1 --directory "$scratch/made" 0 >"$scratch/served" 2>&1 &
  server=$!
  until grep -q "port" "$scratch/served"; do sleep 0.1; done
  url=http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\).*/\1/p' "$scratch/served")
  from() {
    "$graphnet" run samples/resnet.pt --backend openvino --cache "$1" --cache-url "$url" \
      --trust-cache "$2" --json 2>&1 || true
  }
  contains "$(from "$scratch/fetched" "$digest")" '"from_cache": 1'
  contains "$(from "$scratch/refused" "${digest/?/x}")" "64 hexadecimal digits"
  contains "$(from "$scratch/refused" "$(printf '%064d' 0)")" "its index is not the trusted one"
  kill $server
  contains "$(from "$scratch/alone" "$digest")" "the cache behind this URL is not used any more"
fi
contains "$("$graphnet" run samples/resnet.pt --backend jit --cache-url http://h/ 2>&1)" \
  "--cache-url requires --"
four_calls detector jit
out=$("$graphnet" run samples/resnet.pt --backend nope --repeat 2 --check)
contains "$out" "right, off by 0"
contains "$out" "capture 1: 1 subgraphs, 0 operations between them"
contains "$("$graphnet" run samples/resnet.pb --backend jit 2>&1)" "--backend calls a TorchScript archive"
contains "$("$graphnet" run samples/resnet.pt --backend jut 2>&1)" "did you mean jit?"
contains "$("$graphnet" run samples/resnet.pt --check 2>&1)" "--check requires --backend"
contains "$(HOME=$scratch GRAPHNET_BACKENDS='' "$graphnet" run samples/resnet.pt --backend tvm 2>&1)" \
  "not installed: graphnet backends --install tvm"

# A graph may read files only with --trust-files.
printf 'graph!' >"$scratch/read"
printf 'graph @forward() {\n  %%y = fused.read_file("%s", size = 5)\n  return (%%y,)\n}\n' "$scratch/read" >"$scratch/read.gn"
contains "$("$graphnet" run "$scratch/read.gn" 2>&1)" \
  "fused.read_file (node y): aten::from_file reads a file, which needs --trust-files"
"$graphnet" run "$scratch/read.gn" --trust-files -o "$scratch/read.safetensors" >/dev/null
[ "$(tail -c 5 "$scratch/read.safetensors")" = graph ] || fail "read_file: other bytes"

# The samples describe their inputs well enough to run.
for model in resnet vit bert gpt detector unet; do
  "$graphnet" run samples/$model.pt -o "$scratch/pt.safetensors" >/dev/null
  "$graphnet" run samples/$model.pb -o "$scratch/pb.safetensors" >/dev/null
  cmp "$scratch/pt.safetensors" "$scratch/pb.safetensors" || fail "$model: .pt and .pb differ"
done
"$graphnet" convert samples/resnet.pt "$scratch/larger.pb" --input f32[2,3,64,64]
contains "$("$graphnet" run "$scratch/larger.pb")" "o0  f32[2, 10]"

"$graphnet" convert samples/resnet.pt "$scratch/resnet.pt"
contains "$("$graphnet" check "$scratch/resnet.pt")" "1 passed, 0 failed"
echo PASSED
