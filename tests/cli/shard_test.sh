#!/usr/bin/env bash
# `graphnet shard`: writes, reads back, checks and refuses. If there is a Python with torch, four
# processes of PyTorch run the result (examples/shard_launcher.py).
set -euo pipefail
graphnet=$PWD/$1
engine=$PWD/$(dirname "$1")/libgraphnet_engine.so
launcher=$PWD/examples/shard_launcher.py
cd "$TEST_TMPDIR"
fail() { echo "FAILED: $*" >&2; exit 1; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }
# Whether a sum over parts rounds as the sum over all does depends on the processor and on the
# libraries, so the ranks' output may be either.
is_right() { grep -qE -- "^$2 +(bit-equal|close)" <<<"$1" || fail "expected that $2 is right in: $1"; }
# refused MESSAGE ARGUMENT…: the exit code is 2, and one line is printed.
refused() {
  local message=$1 out code=0
  shift
  out=$("$graphnet" shard "$@" 2>&1 >/dev/null) || code=$?
  [ "$code" = 2 ] || fail "exit code $code of: $*: $out"
  [ "$(grep -c . <<<"$out")" = 1 ] || fail "more than one line: $out"
  contains "$out" "$message"
}
# differs MESSAGE COMMAND…: the exit code is 1.
differs() {
  local message=$1 out code=0
  shift
  out=$("$@" 2>&1) || code=$?
  [ "$code" = 1 ] || fail "exit code $code of: $*: $out"
  contains "$out" "$message"
}

cat >mlp.gn <<'END'
graph @forward(%x : f32[8, 16] {mean = 0.5, std = 1.0}, %w1 : f32[32, 16] {mean = 0.0, std = 1.0}, %b1 : f32[32] {mean = 0.0, std = 1.0}, %w2 : f32[16, 32] {mean = 0.0, std = 1.0}, %b2 : f32[16] {mean = 1.0, std = 1.0}) {
  %h = torch.nn.functional.linear(%x, %w1, %b1)
  %a = torch.nn.functional.relu(%h, inplace = True)
  %y = torch.nn.functional.linear(%a, %w2, %b2)
  %s = torch.neg(%x)
  return (%y, %s)
}
END
batch=(--shard x:0,-1)
both=(--shard x:0,-1 --shard w1:1,-1 --shard b1:1 --shard w2:-1,1)

# --- The batch is divided over four ranks, without communication.
out=$("$graphnet" shard mlp.gn --mesh 4 "${batch[@]}" --check -o four)
contains "$out" "mesh 4: 4 ranks, 1 of 5 inputs divided, 2 of 2 outputs"
contains "$out" "four: 4 ranks written"
[ "$(ls four)" = "$(printf '%s\n' plan.json rank_0 rank_1 rank_2 rank_3)" ] || fail "$(ls four)"
grep -q '"communication": \[\]' four/plan.json || fail "$(cat four/plan.json)"
for rank in 0 1 2 3; do
  contains "$("$graphnet" show four/rank_$rank)" "f32[2, 16]"
  cmp four/rank_0/model.py four/rank_$rank/model.py
done

# --- Batch and tensors are divided over two by two ranks, and the values are written.
out=$("$graphnet" shard mlp.gn --mesh 2x2 "${both[@]}" --values --check -o tensors)
contains "$out" "mesh 2x2: 4 ranks, 4 of 5 inputs divided, 2 of 2 outputs"
is_right "$out" o0
contains "$out" "o1   bit-equal"
contains "$("$graphnet" stats tensors/rank_3)" "spmd.all_reduce.default"
# Programs of ranks differ in the numbers of the ranks that they communicate with.
sed 's/\[[0-9], [0-9]\]/[GROUP]/g' tensors/rank_0/model.py >rank_0.txt
sed 's/\[[0-9], [0-9]\]/[GROUP]/g' tensors/rank_3/model.py | diff rank_0.txt - || fail "programs differ"
! cmp -s tensors/rank_0/model.py tensors/rank_3/model.py || fail "all ranks are in one group"
python3 - <<'END' || fail "plan.json"
import json
plan = json.load(open("tensors/plan.json"))
assert plan["mesh"] == [2, 2] and plan["ranks"] == ["rank_0", "rank_1", "rank_2", "rank_3"], plan
assert [i["sharding"] for i in plan["inputs"]] == [[0, -1], [1, -1], [1], [-1, 1], [-1]], plan
assert [i["argument"] for i in plan["inputs"]] == ["x", "w1", "b1", "w2", "b2"], plan
assert [(o["sharding"], o["exact"]) for o in plan["outputs"]] == [([0, -1], False), ([0, -1], True)], plan
(step,) = plan["communication"]
assert step["call"] == "all_reduce" and step["reduce"] == "sum", step
assert step["groups"] == [[0, 1], [2, 3]], step
# There are 4 x 16 floats per rank, around a ring of two.
assert step["bytes_per_link"] == 2 * 4 * 16 * 4 // 2 and step["links"] == 4, step
END

