#!/usr/bin/env bash
# opt, passes and lint end to end.
set -euo pipefail
graphnet=$PWD/$1
rules=$PWD/tests/passes/example.rules
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect CODE MESSAGE COMMAND…: the command exits with CODE, and the output contains MESSAGE.
expect() {
  local wanted=$1 message=$2 code=0
  shift 2
  "$graphnet" "$@" >out.txt 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || fail "$*: exit code $code, wanted $wanted: $(cat out.txt)"
  grep -qF -- "$message" out.txt || fail "$*: no '$message' in: $(cat out.txt)"
}

cat >in.gn <<'END'
graphnet.module 1

graph @forward(
  %x "L_x_" : f32[2, 4, 3]@cuda:0 as torch.Tensor {mean = 0.0, std = 1.0},
  %m "L_m_" : f32[4]@cuda:0 as torch.Tensor {mean = 0.0, std = 1.0},
  %v "L_v_" : f32[4]@cuda:0 as torch.Tensor {mean = 0.1, std = 1.0}
) {
  %log = torch._C._log_api_usage_once("python.nn_module")
  %norm = torch.nn.functional.batch_norm(%x, %m, %v, None, None, False, 0.1, 1e-05)
  %gelu = torch._C._nn.gelu(%norm, approximate = "tanh")
  %dead = torch.exp(%gelu)
  %relu = torch.relu(%gelu)
  %again = torch.relu(%relu)
  return (%again,)
}
end
END

# --- One sample.
expect 0 "stabilize" passes
expect 0 "Counter-example" passes stabilize
expect 2 'there is no pass "nothing"' passes nothing
expect 0 "stabilize: 1 torch._C._nn.gelu to torch.nn.functional.gelu" \
  opt in.gn --passes=stabilize,check-stable,dce -o out.gn --verify-each --timing
grep -q "torch.nn.functional.gelu" out.gn || fail "not stabilized"
! grep -q -e "_log_api" -e "%dead" out.gn || fail "what should go is there"
expect 0 "-   %dead" opt in.gn --passes=dce --dump-changes
"$graphnet" opt in.gn --passes=dce,stabilize --pass-limit 0 -o same.gn >/dev/null
"$graphnet" convert in.gn plain.gn
cmp same.gn plain.gn || fail "--pass-limit 0 changed something"
expect 0 "relu of relu" opt in.gn --passes="rewrite{rules=$rules}" -o ruled.gn
! grep -q "%again = torch.relu(%relu)" ruled.gn || fail "the rule was not applied"

# --- Rules come from a stream that is open, too.
expect 0 "relu of relu" opt in.gn --passes="rewrite{rules=/dev/stdin}" -o piped.gn <"$rules"
cmp ruled.gn piped.gn || fail "the rules of the standard input do something else"
expect 0 "relu of relu" opt in.gn --passes="rewrite{rules=/dev/fd/7}" -o piped.gn 7< <(cat "$rules")
cmp ruled.gn piped.gn || fail "the rules of a pipe do something else"

# --- For a rule that never matched, the standard error says why.
cat >never.rules <<'END'
rule never
where %x: bf16
graph @pattern(%x, **%rest) {
  %y = torch._C._nn.gelu|torch.nn.functional.gelu(%x, **%rest)
  return %y
}
graph @replacement(%x, **%rest) {
  %y = lib.gelu(%x, **%rest)
  return %y
}
END
"$graphnet" opt in.gn --passes="rewrite{rules=never.rules}" >out.txt 2>err.txt
grep -q "warning: rewrite: rule never never matched: torch._C._nn.gelu occurs once, where nothing is known of %x: bf16" err.txt ||
  fail "no reason: $(cat err.txt)"
"$graphnet" opt in.gn --passes="rewrite{rules=never.rules}" --json >out.txt
grep -q '"kind": *"warning"' out.txt || fail "no kind: $(cat out.txt)"

# --- Another dtype, with weights, and another batch.
cat >model.gn <<'END'
graphnet.module 1

attribute w : f32[4, 4]@cpu as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}

