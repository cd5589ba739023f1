#!/usr/bin/env bash
# `graphnet bench --backend paddle`. Without Paddle, only that it says so.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"
fail() { echo "FAILED: $*" >&2; exit 1; }
quick="--warmup 0 --trials 2"

# The list says what is missing, and a benchmark does not begin.
GRAPHNET_BACKENDS=$PWD/none "$graphnet" backends --json >backends.json
python3 - <<'END'
import json
(row,) = [row for row in json.load(open("backends.json"))["backends"] if row["name"] == "paddle"]
assert (row["reads"], row["found"]) == ("paddle", False), row
assert row["error"] == "not installed: graphnet backends --install paddle", row
END
mkdir -p damaged/paddle/bin
printf '#!/bin/sh\nexec python3 "$@"\n' >damaged/paddle/bin/python
chmod +x damaged/paddle/bin/python
if ! python3 -c 'import paddle' 2>/dev/null; then
  GRAPHNET_BACKENDS=$PWD/damaged "$graphnet" backends >out.txt
  grep -qE '^paddle +not found .*ModuleNotFoundError: No module named' out.txt || { cat out.txt; fail "damaged"; }
fi
cat >plain.gn <<'END'
attribute w : f32[3, 4] {mean = 0.0, std = 1.0}
graph @forward(%x : f32[2, 4] {mean = 0.0, std = 1.0}, %n : i64[2] {min = 0, max = 5}) {
  %s = get_attr w
  %y = torch._C._nn.linear(%x, %s)
  %z = torch.nn.functional.gelu(%y)
  %m = torch.mul(%n, 3)
  %v = .view(%z, (3, 2))
  return (%z, %m, %v)
}
END
code=0
GRAPHNET_BACKENDS=$PWD/none "$graphnet" bench plain.gn --backend paddle -o none >out.txt 2>err.txt || code=$?
[ "$code" -eq 2 ] && grep -q '^graphnet: backend paddle: not installed: ' err.txt || { cat err.txt; fail "exit code $code"; }

place=${GRAPHNET_BACKENDS:-${HOME:-/nowhere}/.local/share/graphnet/backends}
if ! "$place/paddle/bin/python" -c 'import paddle' 2>/dev/null; then
  echo "PASSED, but Paddle is not installed"
  exit 0
fi

# Writes to an input and to an attribute, by a call in place that static programs do not have.
cat >writes.gn <<'END'
attribute state : f32[16] {mean = 1.0, std = 0.5}
graph @forward(%x : f32[16] {mean = 0.0, std = 1.0}, %y : f32[16] {mean = 2.0, std = 1.0}) {
  %s = get_attr state
  %a = torch.relu_(%x)
  %b = .add_(%s, %y)
  %c = torch.add(%x, %b)
  return (%c,)
}
END
cat >half.gn <<'END'
graph @forward(%x : bf16[2, 3] {mean = 0.5, std = 1.0}) {
  %y = torch.transpose(%x, 0, 1)
  return (%y,)
}
END
"$graphnet" bench plain.gn writes.gn half.gn --backend 'paddle,paddle{mode=eager},paddle{mode=cinn}' $quick -o bench >out.txt ||
  { cat out.txt; fail bench; }
python3 - <<'END'
import json
def read(name):
    return {line["path"]: line for line in map(json.loads, open(f"bench/{name}.jsonl"))}
static, eager, cinn = read("paddle"), read("paddle{mode=eager}"), read("paddle{mode=cinn}")
for results in (static, eager):
    assert {path: line["status"] for path, line in results.items()} == {
        "plain.gn": "correct", "writes.gn": "correct", "half.gn": "correct"}, results
assert all(line["proof"].startswith("a program of ") for line in static.values()), static
assert len(static["writes.gn"]["equal"]) == 3, static["writes.gn"]  # the new values, too
assert static["half.gn"]["compiled_dtypes"] == ["bfloat16"]
for line in cinn.values():
    assert line["status"] == "correct" and "CINN" in line["proof"] or \
        (line["status"], line["reason"]) == ("compile_fail", "this Paddle was built without CINN"), line
END
grep -q 'compile_framework_version: paddle ' bench/paddle.log || fail "the version in the log"
"$graphnet" score bench/paddle.log >out.txt || { cat out.txt; fail score; }

# What Paddle lacks is named.
cat >lacks.gn <<'END'
graph @forward(%x : f32[3] {mean = 0.5, std = 0.1}) {
  %y = torch.special.airy_ai(%x)
  return (%y,)
}
END
"$graphnet" bench lacks.gn --backend paddle $quick -o lacks >out.txt 2>err.txt
grep -q 'FAIL lacks.gn: paddle: compile_fail: cannot be written as paddle: no calls of Paddle: ' err.txt ||
  { cat err.txt; fail lacks; }
echo PASSED
