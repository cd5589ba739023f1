#!/usr/bin/env bash
# `graphnet reduce` and `graphnet bench --oracle`, with a compiler that has a fault
# (miscompiling_worker.py): the small sample still fails, and the oracle finds the wrong side.
set -euo pipefail
graphnet=$PWD/$1
worker=$PWD/tests/evaluate/miscompiling_worker.py
samples=$PWD/samples
cd "$TEST_TMPDIR"
fail() { echo "FAILED: $*" >&2; exit 1; }
# The backend that computes the second operator instead of the first, or refuses the first.
fault() { echo "python3 '$worker' '$graphnet' '$1' '$2'"; }
exec_with() { echo --backend exec --exec-reads graphnet --exec; }

python3 - <<'END'
with open("long.gn", "w") as f:
    f.write("graphnet.module 1\n\ngraph @forward(%x : f32[16, 24] {mean = 0.5, std = 1.0}, %w : f32[24, 24] {std = 0.2}) {\n  %v0 = torch.matmul(%x, %w)\n")
    for i in range(40):
        call = {10: "torch.tanh(%v10)", 25: "torch.erf(%v25)", 30: ".view(%v30, 8, 2, 24)",
                31: ".view(%v31, 16, 24)"}.get(i, f"torch.add(%v{i}, %x)")
        f.write(f"  %v{i + 1} = {call}\n")
    f.write("  %n = torch.norm(%v3)\n  return (%v40, %n)\n}\nend\n")
END

# --- Wrong numbers: one operator is left, on the fewest elements for which it is wrong.
"$graphnet" reduce long.gn $(exec_with) "$(fault 'torch.tanh(' 'torch.sin(')" >out.txt
grep -qE '^operators 42 -> 1, inputs 2 -> 1, elements 960 -> [0-9]; [0-9]+ tries in ' out.txt &&
  grep -qx 'kept: exec: accuracy' out.txt && grep -qx long_reduced.gn out.txt || { cat out.txt; fail accuracy; }
"$graphnet" check long_reduced.gn >/dev/null
grep -q '%v11 = torch.tanh(' long_reduced.gn || { cat long_reduced.gn; fail tanh; }
"$graphnet" bench long_reduced.gn $(exec_with) "$(fault 'torch.tanh(' 'torch.sin(')" -o again \
  --warmup 0 --trials 1 >out.txt 2>&1
grep -q 'FAIL long_reduced.gn: exec: accuracy' out.txt || { cat out.txt; fail again; }

# --- A refusal, whose numbers may differ; as protobuf.
"$graphnet" reduce long.gn $(exec_with) "$(fault 'torch.erf(' '!no kernel 17 for erf')" -o small.pb >out.txt
grep -q '^operators 42 -> 1, ' out.txt &&
  grep -qx 'kept: exec: compile_fail: no kernel # for erf' out.txt || { cat out.txt; fail refusal; }
"$graphnet" show small.pb >out.txt
grep -q torch.erf out.txt || fail small.pb

# --- A real model, with its weights.
cp "$samples"/bert.pb "$samples"/bert.safetensors .
"$graphnet" reduce bert.pb $(exec_with) "$(fault aten.gelu.default '!no')" -o bert_small.gn >out.txt
grep -qE '^operators [0-9]+ -> 1, ' out.txt || { cat out.txt; fail bert; }

# --- Any command; a folder works like a file.
"$graphnet" reduce long.gn --command 'grep -q erf {}/model.py && grep -q tanh {}/model.py' -o folder >out.txt
grep -q '^operators 42 -> 2, ' out.txt || { cat out.txt; fail command; }
[ -f folder/model.py ] || fail folder
# When the time is up, the result so far is written.
"$graphnet" reduce long.gn --command 'sleep 0.2; grep -q erf {}' --max-time 1 -o late.gn >out.txt
grep -q 'the time was up' out.txt && grep -q erf late.gn || { cat out.txt; fail late; }