# --- Plans, patterns, and existing folders.
"$graphnet" shard mlp.gn --plan tensors/plan.json -o again >/dev/null
cmp tensors/plan.json again/plan.json
"$graphnet" shard mlp.gn --mesh 2x2 --shard 'w*:1,-1' --shard 'x:0,-1' --check -o again >out.txt || fail "$(cat out.txt)"
contains "$(cat out.txt)" "4 of 5 inputs divided"
"$graphnet" shard mlp.gn --mesh 2x2 --shard 'w?:1,-1' --shard '*?:0,-1' -o again >again.txt || fail "$(cat again.txt)"
contains "$(cat again.txt)" "inputs divided"
refused "no input that w?? fits can be laid out as [1, -1]" mlp.gn --mesh 2x2 --shard 'w??:1,-1'
refused "no input that ? fits can be laid out as [1, -1, -1]" mlp.gn --mesh 2x2 --shard '?:1,-1,-1'
mkdir full
touch full/notes.txt
refused "full: not replaced, as it holds notes.txt" mlp.gn --mesh 4 -o full
[ "$(ls full)" = notes.txt ] || fail "full has $(ls full)"

# Another tool has a plan.json, too, and a folder of ranks may hold what is not of a rank.
mkdir plans
echo '{"terraform_version": "1.5"}' >plans/plan.json
refused "plans: not replaced, as its plan.json is not one of graphnet" mlp.gn --mesh 2 -o plans
touch plans/state.tf
refused "plans: not replaced, as it holds state.tf" mlp.gn --mesh 2 -o plans
touch again/rank_0/notes.txt
refused "again: not replaced, as it holds rank_0/notes.txt" mlp.gn --mesh 2x2 -o again
[ "$(ls plans)" = "$(printf 'plan.json\nstate.tf')" ] && [ -e again/rank_0/notes.txt ] || fail "a folder is not whole"

# --- All collectives.
cat >talks.gn <<'END'
graph @forward(%x : f32[8, 8] {mean = 0.5, std = 1.0}, %t : f32[8, 8] {mean = 0.5, std = 1.0}, %w : f32[8, 8] {mean = 0.0, std = 1.0}, %c : f32[8] {mean = 0.0, std = 1.0}) {
  %a = torch.add(%x, %t)
  %k = torch.matmul(%t, %w)
  %y = torch.add(%k, %a)
  %s = torch.softmax(%y, 0)
  %max = torch.amax(%x, 0)
  %min = torch.amin(%x, 0)
  %mean = torch.mean(%x, 0)
  %product = torch.prod(%x, 0)
  %positive = torch.gt(%x, 0)
  %any = torch.any(%positive, 0)
  %all = torch.all(%positive, 0)
  %z = torch.addmm(%c, %t, %w)
  return (%y, %s, %max, %min, %mean, %product, %any, %all, [%z, 3, None])
}
END
out=$("$graphnet" shard talks.gn --mesh 4 --shard x:0,-1 --shard t:-1,0 --shard w:0,-1 --values --check -o talks)
for call in all_gather all_reduce all_to_all reduce_scatter; do contains "$out" "$call  "; done
for call in keep_first '"sum"' '"max"' '"min"' '"avg"' '"product"' '"any"' '"all"'; do
  grep -qF "$call" talks/rank_1/model.py || fail "no $call in: $(cat talks/rank_1/model.py)"
done
contains "$out" "o2   bit-equal"
contains "$out" "o7   bit-equal"