graph @forward(%x : f32[1, 3, 4]@cpu as torch.Tensor {mean = 0.0, std = 5.0}) {
  %w = get_attr w
  %y = torch.nn.functional.linear(%x, %w) : f32[1, 3, 4]@cpu
  %v = .view(%y, 1, 12) : f32[1, 12]@cpu
  return (%v,)
}
end
END
expect 0 "change-dtype{to=bf16}" opt model.gn --passes="change-dtype{to=bf16}" -o half.gn --verify-each
expect 0 "bf16[1, 12]" run half.gn
expect 0 "bf16[1, 12]" shapes half.gn
expect 2 'to is bf16, f16, f32 or f64, not "i8"' opt model.gn --passes="change-dtype{to=i8}"
expect 2 "12" run model.gn --input "f32[5,3,4]"
expect 0 "sizes now follow that of the input" opt model.gn --passes=generalize-dims -o general.gn
expect 0 "f32[1, 12]" run general.gn
expect 0 "f32[5, 12]" run general.gn --input "f32[5,3,4]"
expect 0 "2 passed, 0 failed" check general.gn half.gn
# Sizes that the program does not state are inferred, whatever the calls are named.
cat >named.gn <<'END'
graph @forward(%x : f32[1, 4] {mean = 0.0, std = 1.0}) {
  %y = torch.relu(%x)
  return (%y,)
}
END
expect 0 "generalize-dims{to=3}" opt named.gn -p "generalize-dims{to=3}" -o grown.gn
expect 0 "f32[3, 4]" run grown.gn
# One word makes the batch dynamic; specialize makes it a number again.
expect 0 "generalize-dims{to=8}" opt model.gn -p "generalize-dims{to=8}" -o eight.gn
expect 0 "f32[8, 12]" run eight.gn
expect 0 "specialize" opt model.gn -p "generalize-dims{to=8},specialize" -o fixed.gn
expect 0 "f32[8, 12]" run fixed.gn
# Sizes that the engine infers are a change, too.
cat >unsized.gn <<'END'
symbol S0 = 2
graph @forward(%x : f32[S0, 3, 8, 8], %w : f32[4, 3, 3, 3] as torch.nn.parameter.Parameter) {
  %c = torch.conv2d(%x, %w)
  %y = torch.relu(%c)
  return (%y,)
}
END
expect 0 "generalize-dims        1   1     +0" opt unsized.gn -p generalize-dims --verify-each
expect 2 'to must be a size above 0, not "-1"' opt model.gn -p "generalize-dims{to=-1}"
expect 2 "dim has a number twice, or more than 8" opt model.gn -p "generalize-dims{dim=0+0}"
expect 2 "to has 1 sizes for 2 dimensions" opt model.gn -p "generalize-dims{dim=0+1,to=2}"
# A CNN as PyTorch writes it, without any sizes: batch, height and width grow at once.
cat >cnn.gn <<'END'
graph @forward(%x : f32[1, 3, 32, 32], %w : f32[8, 3, 3, 3] as torch.nn.parameter.Parameter) {
  %c = torch.conv2d(%x, %w, None, (2, 2), (1, 1))
  %r = torch.relu(%c)
  %g = torch.nn.functional.glu(%r, 1)
  %u = torch.nn.functional.interpolate(%g, scale_factor = 2.0)
  %p = torch.nn.functional.max_pool2d(%u, 4, 4)
  %f = .view(%p, 1, 4, 64)
  %t = .transpose(%f, 1, 2)
  %v = .reshape(%t, 64, 4)
  return (%v,)
}
END
expect 0 "sizes now follow" opt cnn.gn -p "generalize-dims{dim=0+2+3,inputs=x}" -o any.gn
expect 0 "f32[480, 4]" run any.gn --input "f32[3,3,40,64]"
cat >two.gn <<'END'
graph @forward(%x : f32[2, 4], %m : f32[4, 2]) {
  %t = .transpose(%m, 0, 1)
  %y = torch.mul(%x, %t)
  return (%y,)
}
END
expect 0 "other inputs grow, too" opt two.gn -p "generalize-dims{inputs=x,to=5}" -o tied.gn
expect 0 "f32[5, 4]" run tied.gn

# --- A check among the passes fails, wrong input is refused, nothing is written.
expect 1 "1 private call: torch._C._nn.gelu 1" opt in.gn --passes="check-stable{allow=_log_api_usage_once}" -o bad.gn
expect 2 'passes:1:5: there is no pass "decor"' opt in.gn --passes=dce,decor -o bad.gn
expect 2 "no such file" opt nowhere.gn --passes=dce -o bad.gn
expect 2 "no-such.rules" opt in.gn --passes="rewrite{rules=no-such.rules}" -o bad.gn
[ ! -e bad.gn ] || fail "an output in spite of the error"

