#!/usr/bin/env bash
# `graphnet bench --locate`: samples that fail are reduced, grouped by cause, and become tests in Python.
set -euo pipefail
source tests/cli/expect.sh
graphnet=$PWD/$1
evaluate=$PWD/tests/evaluate
cd "$TEST_TMPDIR"
faulty="$evaluate/five_faults.sh $graphnet"
quick="--exec-reads graphnet --warmup 0 --trials 1"

python3 "$evaluate/chains.py" in 10
"$graphnet" bench in --backend exec --exec "$faulty" $quick --locate -o out >out.txt 2>&1 ||
  { cat out.txt; fail locate; }
grep -q '^10 samples fail for 5 causes$' out.txt || { cat out.txt; fail "five causes"; }
python3 - <<'END'
import json, os
made = json.load(open("out/causes.json"))
causes = made["causes"]
assert made["unknown"] == [], made
assert [(cause["operators"], cause["failure"]) for cause in causes] == [
    ("aten.gelu", "accuracy"), ("aten.sigmoid", "accuracy"), ("aten.sub", "accuracy"),
    ("aten.tanh", "compile_fail: no kernel for tanh"), ("aten.erf", "compile_fail: erf has no lowering")], causes
for number, cause in enumerate(causes):
    # The fault of a sample is known from its number.
    assert cause["samples"] == [f"in/chain_{number:02}.gn", f"in/chain_{number + 5:02}.gn"], cause
    assert cause["size"] == 1 and os.path.exists(cause["reduced"]), cause
    text = open(cause["test"]).read()
    compile(text, cause["test"], "exec")
    assert "graphnet" not in text, cause["test"]
END

# --- A benchmark that goes on keeps its causes and looks for no more than the new ones.
cp in/chain_00.gn in/chain_10.gn
cp in/chain_01.gn in/chain_11.gn
python3 "$evaluate/chains.py" more 3
"$graphnet" bench in more --backend exec --exec "$faulty" $quick -o later >out.txt 2>&1
"$graphnet" bench --resume later --locate >out.txt 2>&1 || { cat out.txt; fail resume; }
grep -q '^15 samples fail for 5 causes$' out.txt || { cat out.txt; fail "causes of all"; }
"$graphnet" bench --resume later --locate >again.txt 2>&1
! grep -q LOCATED again.txt || { cat again.txt; fail "located twice"; }
grep -q '^15 samples fail for 5 causes$' again.txt || { cat again.txt; fail "kept causes"; }

# --- The page lists them.
"$graphnet" score later/exec.log --html page.html >score.txt
grep -q '"causes":\[\[4,"accuracy","aten.gelu","f32","later/causes/1/test_cause.py"\]' page.html ||
  { grep -o '"causes":.\{300\}' page.html; fail page; }
# What the folder has may be of another version; the scores do not need it.
echo '{"version": 2}' >later/causes.json
"$graphnet" score later/exec.log >score.txt 2>&1 || { cat score.txt; fail "other causes"; }
grep -q '^note: later/causes.json: not the causes that this graphnet writes$' score.txt ||
  { cat score.txt; fail "the note"; }

# One sample alone.
"$graphnet" bench in/chain_04.gn --backend exec --exec "$faulty" $quick --locate -o one >out.txt 2>&1
grep -q '^1 sample fails for 1 cause$' out.txt || { cat out.txt; fail "one cause"; }

# --- No time: the sample has no cause, and the others go on. A backend that is right has none.
"$graphnet" bench in/chain_00.gn --backend exec --exec "$faulty" $quick --locate --locate-time 0 -o none >out.txt 2>&1
grep -q '^LOCATED in/chain_00.gn: exec: no cause: the time was up' out.txt || { cat out.txt; fail "no time"; }
grep -q '^without a cause that was found: 1$' out.txt || { cat out.txt; fail "unknown"; }
"$graphnet" bench in/chain_00.gn --backend nope --warmup 0 --trials 1 --locate -o right >out.txt
grep -q '^0 samples fail for 0 causes$' out.txt || { cat out.txt; fail "no causes"; }