# --- A call without a rule runs whole on each rank.
cat >inverse.gn <<'END'
graphnet.module 1

graph @forward(
  %x : f32[4, 4]@cpu {}
) {
  %inverse = aten.linalg_inv.default(%x)
  return (%inverse,)
}
end
END
contains "$("$graphnet" shard inverse.gn --mesh 2 --shard x:0,-1)" "whole on each rank: aten.linalg_inv.default, 1 times"

# --- The same through JSON, and from the standard input.
"$graphnet" shard - --mesh 2x2 "${both[@]}" --check --json <mlp.gn >out.json
python3 - <<'END' || fail "$(cat out.json)"
import json
made = json.load(open("out.json"))
assert made["right"] and made["checked"][0]["state"] in ("close", "bit-equal"), made
assert made["checked"][1]["state"] == "bit-equal", made
assert made["communication"] == {"all_reduce": {"times": 1, "bytes": 1024}}, made
END

# --- Stored ranks are checked unchanged, and differences are reported by name.
contains "$("$graphnet" shard mlp.gn --stored tensors)" "o1   bit-equal"
cp -r tensors changed
sed -i 's/aten.neg.default/aten.abs.default/' changed/rank_2/model.py
differs "o1   DIFFERENT, as it is not the same on ranks 2 and 3" "$graphnet" shard mlp.gn --stored changed
sed -i 's/aten.neg.default/aten.abs.default/' changed/rank_3/model.py
differs "o1   DIFFERENT, by at most" "$graphnet" shard mlp.gn --stored changed
cp -r tensors torn
cp torn/rank_1.safetensors torn/rank_2.safetensors
differs "o0   DIFFERENT" "$graphnet" shard mlp.gn --stored torn
cp -r tensors lonely
sed -i '/spmd.all_reduce/d' lonely/rank_2/model.py
sed -i 's/return (y_1, /return (y, /' lonely/rank_2/model.py
refused "ranks wait for each other: rank 0 at its end" mlp.gn --stored lonely
sed -i 's/spmd.all_reduce.default/spmd.all_hail.default/' lonely/rank_0/model.py
refused "is not a call of ranks" mlp.gn --stored lonely
rm -r lonely/rank_1
refused "lonely/rank_1" mlp.gn --stored lonely

# --- Errors.
cat >one.gn <<'END'
graph @forward(%x : f32[8, 8] {mean = 0.5, std = 1.0}) {
  %y = torch.neg(%x)
  return (%y,)
}
END
refused "no input is called w11; did you mean w1?" mlp.gn --mesh 4 --shard w11:0,-1
refused "x is given twice" mlp.gn --mesh 4 --shard x:0,-1 --shard x:-1,0
refused "mesh 4 has no axis 1" mlp.gn --mesh 4 --shard x:1,-1
refused "uses axis 0 twice" mlp.gn --mesh 4 --shard x:0,0
refused "axis 0 of mesh 3 does not divide dimension 0 of size 8" mlp.gn --mesh 3 --shard x:0,-1
refused "has 1 dimensions, but the tensor has 2" mlp.gn --mesh 4 --shard x:0
refused "expected an axis of the mesh, or -1" mlp.gn --mesh 4 --shard x:a
refused "expected NAME:AXIS,AXIS" mlp.gn --mesh 4 --shard x
refused "is not a reduction; there are sum, avg" mlp.gn --mesh 4 --shard 'x:[-1, -1] mul(0)'
refused "it cannot be partial" mlp.gn --mesh 4 --shard 'x:[-1, -1] sum(0)'
refused "no input that z* fits can be laid out as [0]" mlp.gn --mesh 4 --shard 'z*:0'
refused "expected sizes of its axes" mlp.gn --mesh 2y2
refused "has more than 65536 ranks" mlp.gn --mesh 65536x2
refused "expected one of --mesh, --plan and --stored" mlp.gn
refused "expected one of --mesh, --plan and --stored" mlp.gn --mesh 4 --stored four
refused "--plan already says how inputs are divided" mlp.gn --plan tensors/plan.json --shard x:0,-1
refused "nowhere/plan.json" mlp.gn --plan nowhere/plan.json
sed 's/f32\[8, 16\]/f32[4, 16]/' mlp.gn >small.gn
refused "tensors/plan.json: input x is f32[4, 16], the plan is for f32[8, 16]" small.gn --plan tensors/plan.json
refused "input x is f32[4, 16], the plan is for f32[8, 16]" small.gn --stored tensors
refused "the plan is for 5 inputs, the sample has 1" one.gn --plan tensors/plan.json
head -c 100 tensors/plan.json >cut.json
refused "cut.json: is not a JSON object" mlp.gn --plan cut.json
tr -d '\n ' <four/plan.json | sed 's/"sharding":\[0/"sharding":[7/' >axis.json
refused "axis.json: inputs x: " mlp.gn --plan axis.json
cat >writes.gn <<'END'
graph @forward(%x : f32[8, 16] {mean = 0.5, std = 1.0}) {
  %y = torch.relu_(%x)
  return (%y,)
}
END
refused "(node y): writes to x, which ranks do not share: opt --passes=functionalize{outputs=true} returns" writes.gn --mesh 4 --shard x:0,-1
cat >view.gn <<'END'
graph @forward(%x : f32[8, 16] {mean = 0.5, std = 1.0}, %y : f32[8, 16]) {
  %v = .view(%x, 16, 8)
  %w = .view(%y, 16, 8)
  %a = .add_(%v, %w)
  %r = torch.relu(%x)
  return (%r,)
}
END
refused "(node a): writes to x, which ranks do not share: opt" view.gn --mesh 4 --shard x:0,-1
"$graphnet" opt view.gn '--passes=functionalize{outputs=true}' -o returned.gn >/dev/null
contains "$("$graphnet" shard returned.gn --mesh 4 --shard x:0,-1 --check)" "o1   bit-equal"
for several in 'torch.max(%x, 0)' 'torch.sort(%x)' 'torch.topk(%x, 2)'; do
  cat >several.gn <<END
