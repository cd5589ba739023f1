#!/usr/bin/env bash
# `graphnet score`: reads logs of either origin, prints, draws, refuses.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"
fail() { echo "FAILED: $*" >&2; exit 1; }

# sample NAME SPEEDUP T: its lines, correct from tolerance T on.
sample() {
  python3 - "$@" <<'END'
import sys
name, speedup, first = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
prompt = "graph-net-test-compiler-log"
grow = ((1, 3 / 5), (1, 1.796 / 5), (1, 5.886 / 5), (7 / 5, 7 / 5))
lines = [f"[Processing] {name}", "[Config] compiler: inductor", "[Config] device: cpu",
         "[Datatype][eager]: float32", "[Datatype][compiled]: float32",
         "[DataType] eager:['float32'] compiled:['float32'] match:True", "[Correctness][equal]: 0"]
lines += [f"[Correctness][all_close_atol_{10 ** (a * t):.2E}_rtol_{10 ** (r * t):.2E}]: {int(t >= first)}"
          for t in range(-10, 6) for a, r in grow]
lines += ["[Correctness][max_diff]: 0.5", "[Correctness][mean_diff]: 0.25", "[Result] status: success",
          f"[Speedup][e2e]: {speedup:.5f}"]
print("\n".join(f"{prompt} {line}" for line in lines))
END
}
crash() {
  printf 'graph-net-test-compiler-log %s\n' "[Processing] $1" "[Config] compiler: inductor" \
    "[Result] status: failed" "[Fail due to compiled model execution error.]"
  printf 'Traceback (most recent call last):\nRuntimeError: out of luck\n'
}

{ sample s/two 2 -10; sample s/half 0.5 -10; sample s/late 1.5 -5; sample s/never 3 9; crash s/crash; } >golden.log

# --- The golden values, printed and as JSON.
"$graphnet" score golden.log >out.txt
grep -q '^golden: 5 samples; p = 0, b = 0.1, interpretation default$' out.txt || { cat out.txt; fail title; }
grep -q '^-10 .* 0\.2512 ' out.txt && grep -q '^  3  0\.4317 .* 1\.0845 ' out.txt || { cat out.txt; fail table; }
grep -q '^micro and macro agree at every t: at most [0-9.e-]* apart$' out.txt || fail cross-check
grep -q '^    1 x RuntimeError: out of luck$' out.txt || fail reason
"$graphnet" score golden.log --json >out.json
"$graphnet" score golden.log --json --p 0.1 >penalty.json
"$graphnet" score golden.log --json --interpretation mismatch_extended >extended.json
"$graphnet" score golden.log --json --interpretation report >report.json
python3 - <<'END'
import json, math
(one,) = json.load(open("out.json"))["curves"]
assert (one["curve"], one["p"], one["b"], one["interpretation"], one["samples"]) == ("golden", 0, 0.1, "default", 5), one
assert list(one["ES"]) == list(one["S"]) == [str(t) for t in range(-10, 5)]
def near(scores, runs, within=5e-5):
    for t, score in scores.items():
        wanted = [value for start, value in runs if start <= int(t)][-1]
        assert abs(score - wanted) < within, (t, score, wanted)
near(one["ES"], [(-10, 0.2512), (-5, 0.4317), (1, 0.6843), (3, 1.0845)])
near(one["S"], [(-10, 0.2512), (-5, 0.4317)])
near(json.load(open("penalty.json"))["curves"][0]["ES"], [(-10, 0.2477), (-5, 0.4258), (1, 0.6748), (3, 1.0695)])
# The crash counts as one of the eager side: it is never forgiven there, but at t = 2 here.
(extended,) = json.load(open("extended.json"))["curves"]
assert list(extended["ES"])[-1] == "5" and extended["thresholds"]["eager"] is None
near(extended["ES"], [(-10, 0.2512), (-5, 0.4317), (1, 0.6843)])
near(json.load(open("report.json"))["curves"][0]["ES"], [(-10, 0.2512), (-5, 0.4317), (1, 0.6843), (2, 1.0845)])
weights = {-7: 0.13, -6: 0.40, **{t: 0.001 for t in (-10, -9, -8)}, **{t: 0.48 for t in range(-5, 5)}}
score = sum(w * math.log10(one["ES"][str(t)]) for t, w in weights.items()) / 5.333
assert abs(score - one["aggregated_score"]) < 1e-9
macro = one["macro"]["-6"]
assert (macro["correct"], macro["slow"], macro["lambda"], macro["eta"], macro["beta"]) == (2, 1, 0.4, 0.5, 0.5), macro
low, high = one["intervals"]["ES"]["0"]
assert low < one["ES"]["0"] < high
assert one["failures"] == {"accuracy": 1, "eager_fail": 1} and one["pi"]["runtime"] == 0.5
assert one["moves_most"][0]["change"] != 0 and not one["notes"]
END