# --- Folders of samples.
mkdir -p many/deep
"$graphnet" convert in.gn many/one
"$graphnet" convert in.gn many/deep/two
expect 0 "2 passed, 0 failed" opt many -o more --passes=rename,stabilize --jobs 2
grep -q "in_0: torch.Tensor" more/deep/two/model.py || fail "not renamed: $(cat more/deep/two/model.py)"
grep -q "original_name" more/one/weight_meta.py || fail "the original names are lost"
expect 1 "2 failed" opt many --passes=check-stable

# --- Lint lists findings without changing samples, and repairs them on request.
expect 1 "L_v_ is a variance, but may be drawn below 0" lint in.gn
expect 1 "norm = torch.nn.functional.batch_norm is the first with nan" lint in.gn --rule finite-run
expect 0 "fixed: " lint in.gn --rule bn-var -o constrained.gn
expect 0 "bn-var: 0 findings" lint constrained.gn --rule bn-var
expect 0 "finite-run: 0 findings" lint constrained.gn --rule finite-run
expect 0 "L_v_ is drawn at least 0" lint in.gn --rule finite-run -o repaired.gn
expect 0 "finite-run: 0 findings" lint repaired.gn --rule finite-run

# --fix writes in place. In a GraphNet folder it changes only lines of weight_meta.py.
mkdir fix
"$graphnet" convert in.gn fix/folder
"$graphnet" convert in.gn fix/a.pb
"$graphnet" convert in.gn fix/b.gn
cat >fix/roots.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[64] {mean = 0.0, std = 1.0}, %y : f32[1] {data = [-1.0]}) {
  %s = torch.sqrt(%x)
  %t = torch.log(%y)
  return (%s, %t)
}
end
END
cp -r fix fixed
expect 1 "bn-var: 3 findings in 3 of 4 samples" lint fix --rule bn-var
diff -r fix fixed || fail "lint changes samples that it is not to fix"
expect 0 "bn-var: 3 findings in 3 of 4 samples, 3 fixed" lint fixed --rule bn-var --fix -j2
expect 0 "bn-var: 0 findings" lint fixed --rule bn-var
diff -r fix/folder fixed/folder >diff.txt && fail "nothing was fixed"
[ "$(grep -c '^[<>]' diff.txt)" = 1 ] && grep -q '^>  *min_val = 0$' diff.txt || { cat diff.txt; fail diff; }
python3 -c 'import runpy; meta = runpy.run_path("fixed/folder/weight_meta.py")["Program_weight_tensor_meta_L_v_"]
assert meta.min_val == 0 and meta.data is None, vars(meta)'
expect 0 "a.pb: bn-var: fixed: " lint fix --rule bn-var -o elsewhere
expect 0 "bn-var: 0 findings in 0 of 4 samples" lint elsewhere --rule bn-var
# Findings that no bound fixes stay and are reported.
expect 1 "domain: 2 findings in 1 of 4 samples, 1 fixed" lint fixed --rule domain --fix
grep -q "roots.gn: domain: %t: y, drawn from -1 to -1, must be over 0 for log, but no bounds ensure it" out.txt ||
  { cat out.txt; fail "the warning"; }
expect 1 "domain: 1 findings in 1 of 4 samples" lint fixed --rule domain
expect 1 "finite-run: 1 findings" lint fixed/roots.gn --rule finite-run --fix
grep -q "and no bound on one input helps" out.txt || { cat out.txt; fail "no reason"; }
"$graphnet" lint fixed --rule domain --rule bn-var --fix --json >lint.json && fail "something is left"
python3 - <<'END'
import json
findings = [f for sample in json.load(open("lint.json"))["samples"] for f in sample["findings"]]
assert [(f["rule"], f["fixed"]) for f in findings] == [("domain", False)], findings
END

# Contradictions are reported with file and line.
"$graphnet" convert in.gn odd >/dev/null
python3 - <<'END'
import re
path = "odd/weight_meta.py"
lines = open(path).read().split("\n")
def change(name, field, value):
    at = lines.index(f"class Program_weight_tensor_meta_{name}:")
    at = next(i for i in range(at, len(lines)) if re.match(rf"\s+{field} = ", lines[i]))
    lines[at] = f"\t{field} = {value}"
    return at + 1
places = {change("L_x_", "mean", 'float("nan")'): "L_x_: mean is nan",
          change("L_m_", "std", "-1.5"): "L_m_: std -1.5 is negative"}