graph @forward(%x : f32[8, 16] {mean = 0.5, std = 1.0}) {
  %m = $several
  %r = torch.relu(%x)
  return (%m, %r)
}
END
  refused "(node m): is returned but has several tensors: return its elements" several.gn --mesh 4 -o several
  [ ! -e several ] || fail "a plan for $several"
done
# The number of parts is known, so they are returned one by one.
sed 's/%m = .*/%m = .split(%x, 2)/' several.gn >parts.gn
contains "$("$graphnet" shard parts.gn --mesh 4 --shard x:0,-1 --check)" "o4   bit-equal"
sed 's/"reduce":"sum"/"reduce":"foo"/' tensors/plan.json >reduce.json
refused "foo is not a reduction" mlp.gn --plan reduce.json
cp -r tensors foo
cp reduce.json foo/plan.json
refused "foo/plan.json: communication y_1: foo is not a reduction" mlp.gn --stored foo
cat >unknown.gn <<'END'
graph @forward(%x) {
  %y = torch.relu(%x)
  return (%y,)
}
END
refused "--input" unknown.gn --mesh 4 --shard x:0,-1

# --- Stages run on two meshes, and ranks send the values that cross.
stages=(--mesh m0=2 --mesh m1=2 --stage '..y:m0' --stage 'y..:m1')
out=$("$graphnet" shard mlp.gn "${stages[@]}" --shard w1:0,-1 --shard b1:0 --shard w2:-1,0 --values --check -o pipe)
contains "$out" "meshes m0=2, m1=2{2, 3}: 4 ranks, 3 of 6 inputs divided, 0 of 2 outputs"
contains "$out" "send               1  1,024"
is_right "$out" o0
contains "$out" "o1   bit-equal"
contains "$(cat pipe/rank_1/model.py)" "spmd.send.default(a, 3)"
contains "$(cat pipe/rank_3/model.py)" "spmd.recv.default([8, 16], torch.float32, 1)"
! grep -q "spmd.send" pipe/rank_2/model.py || fail "rank 2 sends: $(cat pipe/rank_2/model.py)"
python3 - <<'END' || fail "plan.json of stages"
import json
plan = json.load(open("pipe/plan.json"))
assert plan["meshes"] == [{"name": "m0", "shape": [2], "ranks": [0, 1]}, {"name": "m1", "shape": [2], "ranks": [2, 3]}], plan
assert plan["stages"] == ["..y:m0", "y..:m1"] and "mesh" not in plan, plan
# Both meshes take x, each for another operator.
assert [(i["name"], i["mesh"]) for i in plan["inputs"]] == [("x", "m0"), ("x", "m1"), ("w1", "m0"), ("b1", "m0"), ("w2", "m1"), ("b2", "m1")], plan
assert [o["mesh"] for o in plan["outputs"]] == ["m1", "m1"], plan
assert [(c["function"], c["call"]) for c in plan["communication"]] == [("SameStatus", "send"), ("PToR", "all_reduce")], plan
END
"$graphnet" shard mlp.gn --plan pipe/plan.json -o pipe_again >/dev/null
cmp pipe/plan.json pipe_again/plan.json
contains "$("$graphnet" shard mlp.gn --stored pipe)" "o1   bit-equal"
# A rank's program keeps its sends through passes.
"$graphnet" opt pipe/rank_0 -p dce,cse -o cleaned >/dev/null
contains "$(cat cleaned/model.py)" "spmd.send.default(a, 2)"
# Another shape of mesh is reached over one rank, and a mesh may be a part of another.
out=$("$graphnet" shard mlp.gn --mesh m0=2x2 --mesh m1=4 --stage '..y:m0' --stage 'y..:m1' "${both[@]:0:6}" --check -o shapes)
is_right "$out" o0
for function in SameNdMesh RToXExpand; do grep -q "$function" shapes/plan.json || fail "no $function: $(cat shapes/plan.json)"; done
out=$("$graphnet" shard mlp.gn --mesh 'all=2x2' --mesh 'half=1x2{2,3}' --stage '..a:all' --stage 'a..y:half' --stage 'y..:all' --check)
contains "$out" "meshes all=2x2, half=1x2{2, 3}: 4 ranks"
contains "$out" "o0   bit-equal"

