#!/usr/bin/env bash
# Samples of PyTorch become samples of Paddle, with a report and a list. Samples of Paddle are
# checked, shown and decomposed. Bad input prints one line. tests/tools/check_paddle.py runs them.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }
refuses() {  # message, command: status 2, one line
  local want=$1 out status=0
  shift
  out=$("$@" 2>&1 >/dev/null) || status=$?
  [ "$status" -ne 0 ] || fail "accepted: $*"
  [ "$(wc -l <<<"$out")" -eq 1 ] || fail "more than a line: $out"
  contains "$out" "$want"
}

sample() {  # folder, statements of forward(self, x, w) after the head
  mkdir -p "$1"
  cat >"$1/model.py" <<END_OF_MODEL
import torch

class GraphModule(torch.nn.Module):
    def forward(self, L_x_ : torch.Tensor, L_w_ : torch.nn.parameter.Parameter):
        l_x_ = L_x_
        l_w_ = L_w_
$2
END_OF_MODEL
  for name in L_x_ L_w_; do
    printf 'class Program_weight_tensor_meta_%s:\n    name = "%s"\n    shape = [4, 4]\n' $name $name
    printf '    dtype = "torch.float32"\n    device = "cuda:0"\n    mean = 0.0\n    std = 1.0\n\n\n'
  done >"$1/weight_meta.py"
  echo '{"framework": "torch", "num_devices_required": 1, "other": "kept"}' >"$1/graph_net.json"
}

sample all/a/good "        linear = torch._C._nn.linear(l_x_, l_w_);  l_x_ = None
        gelu = torch._C._nn.gelu(linear, approximate = 'tanh')
        cat = torch.cat((gelu, l_w_), dim = 1)
        to = cat.to(torch.float16)
        relu = torch.relu_(to)
        return (relu, linear)"
sample all/b/bad "        pool = torch.nn.functional.max_pool1d(l_x_, 2, dilation = 2)
        relu = torch.relu(pool)
        return (relu,)"
sample all/alone "        return (l_x_,)"

# --- One sample ---
"$graphnet" convert all/a/good --to paddle -o good >/dev/null
model=$(cat good/model.py)
contains "$model" 'import paddle'
contains "$model" 'class GraphModule(paddle.nn.Layer):'
contains "$model" 'paddle.compat.nn.functional.linear(input=l_x_, weight=l_w_)'
contains "$model" 'paddle.nn.functional.gelu(x=linear, approximate=True)'
contains "$model" 'paddle.cast(x=cat, dtype="float16")'
contains "$model" 'L_w_: paddle.base.framework.EagerParamBase'
grep -q torch good/model.py good/weight_meta.py && fail "torch is left"
contains "$(cat good/weight_meta.py)" 'dtype = "paddle.float32"'
contains "$(cat good/weight_meta.py)" 'device = "gpu:0"'
contains "$(cat good/graph_net.json)" '    "framework": "paddle",'
contains "$(cat good/graph_net.json)" '    "other": "kept"'
python3 -m py_compile good/model.py || fail "no Python"