at = lines.index("class Program_weight_tensor_meta_L_v_:")
end = next(i for i in range(at, len(lines)) if re.match(r"\s+data = ", lines[i]))
lines[end:end + 1] = ["\tmax_val = 1", "\tmin_val = 2.5"]
places[end + 2] = "L_v_: min_val 2.5 is above max_val 1"
places[change("L_v_", "std", 'float("inf")')] = "L_v_: std is infinite"
open(path, "w").write("\n".join(lines).replace("\t", "    "))
open("odd/graph_net.json", "w").write('{\n "framework": "torch",\n "dynamic": "no",\n'
                                      ' "num_nodes_required": 1.5, "x_passes": ["a", 3]}')
with open("places.txt", "w") as f:
    for line, text in places.items():
        f.write(f"odd: meta: weight_meta.py:{line}: {text}\n")
    f.write("odd: meta: graph_net.json:3: dynamic: expected a boolean, found string\n")
    f.write("odd: meta: graph_net.json:4: num_nodes_required: expected an integer, found number\n")
    f.write("odd: meta: graph_net.json:4: x_passes: expected a list of strings, found array\n")
END
expect 1 "meta: 7 findings in 1 of 1 samples" lint odd --rule meta
grep '^odd: ' out.txt | sort | diff - <(sort places.txt) || fail "other findings"
expect 0 "meta: 0 findings" lint in.gn --rule meta

# A piece keeps the bound.
"$graphnet" decompose constrained.gn -o pieces --at 1 --format protobuf >/dev/null
expect 0 "bn-var: 0 findings" lint pieces --rule bn-var

# --- Fused operators, in both directions.
cat >layers.gn <<'END'
graph @forward(%x : f32[2, 4], %w : f32[4, 4], %b : f32[4], %s : f32[4]) {
  %l = torch._C._nn.linear(%x, %w, %b)
  %r = torch.nn.functional.relu(%l, inplace = True)
  %m = torch._C._nn.linear(%r, %w, None)
  %d = torch.nn.functional.dropout(%m, 0.1, False, False)
  %t = operator.add(%d, %x)
  %n = torch.nn.functional.layer_norm(%t, (4,), %s, None, 1e-12)
  return (%n,)
}
END
expect 0 "calls of fused.fused_gemm_epilogue" opt layers.gn --passes=fuse -o fused.gn --verify-each
grep -qF 'fused.fused_gemm_epilogue(%x, %w, %b, activation = "relu")' fused.gn || fail "relu is not fused"
grep -qF 'fused.fused_fc_elementwise_layernorm(' fused.gn || fail "the layer is not fused"
! grep -q 'torch\.' fused.gn || fail "something is left: $(cat fused.gn)"
expect 0 "bit-equal" diff-run layers.gn fused.gn
expect 0 "" shapes fused.gn
expect 0 "calls of fused operators written out" opt fused.gn --passes=expand-fused -o back.gn
! grep -q 'fused\.' back.gn || fail "something is still fused"
expect 0 "bit-equal" diff-run fused.gn back.gn
"$graphnet" convert fused.gn fused.pb
"$graphnet" convert fused.pb again.gn
cmp fused.gn again.gn || fail "protobuf keeps no fused calls"
# Formats without them get their definitions, or refuse them.
for format in plain.pt plain.pt2; do
  "$graphnet" convert fused.gn $format
  expect 0 "bit-equal" diff-run fused.gn $format
done
expect 2 "has no Python spelling" convert fused.gn folder
expect 2 "a GraphNet folder cannot hold it, --to protobuf can" convert fused.gn folder
sed 's/activation = "relu"/activatoin = "relu"/' fused.gn >wrong.gn
expect 2 "takes no activatoin; did you mean activation?" shapes wrong.gn
expect 2 "did you mean fc?" opt layers.gn --passes='fuse{operators=fcc}'

# --- Inputs get new names, and weights follow.
cat >named.gn <<'END'
attribute w : f32[2]
attribute idle : f32[3]
graph @forward(%x "L_x_" : f32[2], %unused : f32[1]) {
  %image = get_attr w
  %y = torch.add(%x, %image)
  return (%y,)
}
END
expect 0 "" opt named.gn -p 'rename-inputs{L_x_=image}' -o renamed.gn
expect 0 "o0  f32[2]" run renamed.gn --input 'image=f32[2]'
expect 2 "there is no input L_y_; did you mean L_x_?" opt named.gn -p 'rename-inputs{L_y_=image}'
expect 2 "two inputs or attributes would be called w" opt named.gn -p 'rename-inputs{L_x_=w}'
expect 2 "two inputs or attributes would be called unused" opt named.gn -p 'rename-inputs{L_x_=unused}'
expect 2 "there is no input z; the inputs are L_x_, unused" run named.gn --input 'z=f32[2]'