# By modules: their paths, or those of the parameters that operators take.
cat >layers.gn <<'END'
graph @forward(%x : f32[4, 8] {mean = 0.5, std = 1.0}, %w0 "L_self_modules_model_modules_layers_modules_0_modules_fc_parameters_weight_" : f32[8, 8] as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}, %w1 "L_self_modules_model_modules_layers_modules_1_modules_fc_parameters_weight_" : f32[8, 8] as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}, %w2 "L_self_modules_head_parameters_weight_" : f32[8, 8] as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}) {
  %mask = torch.gt(%x, 0)
  %h = torch.nn.functional.linear(%x, %w0)
  %a = torch.relu(%h)
  %g = torch.nn.functional.linear(%a, %w1)
  %m = torch.mul(%g, %mask)
  %y = torch.nn.functional.linear(%m, %w2)
  return (%y,)
}
END
out=$("$graphnet" shard layers.gn --mesh m0=1 --mesh m1=2 --stage 'layers.0-0:m0' --stage 'layers.1-7,hea?:m1' --check -o layers)
contains "$out" "o0   bit-equal"
contains "$(cat layers/rank_0/model.py)" "aten.relu"
contains "$(cat layers/rank_1/model.py)" "aten.gt"
refused "--stage: operator y (module head) is in no stage" layers.gn --mesh m0=2 --mesh m1=2 --stage layers.0:m0 --stage layers.1:m1
refused "operator h (module model.layers.0.fc) is in stage layers.0:m0, too" layers.gn --mesh m0=2 --mesh m1=2 --stage layers.0:m0 --stage '*:m1'
refused "stages form a cycle: layers.0,head:m0 gives a to layers.1:m1, gives m to layers.0,head:m0" layers.gn --mesh m0=2 --mesh m1=2 --stage layers.0,head:m0 --stage layers.1:m1