# --- Samples of Paddle ---
contains "$("$graphnet" check good)" '1 passed, 0 failed'
contains "$("$graphnet" show good)" '%cat = paddle.concat(x = (%gelu, %l_w_), axis = 1)'
contains "$("$graphnet" stats good)" 'paddle.concat'
"$graphnet" decompose good --at 2 -o pieces >/dev/null
for piece in pieces/*/; do
  [ -f "$piece/model.py" ] || continue
  contains "$(cat "$piece/model.py")" 'class GraphModule(paddle.nn.Layer):'
  contains "$(cat "$piece/graph_net.json")" '"framework": "paddle"'
done
contains "$("$graphnet" check pieces)" '0 failed'
"$graphnet" convert good --to paddle -o again >/dev/null
cmp good/model.py again/model.py
"$graphnet" convert good -o good.pb
"$graphnet" convert good.pb -o from_pb
cmp good/model.py from_pb/model.py

# --- A folder of samples, with a report and a list ---
status=0
out=$("$graphnet" convert all --to paddle -o out --report r.json 2>&1) || status=$?
[ "$status" -eq 2 ] || fail "status $status of a folder with one that fails"
contains "$out" 'all/b/bad: no calls of Paddle: torch.nn.functional.max_pool1d (Paddle has no dilation)'
contains "$out" '2 passed, 1 failed'
[ "$(cat out/torch_to_paddle_samples_list_full.txt)" = $'a/good\nalone' ] || fail "list"
[ ! -e out/b/bad ] || fail "a sample with calls of both was written"
python3 - <<'END_OF_PYTHON'
import json
report = json.load(open("r.json"))
assert report["total"] == 3 and report["success"] == 2 and report["failed"] == 1, report
bad = report["samples"]["b/bad"]
assert bad["conversion_status"] == "failed" and bad["api_convert_rate"] == 50.0, bad
assert bad["api_unsupported_list"] == ["torch.nn.functional.max_pool1d"], bad
good = report["samples"]["a/good"]
assert good["api_unsupported_list"] == [] and good["api_convert_rate"] == 100.0, good
assert report["samples"]["alone"]["api_convert_rate"] is None
assert report["converted_calls"] == report["num_calls"] - 1
END_OF_PYTHON
printf '# some\na/good  # this one\n\n' >list.txt
"$graphnet" convert all --list list.txt --to paddle -o listed >/dev/null
[ "$(cat listed/torch_to_paddle_samples_list_full.txt)" = a/good ] || fail "listed"
[ ! -e listed/alone ] || fail "not in the list"

# --- The written samples are run by stand-ins for Paddle that compute nothing ---
# Each is an environment, whose Python answers only by the name of the sample.
environment() {  # folder, body of run(sample)
  mkdir -p "$1/bin"
  printf '#!/bin/bash\nexport PYTHONPATH=%q\nexec python3 "$@"\n' "$PWD/$1/site" >"$1/bin/python"
  chmod +x "$1/bin/python"
  mkdir -p "$1/site/paddle/nn" "$1/site/numpy"
  [ -n "$2" ] || return 0
  cat >"$1/site/paddle/__init__.py" <<END
import contextlib, os, sys, time
__version__ = "0.stand-in"
class device:
    set_device = staticmethod(lambda name: None)
no_grad = contextlib.nullcontext
seed = lambda number: None
class Value:
    def reshape(self, shape): return self
    def astype(self, dtype): return self
    def __mul__(self, other): return self
    def __add__(self, other): return self
to_tensor = lambda value: value
float32 = None
class base:
    class framework:
        EagerParamBase = None
class Tensor: pass
class compat: pass
def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return lambda *args, **kwargs: run(name)
def run(name):
$2
END
  cat >"$1/site/paddle/nn/__init__.py" <<'END'
class Layer:
    def eval(self): pass
    def __call__(self, *args): return self.forward(*args)
END
  echo "import paddle.nn" >>"$1/site/paddle/__init__.py"
  cat >"$1/site/numpy/__init__.py" <<'END'
from paddle import Value
asarray = lambda *args: Value()
clip = nan_to_num = lambda value, *args, **kwargs: value
class random:
    def default_rng(seed): return random()
    def standard_normal(self, shape, dtype): return Value()
END
}

for call in tanh sin cos exp sqrt; do
  sample "runs/$call" "        out = torch.$call(l_x_);  l_x_ = None
        return (out,)"
done
environment works '    if name == "tanh": raise ValueError("\n\nnot tanh\nsecond line")
    if name == "sin": time.sleep(600)
    if name == "cos":
        while True: print("x" * 4096)
    if name == "exp": os._exit(3)'
status=0
out=$("$graphnet" convert runs --to paddle -o ran --paddle-python works --timeout 3 --report r.json 2>&1) ||
  status=$?
[ "$status" -eq 2 ] || fail "status $status of samples that do not run: $out"
contains "$out" '1 of 5 that were written ran in Paddle 0.stand-in'
contains "$out" 'runs/tanh: in Paddle 0.stand-in: ValueError: not tanh'
contains "$out" 'runs/sin: in Paddle 0.stand-in: '
[ "$(grep -c FAIL <<<"$out")" -eq 4 ] || fail "a line each: $out"
[ "$(cat ran/torch_to_paddle_samples_list_full.txt)" = $'cos\nexp\nsin\nsqrt\ntanh' ] || fail "list"
[ "$(cat ran/torch_to_paddle_samples_list.txt)" = sqrt ] || fail "list of what ran"
python3 - <<'END_OF_PYTHON'
import json
report = json.load(open("r.json"))
assert report["success"] == 5 and report["run_success"] == 1 and report["run_failed"] == 4, report
assert report["samples"]["sqrt"]["run_status"] == "success"
assert report["errors"]["run"] == [
    {"message": "in Paddle 0.stand-in: ValueError: not tanh", "count": 1, "samples": ["tanh"]}], report["errors"]
classes = {name: report["samples"][name]["run_error"]["class"] for name in ("sin", "cos", "exp")}
assert classes == {"sin": "time limit", "cos": "limit of memory or output", "exp": "crash"}, classes
END_OF_PYTHON
# The list of an earlier run must not stay.
"$graphnet" convert runs --to paddle -o ran >/dev/null
[ ! -e ran/torch_to_paddle_samples_list.txt ] || fail "the second list of an earlier run is there"
environment without ""
rm -r without/site/paddle
refuses "without/bin/python cannot run Paddle: ModuleNotFoundError: No module named 'paddle'" \
  "$graphnet" convert runs --to paddle -o unwritten --paddle-python without
refuses 'nowhere is not a program that can be run' \
  "$graphnet" convert runs --to paddle -o unwritten --paddle-python nowhere
mkdir empty
refuses 'empty/bin/python is not a program that can be run' \
  "$graphnet" convert runs --to paddle -o unwritten --paddle-python empty
printf '#!/bin/bash\nexit 1\n' >dies && chmod +x dies
refuses 'dies cannot run Paddle' "$graphnet" convert runs --to paddle -o unwritten --paddle-python dies
[ ! -e unwritten ] || fail "written before it was known that Paddle is there"
refuses '--paddle-python is for --to paddle' \
  "$graphnet" convert runs -o unwritten --to text --paddle-python works
"$graphnet" convert runs/sqrt --to paddle -o one --paddle-python works >/dev/null
refuses 'in Paddle 0.stand-in: ValueError: not tanh' \
  "$graphnet" convert runs/tanh --to paddle -o one --paddle-python works

# --- The page of one call ---
page=$("$graphnet" paddle-map torch.Tensor.addmm)
contains "$page" 'torch.Tensor.addmm(self, mat1, mat2, *, beta=1, alpha=1)'
contains "$page" 'class 1, direct: `paddle.addmm('
contains "$page" '| `mat1` | `x` |'
contains "$page" '%r = paddle.addmm('

# --- Attention that PyTorch has fused for inference becomes steps that Paddle has. ---
cat >fused.gn <<'END'
graph @forward(%q : f32[2, 5, 8], %w : f32[24, 8], %b : f32[24], %p : f32[8, 8], %c : f32[8]) {
  %r = aten._native_multi_head_attention.default(%q, %q, %q, 8, 2, %w, %b, %p, %c)
  %o = operator.getitem(%r, 0)
  return (%o,)
}
END
"$graphnet" convert fused.gn -o attention --to paddle >/dev/null
contains "$(cat attention/model.py)" "paddle.nn.functional.softmax"
! grep -q _native attention/model.py || fail "fused attention is left"

# --- Bad input ---
refuses 'no calls of Paddle: torch.nn.functional.max_pool1d' "$graphnet" convert all/b/bad --to paddle -o no
[ ! -e no ] || fail "half a sample"
echo a/none >bad.txt
refuses 'FAIL all/a/none: no such file or folder' "$graphnet" convert all --list bad.txt --to paddle -o no
printf 'alone\na/../alone\n' >bad.txt
refuses 'bad.txt:2:1: alone is in line 1, too' "$graphnet" convert all --list bad.txt --to paddle -o no
echo ../all/alone >bad.txt
refuses 'is not a path below IN' "$graphnet" convert all --list bad.txt --to paddle -o no
echo "# none" >bad.txt
refuses 'names no sample' "$graphnet" convert all --list bad.txt --to paddle -o no
refuses 'FAIL good/a/good: no such file or folder' "$graphnet" convert good --list list.txt --to paddle -o no
refuses '--report is for --to paddle' "$graphnet" convert good --report r.json --to text -o no.gn
cp -r good wrong
sed -i 's/super().__init__()/&\n        self.fc = paddle.nn.Linear(4, 4)/' wrong/model.py
refuses 'wrong/model.py:7:9: a sample that defines modules of its own is not a graph' "$graphnet" show wrong
cp good/model.py wrong/model.py
sed -i 's/"paddle"/"jax"/' wrong/graph_net.json
refuses 'graph_net.json: the framework "jax" is neither "torch" nor "paddle"' "$graphnet" show wrong
sed -i 's/"jax"/"torch"/' wrong/graph_net.json
refuses "wrong/model.py:1:8: module 'paddle' may not be imported" "$graphnet" show wrong
refuses 'paddle' "$graphnet" run good
echo PASSED
