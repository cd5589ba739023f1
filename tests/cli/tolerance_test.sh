#!/usr/bin/env bash
# `graphnet bench --tolerance derived`: whether rounding explains the outputs of a backend, in the log, in the
# scores and against a reference.
set -euo pipefail
source tests/cli/expect.sh
graphnet=$PWD/$1
evaluate=$PWD/tests/evaluate
samples=$PWD/samples
cd "$TEST_TMPDIR"
quick="--exec-reads graphnet --warmup 0 --trials 2"
compiler() { echo "python3 $evaluate/miscompiling_worker.py $graphnet $1 $2"; }

# Eager loses four digits here, and a compiler that cancels the two numbers is right, but not by t = -5.
cat >cancel.gn <<'END'
graph @forward(%x : f32[64] {mean = 0.0, std = 1.0}) {
  %big = torch.add(%x, 10000.0)
  %small = torch.sub(%big, 10000.0)
  return (%small,)
}
END
# Here t = -5 hides that a factor is wrong.
cat >scale.gn <<'END'
graph @forward(%x : f32[64] {mean = 0.0, std = 1.0}) {
  %y = torch.mul(%x, 0.001)
  return (%y,)
}
END
expect 0 '^exec  *1  *0  *1  *1  *0 ' "$graphnet" bench cancel.gn --backend exec --exec "$(compiler 10000.0 0.0)" \
  $quick --tolerance derived -o cancel
grep -q '^FAIL cancel.gn: exec: accuracy$' out.txt || { cat out.txt; fail "t = -5"; }
grep -q '^ROUNDING cancel.gn: exec: rounding: 0[.0-9e-]* of what rounding explains; derived t = -2$' out.txt ||
  { cat out.txt; fail "the line of rounding"; }
grep -q '\[Rounding\] rounding from t = -2: rounding: ' cancel/exec.log || fail "the log"
expect 0 '^exec  *1  *1  *0  *1 ' "$graphnet" bench scale.gn --backend exec --exec "$(compiler 0.001 0.001000004)" \
  $quick --tolerance derived -o scale
grep -q '^ROUNDING scale.gn: exec: beyond rounding: [0-9]* times; derived t = ' out.txt || { cat out.txt; fail beyond; }
# Without the option there is no such line.
expect 0 '^exec  *1  *1 ' "$graphnet" bench scale.gn --backend exec --exec "$(compiler 0.001 0.001000004)" \
  $quick -o fixed
! grep -q -i rounding out.txt fixed/exec.log || fail "fixed tolerances"

# --- The score, and what is otherwise than at t = -5.
cat cancel/exec.log scale/exec.log >both.log
"$graphnet" score both.log --html both.html >out.txt
grep -q '^ES(derived) .*: of 2 samples, rounding says whether they are right; 2 are otherwise than at t = -5$' out.txt ||
  { cat out.txt; fail score; }
grep -q '^  right  cancel.gn, rounding: ' out.txt && grep -q '^  wrong  scale.gn, beyond rounding: ' out.txt ||
  { cat out.txt; fail changes; }
grep -q '"derived":{"es":' both.html || fail "the page"
"$graphnet" score both.log --json >both.json
python3 - <<'END'
import json, math
curve = json.load(open("both.json"))["curves"][0]
derived = curve["derived"]
lines = [json.loads(open(f"{name}/exec.jsonl").read()) for name in ("cancel", "scale")]
assert [line["rounding"]["verdict"] for line in lines] == ["rounding", "beyond"], lines
# The mean of the logarithms of a speedup and of the value of a failure.
expected = math.exp((math.log(round(lines[0]["speedup"], 5)) + math.log(0.1)) / 2)
assert abs(derived["ES"] - expected) < 1e-3 * expected, (derived, expected)
assert [(change["path"], change["right"]) for change in derived["changes"]] == [
    ("cancel.gn", True), ("scale.gn", False)], derived
END

# --- Against a reference, the verdict counts: right by rounding passes, and beyond it fails.
"$graphnet" bench cancel.gn scale.gn --backend nope --warmup 0 --trials 2 --record ref -o recorded >out.txt
expect 0 '^ROUNDING cancel.gn: exec: rounding: ' "$graphnet" bench cancel.gn --backend exec \
  --exec "$(compiler 10000.0 0.0)" $quick --against ref
expect 1 '^ROUNDING scale.gn: exec: beyond rounding: ' "$graphnet" bench scale.gn --backend exec \
  --exec "$(compiler 0.001 0.001000004)" $quick --against ref
expect 1 '^FAIL cancel.gn: exec: accuracy' "$graphnet" bench cancel.gn --backend exec \
  --exec "$(compiler 10000.0 0.0)" $quick --against ref --tolerance fixed
# A rewrite rounds otherwise, and is explained.
expect 0 '^pass:fold-batch-norm  *1  *1  *1  *0 ' "$graphnet" bench "$samples"/resnet.pt --backend pass:fold-batch-norm \
  --warmup 0 --trials 2 --tolerance derived --strict
