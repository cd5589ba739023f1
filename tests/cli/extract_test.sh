#!/usr/bin/env bash
# Extraction through the tool: extract, --explain, --check, run, and errors.
set -euo pipefail
graphnet=$1
make_archive=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }
# refused MESSAGE ARGUMENT…: the exit code is 2, and one line is printed.
refused() {
  local message=$1 out code=0
  shift
  out=$("$graphnet" extract "$@" 2>&1 >/dev/null) || code=$?
  [ "$code" = 2 ] || fail "exit code $code of: extract $*: $out"
  [ "$(grep -c . <<<"$out")" = 1 ] || fail "more than one line: $out"
  contains "$out" "$message"
}

"$make_archive" "$scratch/two.pt" <<'END'
def forward(self, x, n: int):
    y = x * self.weight
    print("one")
    if bool(y.sum() > -1000):
        y = y + n
    return y, [x]
END

for format in protobuf graphnet; do
  out=$("$graphnet" extract "$scratch/two.pt" -o "$scratch/$format" --input 'f32[2,3]' --input int=2 \
    --format "$format" --explain --check)
  contains "$out" "3 subgraphs of"
  contains "$out" "print: prim::Print"
  contains "$out" "branch-on-data: aten::Bool"
  contains "$out" "without it: one subgraph of"
  contains "$out" "the stitched program yields the same bits"
  [ -f "$scratch/$format/stitch.pb" ] && [ -f "$scratch/$format/stitch.json" ] || fail "no manifest"
  out=$("$graphnet" run "$scratch/$format")
  contains "$out" "one"
  contains "$out" "o1  f32[2, 3]"
done
[ -f "$scratch/graphnet/subgraph_1/graph_net.json" ] || fail "no sample"
"$graphnet" check "$scratch/graphnet/subgraph_0" >/dev/null
"$graphnet" run "$scratch/protobuf/subgraph_0.pb" >/dev/null

# Other options of run apply to the whole program, or are refused.
out=$("$graphnet" run "$scratch/protobuf" --repeat 3 --threads 1 --profile)
contains "$out" "3 subgraphs, 2 operations between them"
contains "$out" "median of 3"
contains "$out" "aten.mul.Tensor"
for option in '--device cuda:0' '--max-memory 64'; do
  code=0
  # shellcheck disable=SC2086
  out=$("$graphnet" run "$scratch/protobuf" $option 2>&1) || code=$?
  [ "$code" = 2 ] || fail "exit code $code with $option"
  contains "$out" "${option% *}: "
done

# Without a break, the result is a plain sample.
"$make_archive" "$scratch/none.pt" <<'END'
def forward(self, x):
    return torch.batch_norm(x, None, None, self.buffer, self.weight, False, 0.1, 1e-5, False)
END
"$graphnet" extract "$scratch/none.pt" -o "$scratch/flat" --input 'f32[2,3]' --format graphnet --check >/dev/null
[ -f "$scratch/flat/graph_net.json" ] || fail "not flat"
contains "$(cat "$scratch/flat/weight_meta.py")" "min_val = 0"
# It replaces an earlier extraction of another form.
"$graphnet" extract "$scratch/two.pt" -o "$scratch/flat" --input 'f32[2,3]' --input int=2 >/dev/null
[ ! -f "$scratch/flat/model.py" ] || fail "the earlier sample is still there"
"$graphnet" run "$scratch/flat" >/dev/null

# The inputs of the capture are kept to the last bit, because a number read from them is a guard.
"$make_archive" "$scratch/number.pt" <<'END'
def forward(self, x):
    n = float(x.max())
    print("largest", n)
    return x * n
END
"$graphnet" extract "$scratch/number.pt" -o "$scratch/number" --input 'f32[2]' >/dev/null
"$graphnet" run "$scratch/number" >/dev/null || fail "an extraction does not run on its own inputs"

# A dynamic size: a capture for 4 rows runs for 5, and refuses 1 with the reason.
"$make_archive" "$scratch/rows.pt" <<'END'
def forward(self, x):
    y = x.view(x.size(0) * 3, 1)
    print("rows", x.size(0))
    return y + 1