# --- The clock whose speedups count.
sed 's/^\(.*\)\[Speedup\]\[e2e\]: .*/&\n\1[Speedup][gpu]: 4.00000/' golden.log >gpu.log
"$graphnet" score gpu.log --measure gpu >out.txt
grep -q '^gpu: 5 samples; p = 0, b = 0.1, interpretation default, measure gpu$' out.txt || { cat out.txt; fail "--measure gpu"; }
"$graphnet" score gpu.log --measure gpu --json | python3 -c '
import json, sys
(one,) = json.load(sys.stdin)["curves"]
# Two of five samples are right, at a speedup of 4 each.
assert one["measure"] == "gpu" and abs(one["S"]["-10"] - (4 ** 2 * 0.1 ** 3) ** (1 / 5)) < 5e-5, one["S"]
' || fail "--measure gpu --json"
"$graphnet" score gpu.log --measure e2e | sed s/gpu/golden/ | diff - <("$graphnet" score golden.log) || fail "--measure e2e"
code=0
"$graphnet" score gpu.log --measure kernel >out.txt 2>err.txt || code=$?
[ "$code" -eq 2 ] && grep -q 'gpu.log:1: no \[Speedup\]\[kernel\] of sample s/two, which is correct' err.txt || { cat err.txt; fail "--measure kernel"; }

# --- The samples that are wrong at a tolerance, one a line; each once, in whatever logs it is.
"$graphnet" score golden.log --wrong-at -6 >out.txt && diff - out.txt <<'END' || fail "--wrong-at -6"
s/late
s/never
s/crash
END
"$graphnet" score golden.log golden.log --wrong-at -5 2>err.txt >out.txt && diff - out.txt <<'END' || fail "--wrong-at -5"
s/never
s/crash
END
"$graphnet" score golden.log --wrong-at 5 --json | python3 -c '
import json, sys
(one,) = json.load(sys.stdin)["curves"]
assert one["t"] == 5 and one["curve"] == "golden", one
assert one["wrong"] == [{"path": "s/never", "status": "accuracy"}, {"path": "s/crash", "status": "eager_fail"}], one
' || fail "--wrong-at --json"
for t in 6 -11 x; do
  code=0
  "$graphnet" score golden.log --wrong-at "$t" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && [ ! -s out.txt ] && [ "$(wc -l <err.txt)" -eq 1 ] || { cat err.txt; fail "--wrong-at $t"; }
done

# --- From the standard input; a folder has one curve per log; the page and the drawing.
"$graphnet" score - <golden.log | grep -q '^log: 5 samples' || fail "standard input"
mkdir logs
cp golden.log logs/a.log
sample s/two 4 -10 >logs/b.txt
echo nothing >logs/c.md
"$graphnet" score logs --json --svg plot.svg --html page.html >many.json
[ "$(grep -c '"curve":' many.json)" -eq 2 ] && grep -q '"curve": "b"' many.json || fail folder
python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("plot.svg")' || fail svg
grep -q '<title>Scores of 2 logs</title>' page.html || fail page
grep -q '"decision":"On the ' page.html || fail decision
if grep -qE '(src|href)=|url\(|import ' page.html; then fail "the page loads something"; fi

