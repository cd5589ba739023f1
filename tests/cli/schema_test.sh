#!/usr/bin/env bash
# Programs that call operators which a schema declares: --schema, and errors.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }
# refused MESSAGE ARGUMENT…: the exit code is 2, and one line is printed.
refused() {
  local message=$1 out code=0
  shift
  out=$("$graphnet" "$@" 2>&1 >/dev/null) || code=$?
  [ "$code" = 2 ] || fail "exit code $code of: $*: $out"
  [ "$(grep -c . <<<"$out")" = 1 ] || fail "more than one line: $out"
  contains "$out" "$message"
}

cat >net.gn <<'END'
graph @forward(%x : f32[2, 3]@cpu, %w : f32[4, 3]@cpu) {
  %a = torch.nn.functional.linear(%x, %w)
  %o = torch.ops.mylib.observe(%a, scale = 2.0)
  %s = mylib.split2.default(%o)
  %s0 = operator.getitem(%s, 0)
  %s1 = operator.getitem(%s, 1)
  %c = torch.cat((%s1, %s0), 1)
  %r = torch.relu(%c)
  return (%r,)
}
END
# The same program with PyTorch's operators.
cat >plain.gn <<'END'
graph @forward(%x : f32[2, 3]@cpu, %w : f32[4, 3]@cpu) {
  %a = torch.nn.functional.linear(%x, %w)
  %o = torch.mul(%a, 2.0)
  %s0 = torch.narrow(%o, 1, 0, 2)
  %s1 = torch.narrow(%o, 1, 2, 2)
  %c = torch.cat((%s1, %s0), 1)
  %r = torch.relu(%c)
  return (%r,)
}
END
printf 'graph @forward(%%x, %%s) {\n  %%y = torch.mul(%%x, %%s)\n  return (%%y,)\n}\n' >scale.gn
cat >split.gn <<'END'
graph @forward(%x) {
  %n = aten.narrow.default(%x, 1, 0, 2)
  %c = aten.clone.default(%n)
  %m = aten.narrow.default(%x, 1, 2, 2)
  %d = aten.clone.default(%m)
  return (%c, %d)
}
END
cat >operators.txt <<'END'
# The schemas of the operators that observe and split.
mylib::observe(Tensor x, float scale=1.0) -> Tensor = scale.gn

mylib::split2(Tensor x) -> (Tensor, Tensor) = split.gn
END
schema=(--schema operators.txt)
equal() {
  contains "$("$graphnet" diff-run plain.gn "$1" "${schema[@]}" --input 'x=f32[2,3]' --input 'w=f32[4,3]')" \
    "o0   bit-equal"
}

# It runs, also in pieces, its shapes are inferred, and every format that can name it accepts it.
refused "load the library with --library" run net.gn
equal net.gn
contains "$("$graphnet" shapes net.gn "${schema[@]}")" \
  '%s = mylib.split2.default(%o) : (f32[2, 2], f32[2, 2])'
"$graphnet" decompose net.gn --pieces 3 --to protobuf -o pieces "${schema[@]}" >/dev/null
contains "$("$graphnet" validate net.gn pieces --run "${schema[@]}")" "1 of 1 outputs bit-equal"
for out in net.pt2 net.pt net.pb folder; do
  "$graphnet" convert net.gn "$out" "${schema[@]}" 2>/dev/null
  equal "$out"
done
"$graphnet" convert net.gn net.mlir "${schema[@]}"
contains "$(cat net.mlir)" '"torch.operator"(%a, %float) {name = "torch.mylib.observe"}'
contains "$("$graphnet" check net.gn --for onnx "${schema[@]}" || true)" \
  "torch.ops.mylib.observe.default      1  the exporter takes ATen's overloads only"
"$graphnet" opt net.gn -p 'change-dtype{to=f64}' -o double.pb "${schema[@]}" >/dev/null
contains "$("$graphnet" run double.pb "${schema[@]}")" "f64[2, 4]"
contains "$("$graphnet" bench net.gn --backend jit -o bench --warmup 0 --trials 1 "${schema[@]}")" "jit"
grep -q "correct.*1\|\[Result\].*success" bench/jit.log || fail "bench: $(cat bench/jit.log)"

# PyTorch can read the written program.
if python3 -c 'import torch' 2>/dev/null; then
  python3 - <<'END'