# --- Unused inputs and attributes.
expect 1 "named.gn: unused: nothing reads the attribute idle" lint named.gn --rule unused
expect 1 "nothing takes the input unused" lint named.gn --rule unused
expect 0 "dce: 1 attributes that nothing reads" opt named.gn -p 'dce{attributes=true}' -o used.gn
! grep -q idle used.gn || fail "idle is still there"

# --- Values are computed ahead.
expect 2 "makes weights, which .pb, .pt2 and .pt can hold" opt named.gn -p 'fold-constants{values=true}' -o folded.gn
expect 0 "fold-constants{values=true}" opt "$samples/resnet.pb" -p 'fold-constants{values=true}' -o folded.pb
expect 0 "o0   bit-equal" diff-run "$samples/resnet.pb" folded.pb --weights=own

# --- Batch norms are folded, and weights quantised. Where no values can be kept, calls compute them.
expect 0 "fold-batch-norm: 20 batch norms folded" opt "$samples/resnet.pb" -p fold-batch-norm -o normless.pt2
expect 1 "" find aten.batch_norm normless.pt2 -l
expect 0 "close" diff-run "$samples/resnet.pb" normless.pt2 --atol 1e-5 --rtol 1e-4
expect 0 "computed in each run" opt "$samples/resnet.pb" -p fold-batch-norm -o normless.gn
expect 0 "quantize-weights: error of layer4.1.conv2.weight: 0." opt "$samples/resnet.pb" -p quantize-weights -o small.pb
[ "$(stat -c %s small.safetensors)" -lt "$(($(stat -L -c %s "$samples/resnet.safetensors") / 3))" ] ||
  fail "int8 takes $(stat -c %s small.safetensors) bytes"
expect 0 "in each run" opt "$samples/resnet.pb" -p 'quantize-weights{bits=4}' -o rounded.gn
expect 0 "" run small.pb

# --- Values stay behind.
"$graphnet" convert named.gn valued.pb
"$graphnet" convert "$samples/resnet.pb" bare.pb --strip-weights
[ ! -e bare.safetensors ] || fail "--strip-weights wrote weights"
expect 0 "weights are drawn, as their values are not there" run bare.pb
# With weights inside, the file is complete by itself, also on the standard output.
mkdir embedded
"$graphnet" convert "$samples/resnet.pb" embedded/whole.pb --embed-weights
[ "$(ls embedded)" = whole.pb ] || fail "embedded: $(ls embedded)"
"$graphnet" diff --weights "$samples/resnet.pb" embedded/whole.pb >out.txt || fail "embedded: $(cat out.txt)"
"$graphnet" convert embedded/whole.pb - --to protobuf --embed-weights | cmp - embedded/whole.pb ||
  fail "embedded on the standard output"
"$graphnet" run - <embedded/whole.pb 2>err.txt >/dev/null && [ ! -s err.txt ] || fail "embedded: $(cat err.txt)"
expect 2 "--embed-weights: a protobuf can hold them" convert "$samples/resnet.pb" bare.gn --embed-weights
expect 2 "--strip-weights: a file of .pt2 holds its weights" convert "$samples/resnet.pb" bare.pt2 --strip-weights
expect 2 "show writes .svg, .html, .dot, .json, .py and text in .txt or .gn, not .pdf" show named.gn -o named.pdf
[ ! -e named.pdf ] || fail "a pdf was written"

# --- Time by node and module. A run before it warms up and leaves no effects.
expect 0 "%y = torch.add" run named.gn --profile-by node
expect 0 "(no module)" run named.gn --profile-by module
cat >counts.gn <<'END'
attribute count : f32[1] {data = [1.0]}
graph @forward() {
  %count = get_attr count
  %next = .add_(%count, 1)
  %y = .clone(%next)
  return (%y,)
}
END
"$graphnet" run counts.gn --profile -o profiled.safetensors >/dev/null
"$graphnet" run counts.gn -o plain.safetensors >/dev/null
cmp profiled.safetensors plain.safetensors || fail "the run that warms up changes what comes of the next"
echo PASSED