# --- A log that cannot be scored prints one line and has no curve.
refused() {  # MESSAGE FILE [OPTION...]
  local code=0
  "$graphnet" score "${@:2}" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && [ ! -s out.txt ] && [ "$(cat err.txt)" = "graphnet: $1" ] ||
    { cat out.txt err.txt; fail "$2 exits with $code"; }
}
: >empty.log
refused "empty.log: no sample in it: no line has [Processing]" empty.log
head -c 100000 /dev/urandom >garbage.log
refused "garbage.log: no sample in it: no line has [Processing]" garbage.log
grep -v Speedup golden.log >slow.log
refused "slow.log:1: no [Speedup][e2e] of sample s/two, which is correct" slow.log
sed 's/0.50000/nan/' golden.log >nan.log
refused "nan.log:76: no [Speedup][e2e] of sample s/half, which is correct" nan.log
head -c -20 logs/b.txt >cut.log
refused "cut.log:75: the log ends in the middle of this line, in sample s/two" cut.log
{ cat logs/b.txt; printf 'graph-net-test-compiler-log [Processing] s/hal'; } >cut2.log
refused "cut2.log:76: the log ends in the middle of this line, in sample s/hal" cut2.log
{ cat logs/b.txt; printf 'p [Processing] s/half\np [Datatype][eager]: float32 flo'; } >cut3.log
refused "cut3.log:77: the log ends in the middle of this line, in sample s/half" cut3.log
refused "cannot open nowhere.log: No such file or directory" nowhere.log
mkdir none
refused "none: no log in this folder: none ends in .log or .txt" none
for option in "--b 0" "--b 2" "--b nan" "--p -1" "--p inf" "--interpretation mine"; do
  code=0
  # shellcheck disable=SC2086
  "$graphnet" score golden.log $option >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && [ "$(wc -l <err.txt)" -eq 1 ] || { cat err.txt; fail "$option: $code"; }
done
# Other logs are still scored.
code=0
"$graphnet" score golden.log empty.log logs/b.txt --json >out.txt 2>err.txt || code=$?
[ "$code" -eq 2 ] && [ "$(grep -c '"curve"' out.txt)" -eq 2 ] && [ "$(wc -l <err.txt)" -eq 1 ] || fail "one bad log: $code"

# --- Anything odd prints a note, and the scoring goes on.
{ cat golden.log; sample s/two 3 -10; sample s/odd 2 -10 | sed 's/equal\]: 0/equal]: 0 1/'; } >odd.log
"$graphnet" score odd.log >out.txt 2>err.txt
grep -q '^odd: 6 samples' out.txt && diff - err.txt <<'END' || fail notes
note: odd.log:382: the numbers of values and of outputs differ: wrong at every t
note: odd.log:307: a path occurs more than once: the last sample counts
END

# --- A million lines.
python3 -c '
import sys
print("p [Processing] a")
for i in range(1000000): print(f"line {i} [of] something else: Error")
print("p [Processing] " + "b" * 1000000)'  >long.log
timeout 20 "$graphnet" score long.log >out.txt || fail "long.log"
# Too many of each kind of record that is kept.
python3 -c '
for sample in "ab":
    print(f"p [Processing] {sample}")
    for i in range(100000):
        print(f"p [Config] k{i}: {i}\np [Speedup][m{i}]: 1.00000\np [Datatype][eager]: int64")
    print("p [Datatype][eager]: " + "int64 " * 100000)
    for i in range(100): print("p [Correctness][equal]: " + "1 " * 100000)' >wide.log