refused "mesh m0 is given twice" mlp.gn --mesh m0=2 --mesh m0=4
refused "each of several meshes needs a name" mlp.gn --mesh m0=2 --mesh 4
refused "no mesh has rank 2" mlp.gn --mesh m0=2 --mesh 'm1=2{3,4}'
refused "has a rank twice" mlp.gn --mesh 'm0=2{0,0}'
refused "lists 1 ranks, but its axes have 2" mlp.gn --mesh 'm0=2{0}'
refused "mesh m1 has no stage" mlp.gn --mesh m0=2 --mesh m1=2 --stage ..:m0
refused "no mesh is called m2, there are m0, m1" mlp.gn --mesh m0=2 --mesh m1=2 --stage ..:m0 --stage y..:m2
refused "expected PLACE,PLACE:MESH" mlp.gn --mesh m0=2 --mesh m1=2 --stage y
refused "operator a is in stage ..y:m0, too" mlp.gn --mesh m0=2 --mesh m1=2 --stage ..y:m0 --stage a..:m1
refused "--stage: operator a is in no stage" mlp.gn --mesh m0=2 --mesh m1=2 --stage ..a:m0 --stage y..:m1
refused "stages form a cycle: ..a,y..s:m0 gives h to a..y,s..:m1, gives a to ..a,y..s:m0" mlp.gn --mesh m0=2 --mesh m1=2 --stage ..a,y..s:m0 --stage a..y,s..:m1
refused "no operator is called hh; did you mean h?" mlp.gn --mesh m0=2 --mesh m1=2 --stage ..hh:m0 --stage y..:m1
refused "layers.0 names no operator" mlp.gn --mesh m0=2 --mesh m1=2 --stage layers.0:m0 --stage ..:m1
refused "axis 0 of mesh 3 does not divide dimension 0 of size 32" mlp.gn --mesh m0=3 --mesh m1=2 --stage ..y:m0 --stage y..:m1 --shard w1:0,-1
refused "--plan already says what runs where" mlp.gn --plan pipe/plan.json --stage ..:m0
sed 's/"ranks":\[2,3\]/"ranks":[2,4]/' pipe/plan.json >gap.json
refused "gap.json: has meshes that leave out a rank" mlp.gn --plan gap.json
sed 's/"mesh":"m1"/"mesh":"m9"/' pipe/plan.json >m9.json
refused "m9.json: inputs x is on an unknown mesh" mlp.gn --plan m9.json
cp -r pipe mute
sed -i '/spmd.send/d' mute/rank_0/model.py
refused "ranks wait for each other: rank 0 at its end, rank 1 at its end, rank 2 at a_1, rank 3 at y_1" mlp.gn --stored mute
cp -r pipe twice
sed -i 's/^\( *\)\(send = spmd.send.*\)  a = send = None/\1send_2 = spmd.send.default(a, 2)\n\1\2  a = send = None/' twice/rank_0/model.py
refused "rank 2 does not receive" mlp.gn --stored twice
cat >random.gn <<'END'
graph @forward(%x : f32[8, 8] {mean = 0.5, std = 1.0}) {
  %y = torch.nn.functional.dropout(%x, 0.5, True)
  %z = torch.neg(%y)
  return (%z,)
}
END
refused "draws random numbers" random.gn --mesh m0=2 --mesh m1=2 --stage ..z:m0 --stage z..:m1

# --- Outputs get a layout, and the layouts of inputs follow backwards by the rules.
"$graphnet" shard mlp.gn --mesh 2x2 --shard-output y:0,1 --check -o asked >out.txt || fail "$(cat out.txt)"
python3 - <<'END' || fail "plan.json of what was asked"
import json
plan = json.load(open("asked/plan.json"))
assert plan["outputs"][0]["sharding"] == [0, 1], plan
# Rows of the batch, and columns of the last weight with its bias, without communication.
held = {i["name"]: i["sharding"] for i in plan["inputs"]}
assert held == {"x": [0, -1], "w1": [-1, -1], "b1": [-1], "w2": [1, -1], "b2": [1]}, held
assert plan["communication"] == [], plan
END
# The layout of an input takes precedence, and the output is resharded at the end.
out=$("$graphnet" shard mlp.gn --mesh 2 --shard-output o0:0,-1 --shard x:-1,-1 --shard w2:-1,0 --check -o anew)
contains "$out" "reduce_scatter  "
refused "no output is called q, there are y, s, or o0 and so on" mlp.gn --mesh 2 --shard-output q:0
refused "y is given twice" mlp.gn --mesh 2 --shard-output y:0,-1 --shard-output y:-1,0
refused "output o0: sharding [0]: has 1 dimensions, but the tensor has 2" mlp.gn --mesh 2 --shard-output y:0
refused "axis 0 of mesh 3 does not divide dimension 0 of size 8" mlp.gn --mesh 3 --shard-output y:0,-1