# --- Wrong usage prints one line.
refused() {  # MESSAGE [OPTION...]
  local code=0
  "$graphnet" reduce "${@:2}" -o no.gn >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && [[ $(cat err.txt) == "graphnet: $1"* ]] && [ "$(wc -l <err.txt)" -eq 1 ] ||
    { cat out.txt err.txt; fail "${*:2} exits with $code"; }
}
refused "nothing to reduce: jit is right on this sample" long.gn --backend jit
refused "there is no backend jot; did you mean jit?" long.gn --backend jot
refused "--command exits with 1 on the sample itself" long.gn --command 'false {}'
refused "--command exits with 124 on the sample itself" long.gn --command 'sleep 20; true {}' --timeout 0.5
refused "--command: expected {} in place of a sample's path" long.gn --command true
[ ! -e no.gn ] || fail no.gn

# --- The oracle: a compiler that is wrong, at which node, and the sample that shows it.
mkdir in
cp long.gn in
cat >in/cancels.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[64] {mean = 0.0, std = 1.0}) {
  %a = torch.add(%x, 100000000.0)
  %b = torch.sub(%a, 100000000.0)
  %c = torch.mul(%b, 3.0)
  return (%c,)
}
end
END
cat >in/random.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[64]) {
  %d = torch.nn.functional.dropout(%x, 0.5, True)
  %t = torch.tanh(%d)
  return (%t,)
}
end
END
"$graphnet" bench in $(exec_with) "$(fault 'torch.tanh(' 'torch.sin(')" --oracle --warmup 0 --trials 1 -o oracle >out.txt
grep -qE '^ORACLE in/long.gn: exec is wrong: errors against float64: exec [0-9.e-]+, eager [0-9.]+e-[0-9]+; first at %v11 = torch.tanh; 1 operator in oracle/reduced/exec/in/long.gn.gn$' out.txt ||
  { cat out.txt; fail oracle; }
grep -qx 'ORACLE in/random.gn: cannot tell which side is wrong: it draws random numbers, which differ in float64' out.txt ||
  { cat out.txt; fail random; }
[ "$(grep -c ORACLE out.txt)" -eq 2 ] || { cat out.txt; fail "right ones"; }
"$graphnet" bench oracle/reduced/exec $(exec_with) "$(fault 'torch.tanh(' 'torch.sin(')" -o once \
  --warmup 0 --trials 1 >out.txt 2>&1
grep -q 'FAIL oracle/reduced/exec/in/long.gn.gn: exec: accuracy' out.txt || { cat out.txt; fail reduced; }
# Eager is wrong if float32 is not precise enough for it and the compiler computes in another way.
"$graphnet" bench in/cancels.gn $(exec_with) "$(fault '100000000.0' '0.0')" --oracle -o eager \
  --warmup 0 --trials 1 >out.txt
grep -qE '^ORACLE in/cancels.gn: eager is wrong: errors against float64: eager [0-9.]+, exec [0-9.e-]+; first at %b = torch.sub; ' out.txt ||
  { cat out.txt; fail eager; }
python3 - <<'END'
import json, os
lines = {line["path"]: line for line in map(json.loads, open("oracle/exec.jsonl"))}
found = lines["in/long.gn"]["oracle"]
assert found["wrong"] == "backend" and found["node"] == "v11" and found["operators"] == 1, found
assert found["backend_error"] > 1e-3 > 1e-5 > found["eager_error"], found
assert os.path.exists(found["reduced"]), found
assert lines["in/random.gn"]["oracle"]["wrong"] is None and "oracle" not in lines["in/cancels.gn"], lines
(line,) = map(json.loads, open("eager/exec.jsonl"))
assert line["oracle"]["wrong"] == "eager" and line["oracle"]["node"] == "b", line
END
# Operators within a vmap are reduced, too.
cat >vmap.gn <<'END'
graphnet.module 1
graph @forward(%x : f32[4, 3] {mean = 0.0, std = 1.0}) {
  %y = torch.vmap(@body, (%x,), in_dims = (0,), out_dims = 0)
  return (%y,)
}
graph @body(%a) {
  %e = torch.exp(%a)
  %t = torch.tanh(%e)
  %s = torch.sin(%t)
  return %s
}
end
END
"$graphnet" reduce vmap.gn --command 'grep -q tanh {}' -o within.gn >out.txt
grep -q '^operators 1 -> 1, ' out.txt || { cat out.txt within.gn; fail vmap; }
! grep -qE 'torch.vmap|aten.(exp|sin)' within.gn || { cat within.gn; fail "a vmap is left"; }
echo PASSED
