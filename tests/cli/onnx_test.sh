#!/usr/bin/env bash
# `graphnet convert` to ONNX: with a fake exporter, and with the real one if it is installed.
set -euo pipefail
graphnet=$PWD/$1
installed=${GRAPHNET_BACKENDS:-${HOME:-/nonexistent}/.local/share/graphnet/backends}
cd "$TEST_TMPDIR"
fail() { echo "FAILED: $*" >&2; exit 1; }
# expect CODE MESSAGE COMMAND…: the command exits with CODE, and the output contains MESSAGE.
expect() {
  local wanted=$1 message=$2 code=0
  shift 2
  "$graphnet" "$@" >out.txt 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || fail "$*: exit code $code, wanted $wanted: $(cat out.txt)"
  grep -qF -- "$message" out.txt || fail "$*: no '$message' in: $(cat out.txt)"
  [ "$code" -eq 0 ] || [ "$(wc -l <out.txt)" -eq 1 ] || fail "$*: more than a line: $(cat out.txt)"
}
# Lists the files beside the samples, including hidden ones.
there() { find . -mindepth 1 -name '*onnx*' ! -path './backends*' | sort | tr '\n' ' '; }

cat >writes.gn <<'END'
graphnet.module 1

symbol s0 = 3
graph @forward(%x "L_x_" : f32[s0, 4] as torch.Tensor {mean = 0.5, std = 1.0}, %w : f32[4, 4] {mean = 0.0, std = 1.0}) {
  %y = torch.matmul(%x, %w)
  %z = .add_(%x, 1)
  return (%y, %w, %y)
}
end
END

# --- Nothing is installed.
export GRAPHNET_BACKENDS=$PWD/backends
expect 2 "which is not installed: graphnet backends --install onnxruntime" convert writes.gn a.onnx
expect 1 "which is not installed" opt writes.gn --passes=dce -o a.bin --to onnx
[ -z "$(there)" ] || fail "left: $(there)"

# --- An exporter that records its requests, or fails as $FAULT says.
mkdir -p backends/onnxruntime/bin
cat >backends/onnxruntime/bin/python <<'END'
#!/usr/bin/env python3
import json, os, sys, zipfile
answers = os.fdopen(3, "w")
for line in sys.stdin:
    request = json.loads(line)
    answer, fault = {"ok": True, "name": "onnxruntime", "version": "0"}, os.environ.get("FAULT")
    if request["verb"] == "export":
        assert any(name.endswith("models/model.json") for name in zipfile.ZipFile(request["program"]).namelist())
        with open("count", "a") as count:
            count.write("x")
        if fault != "nothing":
            json.dump({**request, "count": os.path.getsize("count")}, open(request["out"], "w"))
        if fault == "data":
            open(request["out"] + ".data", "w").write("weights")
        if fault == "die":
            open(request["out"] + ".data", "w").write("weights")
            print("Error: about to die", flush=True)
            os._exit(1)
        if fault == "refuse":
            answer = {"ok": False, "stage": "compile", "error": "No ONNX function found for aten.foo.default"}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
END
chmod +x backends/onnxruntime/bin/python
"$graphnet" convert writes.gn a.onnx
python3 - <<'END'
import json
asked = json.load(open("a.onnx"))
# The values that it writes to its inputs are returned, too.
assert asked["inputs"] == ["L_x_", "w"] and asked["outputs"] == ["y", "w", "y", "z"], asked
END
[ "$(there)" = "./a.onnx " ] || fail "left: $(there)"
FAULT=data "$graphnet" opt writes.gn --passes=dce -o b.bin --to onnx
[ -s b.bin ] && [ "$(cat b.bin.data)" = weights ] || fail "no data"
"$graphnet" convert writes.gn - --to onnx >c.onnx
grep -q '"outputs": \["y", "w", "y", "z"\]' c.onnx || fail "the standard output"
rm c.onnx
FAULT=refuse expect 2 "No ONNX function found for aten.foo.default" convert writes.gn no.onnx
FAULT=die expect 2 "Error: about to die" convert writes.gn no.onnx
FAULT=nothing expect 2 "garbage" convert writes.gn no.onnx
expect 2 "" convert writes.gn a.onnx/no.onnx
FAULT=refuse expect 2 "aten.foo.default" convert writes.gn new/sub/no.onnx
[ ! -e new ] || fail "a failure leaves the folders that were made for it"
[ "$(there)" = "./a.onnx " ] || fail "left: $(there)"
# Many samples use one exporter per thread.
mkdir many
for i in 1 2 3 4; do cp writes.gn "many/$i.gn"; done
expect 0 "4 passed, 0 failed" convert many -o all --to onnx -j1
[ "$(cat all/*.onnx | grep -o '"count": [0-9]*' | sort | tr -d '\n')" = '"count": 1"count": 2"count": 3"count": 4' ] ||
  fail "$(cat all/*.onnx)"
expect 0 "4 passed, 0 failed" convert many -o both --to onnx --jobs 2
[ "$(ls both | tr '\n' ' ')" = "1.onnx 2.onnx 3.onnx 4.onnx " ] || fail "two exporters: $(ls both)"
left=$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'graphnet.*' -newer writes.gn | head)
[ -z "$left" ] || fail "left: $left"

# --- The real exporter: other programs check and run its output.
export GRAPHNET_BACKENDS=$installed
python=$installed/onnxruntime/bin/python
if [ ! -x "$python" ]; then
  echo "SKIPPED the exporter itself: graphnet backends --install onnxruntime"
  echo PASSED
  exit 0
fi
"$graphnet" convert writes.gn real.onnx
cat >weights.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[2, 3] {mean = 0.5, std = 1.0}) {
  %y = torch.special.airy_ai(%x)
  return (%y,)
}
end
END
expect 2 "aten.special_airy_ai.default" convert weights.gn no.onnx
[ ! -e no.onnx ] || fail "written in spite of the error"
"$python" - <<'END'
import numpy, onnx, onnxruntime
onnx.checker.check_model("real.onnx", full_check=True)
model = onnx.load("real.onnx")
assert [(i.domain, i.version) for i in model.opset_import if not i.domain] == [("", 18)], model.opset_import
sizes = [[d.dim_param or d.dim_value for d in i.type.tensor_type.shape.dim] for i in model.graph.input]
assert sizes == [["s0", 4], [4, 4]], sizes
session = onnxruntime.InferenceSession("real.onnx", providers=["CPUExecutionProvider"])
assert [i.name for i in session.get_inputs()] == ["L_x_", "w"]
assert [o.name for o in session.get_outputs()] == ["y", "w_1", "y_1", "z"]
x, w = numpy.random.rand(5, 4).astype("f"), numpy.random.rand(4, 4).astype("f")
y, w1, y1, z = session.run(None, {"L_x_": x, "w": w})
assert numpy.allclose(y, x @ w, atol=1e-5) and (y == y1).all() and (w1 == w).all() and (z == x + 1).all()
END
echo PASSED