END
# rows N: makes an input of N rows.
rows() {
  local header="{\"x\":{\"dtype\":\"F32\",\"shape\":[$1,3],\"data_offsets\":[0,$((12 * $1))]}}"
  # shellcheck disable=SC2059
  printf "\\x$(printf %02x "${#header}")\\0\\0\\0\\0\\0\\0\\0%s" "$header"
  head -c $((12 * $1)) /dev/zero
}
for format in protobuf graphnet; do
  out=$("$graphnet" extract "$scratch/rows.pt" -o "$scratch/rows" --input 'f32[4,3]' \
    --dynamic 0:0=batch --format "$format" --check)
  contains "$out" "dynamic batch: 4 in the example"
  contains "$out" "requires batch >= 2"
  contains "$out" "the stitched program yields the same bits"
  rows 5 >"$scratch/rows.safetensors"
  out=$("$graphnet" run "$scratch/rows" --inputs "$scratch/rows.safetensors")
  contains "$out" "rows 5"
  contains "$out" "o0  f32[15, 1]"
  rows 1 >"$scratch/rows.safetensors"
  code=0
  out=$("$graphnet" run "$scratch/rows" --inputs "$scratch/rows.safetensors" 2>&1) || code=$?
  [ "$code" = 2 ] || fail "exit code $code: $out"
  contains "$out" "sizes: expected batch >= 2, found batch = 1"
done
"$make_archive" "$scratch/four.pt" <<'END'
def forward(self, x):
    if x.size(0) == 4:
        return x * 2
    return x
END
out=$("$graphnet" extract "$scratch/four.pt" -o "$scratch/four" --input 'f32[4,3]' --dynamic 0:0=batch)
contains "$out" "  requires batch == 4 (specialised)  <string>:2"
refused "expected input, dimension and name" "$scratch/rows.pt" -o "$scratch/e" --input 'f32[4,3]' --dynamic 0:0
refused "there is no dimension 2" "$scratch/rows.pt" -o "$scratch/e" --input 'f32[4,3]' --dynamic 0:2=n
refused "needs examples of one size" "$scratch/rows.pt" -o "$scratch/e" --input 'f32[1,3]' --dynamic 0:0=n

# A branch becomes torch.cond.
"$make_archive" "$scratch/branch.pt" <<'END'
def forward(self, x):
    if bool(x.sum() > 0):
        x = x + 1
    return x * 2
END
out=$("$graphnet" extract "$scratch/branch.pt" -o "$scratch/branch" --input 'f32[4,3]')
contains "$out" "branch-on-data"
out=$("$graphnet" extract "$scratch/branch.pt" -o "$scratch/branch" --input 'f32[4,3]' --cond --check)
contains "$out" "1 subgraphs of"
contains "$out" "the stitched program yields the same bits"
contains "$("$graphnet" show "$scratch/branch/subgraph_0.pb")" "torch.cond"
refused "cannot be combined" "$scratch/branch.pt" -o "$scratch/e" --input 'f32[4,3]' --cond --dynamic 0:0=n

# A loop has more iterations than are captured one by one.
"$make_archive" "$scratch/turns.pt" <<'END'
def forward(self, x):
    h = x[0]
    for i in range(x.size(0)):
        h = torch.tanh(x[i] + h)
    return h
END
for format in protobuf graphnet; do
  out=$("$graphnet" extract "$scratch/turns.pt" -o "$scratch/turns" --input 'f32[40,3]' --max-unroll 9 \
    --format "$format" --check)
  contains "$out" "subgraph_0      2"
  contains "$out" "the stitched program yields the same bits"
done
contains "$("$graphnet" show "$scratch/turns")" "torch.ops.higher_order.while_loop"
contains "$("$graphnet" extract "$scratch/turns.pt" -o "$scratch/turns" --input 'f32[40,3]')" "subgraph_0    121"

# Operators of quantised models need no trust, but for those that graphs may not call.
"$make_archive" "$scratch/packed.pt" <<'END'
def forward(self, x):
    packed = quantized.linear_prepack_fp16(torch.diag(self.weight), self.weight)
    return torch.relu(quantized.linear_dynamic_fp16(x + 1, packed))
END
out=$("$graphnet" extract "$scratch/packed.pt" -o "$scratch/packed" --input 'f32[2,3]' --check)
contains "$out" "the stitched program yields the same bits"
contains "$("$graphnet" run "$scratch/packed")" "f32[2, 3]"
"$make_archive" "$scratch/four_bits.pt" <<'END'
def forward(self, x):
    packed = quantized.embedding_bag_4bit_prepack(torch.ones([2, 4]))
    return torch.relu(quantized.embedding_bag_4bit_unpack(packed)).sum() + x
END
refused "quantized" "$scratch/four_bits.pt" -o "$scratch/four" --input 'f32[2,3]'
out=$("$graphnet" extract "$scratch/four_bits.pt" -o "$scratch/four" --input 'f32[2,3]' --check --trust)
contains "$out" "custom-operator (quantized::embedding_bag_4bit_prepack)"
contains "$out" "the stitched program yields the same bits"
contains "$("$graphnet" run "$scratch/four" --trust)" "f32[2, 3]"
"$graphnet" run "$scratch/four" >/dev/null 2>&1 && fail "ran what it was not trusted to run"

# Inputs can be structures.
"$make_archive" "$scratch/structures.pt" <<'END'
def forward(self, xs: List[Tensor], d: Dict[str, Tensor], sizes: List[int]):
    y = torch.cat(xs) * d["scale"]
    if bool(y.sum() > 1000):
        y = y + 1
    return y, sizes
END
out=$("$graphnet" extract "$scratch/structures.pt" -o "$scratch/structures" --check \
  --input 'list(f32[2,3],f32[1,3])' --input 'dict(scale=f32[3])' --input 'list()')
contains "$out" "branch-on-data"
contains "$out" "the stitched program yields the same bits"
contains "$("$graphnet" run "$scratch/structures")" "f32[3, 3]"
refused "no value for input xs.1" "$scratch/structures.pt" -o "$scratch/e" --input 'list(f32[2,3],list())' \
  --input 'dict(scale=f32[3])' --input 'list()'
refused "sizes: 0.5 is no integer" "$scratch/structures.pt" -o "$scratch/e" --input 'list(f32[2,3])' \
  --input 'dict(scale=f32[3])' --input 'list(0.5)'
refused "brackets do not match" "$scratch/structures.pt" -o "$scratch/e" --input 'list(f32[2,3]'

# Breaks are foretold without inputs, a folder or a run.
"$make_archive" "$scratch/foretold.pt" <<'END'
def forward(self, x, n: int):
    y = x * self.weight
    print("one")
    if n > 1:
        self.count += 1
    return y * y.sum().item()
END
out=$("$graphnet" extract "$scratch/foretold.pt" --foretell)
contains "$out" "print: prim::Print, always"
contains "$out" "number-from-tensor: aten::item, always"
contains "$out" "attribute-assigned: prim::SetAttr, where a branch is taken"
contains "$out" "where: the \`if\` holds, on the inputs, at "
contains "$out" "hint: keep it a tensor with one element"
contains "$out" "2 breaks always, 1 where a branch is taken; nothing was run"
if grep -qx one <<<"$out"; then fail "it ran"; fi
out=$("$graphnet" extract "$scratch/foretold.pt" --foretell --json)
contains "$(python3 -c 'import json, sys
breaks = json.load(sys.stdin)["breaks"]
print([(b["reason"], b["always"], b["line"], len(b["where"])) for b in breaks])' <<<"$out")" \
  "[('print', True, 3, 0), ('attribute-assigned', False, 5, 1), ('number-from-tensor', True, 6, 0)]"
contains "$("$graphnet" extract "$scratch/none.pt" --foretell)" "0 breaks always"
"$make_archive" "$scratch/raises.pt" <<'END'
def forward(self, x):
    assert False, "no"
    return x
END
contains "$("$graphnet" extract "$scratch/raises.pt" --foretell)" "no run gets to the end: an error ends each"
"$make_archive" "$scratch/method.pt" <<'END'
def other(self, x):
    return x
END
refused "the module has no method forward" "$scratch/method.pt" --foretell
echo "no archive" >"$scratch/text.pt"
refused "$scratch/text.pt" "$scratch/text.pt" --foretell
refused "foretelling takes more than 3 steps" "$scratch/foretold.pt" --foretell --max-steps 3
refused "excludes --foretell" "$scratch/foretold.pt" --foretell --input 'f32[3]'
refused "--out is required" "$scratch/foretold.pt" --input 'f32[3]'

# Errors.
"$make_archive" "$scratch/raises.pt" <<'END'
def forward(self, x):
    y = x + 1
    print("first")
    assert x.size(0) != 2, "two are too many"
    return y
END
refused "two are too many" "$scratch/raises.pt" -o "$scratch/raised" --input 'f32[2,3]'
[ -f "$scratch/raised/subgraph_0.pb" ] || fail "the finished subgraph is lost"
[ ! -f "$scratch/raised/stitch.pb" ] || fail "a manifest of half a run"
"$make_archive" "$scratch/endless.pt" <<'END'
def forward(self, x):
    i = 0
    while i >= 0:
        i = (i + 1) % 7
    return x + i
END
refused "an endless loop?" "$scratch/endless.pt" -o "$scratch/e" --input 'f32[3]' --max-steps 1000
refused "no --input for parameter n" "$scratch/two.pt" -o "$scratch/e" --input 'f32[2,3]'
refused "there are no more parameters" "$scratch/none.pt" -o "$scratch/e" --input 'f32[2,3]' --input int=1
refused "--input f99[2]" "$scratch/none.pt" -o "$scratch/e" --input 'f99[2]'
refused "running_mean should contain" "$scratch/none.pt" -o "$scratch/e" --input int=3  # a tensor without dimensions
refused "aten::batch_norm" "$scratch/none.pt" -o "$scratch/e" --input 'f32[2,5]'
mkdir "$scratch/other"
touch "$scratch/other/thesis.txt"
refused "not replaced, as it holds" "$scratch/none.pt" -o "$scratch/other" --input 'f32[2,3]'
if [ -w /dev/full ]; then
  refused "cannot create" "$scratch/none.pt" -o /dev/full/x --input 'f32[2,3]'
fi

# Damaged archives print one line and exit with 2.
for file in stitch.pb stitch.safetensors subgraph_1.pb; do
  rm -rf "$scratch/damaged"
  cp -r "$scratch/protobuf" "$scratch/damaged"
  head -c 12 "$scratch/protobuf/$file" >"$scratch/damaged/$file"
  code=0
  out=$("$graphnet" run "$scratch/damaged" 2>&1) || code=$?
  [ "$code" = 2 ] || fail "$file: exit code $code: $out"
done
rm "$scratch/protobuf/subgraph_1.pb"
code=0
out=$("$graphnet" run "$scratch/protobuf" 2>&1) || code=$?
[ "$code" = 2 ] || fail "exit code $code"
contains "$out" "subgraph_1 is missing"
echo PASSED