timeout 20 "$graphnet" score wide.log >wide.txt 2>&1 || fail "wide.log"
grep -q '^long: 2 samples' out.txt || fail "long.log"
# --- Two logs of one compiler: what changed, computed again in Python from their lines.
changing() {  # SEED
  python3 - "$1" <<'END'
import random, sys
draw = random.Random(int(sys.argv[1]))
prompt = "graph-net-test-compiler-log"
grow = ((1, 3 / 5), (1, 1.796 / 5), (1, 5.886 / 5), (7 / 5, 7 / 5))
for number in range(200):
    if draw.random() < 0.1:
        continue
    speedup = 2 ** draw.gauss(0, 0.3)
    width = 1 + draw.random() * 0.4
    lines = [f"[Processing] s/{number}", "[Config] compiler: inductor"]
    if draw.random() < 0.1:
        lines += ["[Datatype][eager]: float32", "[Status] compile_fail: out of luck"]
    else:
        first = draw.choice([-10, -5, 0])
        lines += ["[Datatype][eager]: float32", "[Datatype][compiled]: float32",
                  "[DataType] eager:['float32'] compiled:['float32'] match:True"]
        lines += [f"[Correctness][all_close_atol_{10 ** (a * t):.2E}_rtol_{10 ** (r * t):.2E}]: {int(t >= first)}"
                  for t in range(-10, 6) for a, r in grow]
        lines += [f"[Speedup][e2e]: {speedup:.5f}", "[Speedup][kernel]: 9.00000"]
        if draw.random() < 0.9:
            lines += [f"[Interval][e2e]: {speedup / width:.5f} {speedup * width:.5f}"]
    print("\n".join(f"{prompt} {line}" for line in lines))
END
}
changing 1 >one.log
changing 2 >two.log
"$graphnet" score one.log two.log --json >changes.json
"$graphnet" score one.log two.log >changes.txt
python3 - <<'END'
import json, math, re
def read(path):
    samples = {}
    for line in open(path):
        line = line.split(" ", 1)[1].strip()
        tag, _, value = line.partition("] ")
        if tag == "[Processing":
            now = samples[value] = {}
        elif line.startswith("[Correctness][all_close_atol_1.00E-05_rtol_1.30E-06]: 1"):
            now["right"] = True
        elif line.startswith("[Speedup][e2e]"):
            now["speedup"] = float(line.split()[-1])
        elif line.startswith("[Interval]"):
            now["low"], now["high"] = map(float, line.split()[-2:])
    return samples
before, now = read("one.log"), read("two.log")
(change,) = json.load(open("changes.json"))["changes"]
both = before.keys() & now.keys()
right = {path for path in both if before[path].get("right") and now[path].get("right")}
timed = {path for path in right if "low" in before[path] and "low" in now[path]}
wanted = {
    "faster": {path for path in timed if now[path]["low"] > before[path]["high"]},
    "slower": {path for path in timed if now[path]["high"] < before[path]["low"]},
    "broke": {path for path in both - right if before[path].get("right")},
    "mended": {path for path in both - right if now[path].get("right")},
}
for name, paths in wanted.items():
    assert paths and {row["path"] for row in change[name]} == paths, (name, paths, change[name])
    assert len(change[name]) == len(paths), name
assert set(change["only_before"]) == before.keys() - both and set(change["only_now"]) == now.keys() - both
assert (change["in_both"], change["right_in_both"]) == (len(both), len(right)), change
assert change["without_spread"] == len(right - timed) > 0
assert change["as_fast"] == len(timed - wanted["faster"] - wanted["slower"]) > 0
mean = math.exp(sum(math.log(now[path]["speedup"] / before[path]["speedup"]) for path in right) / len(right))
low, high = change["speedup_95"]
assert abs(change["speedup"] - mean) < 1e-4 and low < mean < high, (change["speedup"], mean)
for row in change["faster"] + change["slower"]:
    a, b = before[row["path"]], now[row["path"]]
    assert abs(row["change"] - b["speedup"] / a["speedup"]) < 1e-4, row
    assert abs(row["change_95"][0] - b["low"] / a["high"]) < 1e-4, row
text = open("changes.txt").read()
assert re.search(rf"^two.log against one.log: {len(both)} samples in both, {len(right)} right in both$", text, re.M), text
assert f"\nwithout a spread, and so not judged alone {len(right - timed)}\n" in text, text
assert f"\nbroke {len(wanted['broke'])}\n" in text and "\n  and " in text, text
END
# The exit code says whether all is kept.
code=0; "$graphnet" score one.log two.log --min-speedup 0.9 >/dev/null || code=$?
[ "$code" -eq 1 ] || fail "broken samples exit with $code"
cp one.log again.log
"$graphnet" score one.log again.log --min-speedup 1 >/dev/null || fail "a log against itself"
sed 's/compiler: inductor/compiler: other/' two.log >other.log
"$graphnet" score one.log other.log --json >out.json
! grep -q '"changes"' out.json || fail "two compilers are compared"
code=0; "$graphnet" score one.log other.log --min-speedup 1 >/dev/null 2>err.txt || code=$?
[ "$code" -eq 2 ] && grep -q 'needs two logs of one compiler' err.txt || { cat err.txt; fail "two compilers: $code"; }
echo PASSED