# --- Any value is gathered on one rank and printed in full: divided, partial, replicated.
cat >sums.gn <<'END'
graph @forward(%x : i64[2, 4] {data = [1, 2, 3, 4, 5, 6, 7, 8]}) {
  %n = torch.neg(%x)
  %s = torch.sum(%n, 0)
  %y = torch.mul(%s, 2)
  return (%y,)
}
END
out=$("$graphnet" shard sums.gn --mesh 2 --shard x:0,-1 --gather n --gather s --gather o0 --gather x -o sums)
contains "$out" "meshes mesh=2, rank_0=1: 2 ranks"
contains "$out" $'n    bit-equal\n     -1 -2 -3 -4\n     -5 -6 -7 -8\ns    '
contains "$out" $'\n     -6 -8 -10 -12\no0   '
contains "$out" $'\n     -12 -16 -20 -24\nx    bit-equal\n     1 2 3 4\n     5 6 7 8'
grep -q '"gathered":"s"' sums/plan.json || fail "$(cat sums/plan.json)"
for call in gather reduce; do grep -q "\"function\":\"XToRShrink\",\"call\":\"$call\"" sums/plan.json || fail "no $call: $(cat sums/plan.json)"; done
contains "$("$graphnet" shard sums.gn --mesh 2 --shard x:0,-1 --gather s --json)" '"-6"'
refused "--gather: no value is called nn; did you mean n?" sums.gn --mesh 2 --gather nn

# --- PyTorch runs it, if there is a Python with the engine's LibTorch.
torch=$(readelf -d "$engine" | sed -n 's/.*RUNPATH.*\[\([^]:]*\).*/\1/p')
python=
for candidate in "${torch%/lib/python3*}/bin/python" python3; do
  "$candidate" -c 'import torch.distributed' 2>/dev/null && python=$candidate && break
done
if [ -z "$python" ]; then
  echo "no Python with torch: the launcher is not run"
  exit 0
fi
launch() { timeout 250 "$python" "$launcher" "$@"; }
"$graphnet" run mlp.gn --outputs whole.safetensors >/dev/null
out=$(launch tensors --expect whole.safetensors -o found.safetensors 2>&1) || fail "$out"
contains "$out" "4 ranks, 2 outputs, as expected"
"$graphnet" run talks.gn --outputs talks.safetensors >/dev/null
out=$(launch talks --expect talks.safetensors 2>&1) || fail "$out"
contains "$out" "4 ranks, 10 outputs, as expected"
# It fails if the results are wrong: with other inputs, and with the program of another rank.
"$graphnet" run mlp.gn --seed 1 --outputs other.safetensors >/dev/null
differs "output o0 differs" launch tensors --expect other.safetensors
differs "output o0 differs" launch torn --expect whole.safetensors
# Two stages of two ranks, a batch of eight as four of two, and a value that was gathered.
sed 's/f32\[8, 16\]/f32[2, 16]/' mlp.gn >micro.gn
"$graphnet" shard micro.gn "${stages[@]}" --shard w1:0,-1 --shard b1:0 --shard w2:-1,0 --values --gather h -o micro >/dev/null
"$graphnet" shard mlp.gn --mesh 1 --values -o one >/dev/null
# Only the batch is given again, because weights are drawn alike.
"$python" - "$(dirname "$launcher")" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
import shard_launcher
x = shard_launcher.read_safetensors("one/rank_0.safetensors")["x"]
shard_launcher.write_safetensors({"x": x}, "batch.safetensors")
END
out=$(launch micro --inputs batch.safetensors --micro-batches 4 --expect whole.safetensors 2>&1) || fail "$out"
contains "$out" "4 ranks, 4 micro-batches, 3 outputs, as expected"
contains "$out" "h tensor(["
differs "output o0 differs" launch micro --inputs batch.safetensors --micro-batches 4 --expect other.safetensors
differs "x is [8, 16], the programs are for [2, 16] or 3 times as long" launch micro --inputs batch.safetensors --micro-batches 3