import torch
library = torch.library.Library("mylib", "FRAGMENT")
library.define("observe(Tensor x, float scale=1.0) -> Tensor")
library.impl("observe", lambda x, scale=1.0: x * scale, "CompositeExplicitAutograd")
library.define("split2(Tensor x) -> (Tensor, Tensor)")
library.impl("split2", lambda x: (x[:, :2].clone(), x[:, 2:].clone()), "CompositeExplicitAutograd")
x, w = torch.randn(2, 3), torch.randn(4, 3)
y = torch.nn.functional.linear(x, w) * 2
expected = torch.relu(torch.cat((y[:, 2:], y[:, :2]), 1))
for program in (torch.export.load("net.pt2").module(), torch.jit.load("net.pt")):
    assert torch.equal(program(x, w)[0], expected)
END
fi

# =identity copies; a schema alone cannot run.
cat >one.gn <<'END'
graph @forward(%x : f32[2]@cpu) {
  %y = mylib.observe.default(%x)
  %z = aten.add_.Tensor(%y, 1)
  return (%x, %y)
}
END
sed 's/mylib.observe.default/aten.clone.default/' one.gn >clone.gn
identity=(--schema 'mylib::observe(Tensor x, float scale=1.0) -> Tensor=identity')
contains "$("$graphnet" diff-run clone.gn one.gn "${identity[@]}")" "o0   bit-equal"
refused "mylib::observe is declared without a body" run one.gn --schema 'mylib::observe(Tensor x) -> Tensor'
"$graphnet" check one.gn --calls --schema 'mylib::observe(Tensor x) -> Tensor' >/dev/null

# Facts before a schema: sizes without a body, and writes that passes know.
cat >facts.txt <<'END'
= softmax mylib::soft(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
broadcast common - mylib::mix(Tensor a, Tensor b) -> Tensor
= mul mylib::scale_(Tensor(a!) self, Tensor other) -> Tensor(a!)
END
cat >facts.gn <<'END'
graph @forward(%x : f32[4, 8]@cpu, %y : f32[8]@cpu) {
  %m = mylib.mix.default(%x, %y)
  %s = mylib.soft.default(%m, 1)
  %w = mylib.scale_.default(%s, %y)
  return (%s,)
}
END
contains "$("$graphnet" shapes facts.gn --schema facts.txt)" \
  '%s = mylib.soft.default(%m, 1) : f32[4, 8]'
"$graphnet" opt facts.gn -p functionalize -o functional.gn --schema facts.txt >/dev/null
contains "$(cat functional.gn)" "%w = aten.mul.Tensor(%s, %y)"
contains "$("$graphnet" shard functional.gn --mesh 2 --shard x:0,-1 --schema facts.txt)" \
  "1 of 1 outputs"
refused '"some" is not a word for sizes; known: ' check facts.gn \
  --schema 'some common - mylib::mix(Tensor a, Tensor b) -> Tensor'

# Schemas that cannot be read, clash, or do not fit.
refused "aten is PyTorch's own namespace" run one.gn --schema 'aten::observe(Tensor x) -> Tensor'
refused "the operator exists already" run one.gn "${identity[@]}" "${identity[@]}"
refused "unknown type specifier" run one.gn --schema 'mylib::observe(Tenser x) -> Tensor'
refused "a schema needs a result" run one.gn --schema 'mylib::observe(Tensor x)'
refused "needs a namespace" run one.gn --schema 'observe(Tensor x) -> Tensor'
refused "identity returns the tensors" run one.gn --schema 'mylib::observe(int x) -> Tensor=identity'
refused "its body takes 2 values, its schema 1" run one.gn --schema 'mylib::observe(Tensor x) -> Tensor=scale.gn'
refused "none.gn: no such file" run one.gn --schema 'mylib::observe(Tensor x) -> Tensor=none.gn'
refused "cannot open missing.txt" run one.gn --schema missing.txt
printf 'mylib::f(Tensor x) -> Tensor\nmylib::g\n' >bad.txt
refused "bad.txt:2: expected a schema" run one.gn --schema bad.txt
# A body that calls its own operator.
printf 'graph @forward(%%x) {\n  %%y = mylib.observe.default(%%x)\n  return (%%y,)\n}\n' >self.gn
refused "its body: mylib.observe.default (node y)" run one.gn --schema 'mylib::observe(Tensor x) -> Tensor=self.gn'
echo PASSED
