#!/usr/bin/env bash
# resize end to end: rows of a table, runs, what is refused, and going on after a kill.
set -euo pipefail
graphnet=$PWD/$1
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

mkdir -p s/more
cat >in.gn <<'END'
graphnet.module 1

symbol S0 = 1
symbol S1 = 4

graph @forward(%x "L_x_" : i64[S0, S1]@cpu as torch.Tensor {data = [1, 2, 3, 4]}, %w "L_self_words" : f32[10, 6]@cpu as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}, %p "L_self_positions" : f32[5, 6]@cpu as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}) {
  %e = torch.nn.functional.embedding(%x, %w)
  %a = torch.arange(0, 4)
  %q = torch.nn.functional.embedding(%a, %p)
  %s = operator.add(%e, %q)
  %v = .view(%s, 1, 4, 2, 3)
  %t = .transpose(%v, 1, 2)
  %u = .transpose(%t, 2, 3)
  %z = torch.matmul(%t, %u)
  return (%t, %z)
}
end
END
"$graphnet" convert in.gn s/one
cat >nan.gn <<'END'
graphnet.module 1

symbol S0 = 1
symbol S1 = 4

graph @forward(%x "L_x_" : f32[S0, S1]@cpu as torch.Tensor {mean = 0.0, std = 1.0}) {
  %y = torch.log(%x)
  return (%y,)
}
end
END
"$graphnet" convert nan.gn s/more/nan

# --- Each row gives a folder; its numbers, metas and examples are those of the row.
printf '# batch, length\n2 3\n4, 16\n' >table.txt
expect 0 "2 results ran" resize s/one --sizes table.txt -o out
grep -q "torch.arange(0, 16)" out/1/one/model.py || fail "arange"
grep -q "view(4, 16, 2, 3)" out/1/one/model.py || fail "view"
grep -q "S0: 4, S1: 16" out/1/one/input_tensor_constraints.py || fail "constraints"
grep -A 3 "L_self_positions" out/1/one/weight_meta.py | grep -q "shape = \[16, 6\]" || fail "table"
grep -A 3 "L_x_" out/1/one/weight_meta.py | grep -q "shape = \[4, 16\]" || fail "input"
"$graphnet" run out/1/one | grep -q "o0  f32\[4, 2, 16, 3\]" || fail "run"
"$graphnet" check out | grep -q "2 passed, 0 failed" || fail "check"

# --- What gives nan is refused, and the rest of the folder is done.
expect 1 "output o0 has nan or infinity" resize s --sizes table.txt -o both
grep -q "2 results ran, 0 written without a run, 0 there before, 2 refused" out.txt || fail "counts"
[ -e both/0/one ] && [ ! -e both/0/more/nan ] || fail "what is refused is not written"
expect 0 "4 written without a run" resize s --sizes table.txt --no-run -o unrun
expect 0 "1 results ran, 1 written without a run" \
  resize s/one --sizes table.txt --max-gflop 0.000001 -o small

# --- GraphNet's tables.
sed -i 's/{/{\n    "symbolic_dimension_reifier": "naive_nlp_sym_dim_reifier",/' s/one/graph_net.json
expect 0 "9 written without a run" resize s/one --no-run -o nlp
grep -q "view(16, 4096, 2, 3)" nlp/8/one/model.py || fail "the ninth row"
expect 2 "names no table" resize s/more/nan -o none
cp -r s/more/nan other
sed -i 's/{/{\n    "symbolic_dimension_reifier": "z",/' other/graph_net.json
expect 2 "graph_net.json names the table z, which is unknown; give --sizes one" resize other -o none

# --- It goes on where it was killed: what is there stays as it is.
rm -r out/0/one
touch -d "2001-01-01" out/1/one/model.py
expect 0 "1 results ran, 0 written without a run, 1 there before" \
  resize s/one --sizes table.txt -o out --resume
[ "$(date -r out/1/one/model.py +%Y)" = 2001 ] || fail "it was written again"

# --- Lists, and two samples of one name.
printf '# two\ns/one\n\n' >list.txt
expect 0 "2 results ran" resize --list list.txt --sizes table.txt -o listed
[ -e listed/0/s/one ] || fail "the name of a listed sample"
mkdir t && cp -r s/one t/one
expect 2 "s/one and t/one would both be written to twice/INDEX/one" \
  resize s/one t/one --sizes table.txt --no-run -o twice
[ ! -e twice ] || fail "it is told before anything is written"
expect 2 "give samples, folders of samples, or a --list of them" resize --sizes table.txt -o x

# --- Samples without symbols get those that three sizes prove.
sed '/^symbol/d; s/S0, S1/1, 4/' in.gn >static.gn
"$graphnet" convert static.gn fixed
expect 0 "1 results ran" resize fixed --symbols -o given
grep -q "S0: 1, S1: 4" given/fixed/input_tensor_constraints.py || fail "symbols"
cmp given/fixed/model.py fixed/model.py || fail "the numbers are those of before"
expect 0 "2 results ran" resize given/fixed --sizes table.txt -o again
expect 1 "it has symbols already" resize s/one --symbols -o none

# --- The dtype changes, too, where graph_net.json allows it.
expect 0 "2 results ran" resize s/one --sizes table.txt --dtype bfloat16 -o half
grep -q '"dtype_generalization_target_dtype": "bfloat16"' half/bfloat16/1/one/graph_net.json ||
  fail "graph_net.json"
grep -q 'torch.bfloat16' half/bfloat16/1/one/weight_meta.py || fail "dtype"
sed -i 's/{/{\n    "data_type_generalization_passes": ["dtype_generalization_pass_float16"],/' \
  other/graph_net.json
expect 2 "graph_net.json does not list dtype_generalization_pass_bfloat16" \
  resize other --sizes table.txt --dtype bfloat16 -o none

# --- Tables that are wrong.
printf '1 16\n0 16\n' >zero.txt
expect 2 "zero.txt:2: 0 is not a size from 1 to 2147483647" resize s/one --sizes zero.txt -o x
printf '1 -4\n' >negative.txt
expect 2 "negative.txt:1: -4 is not a size" resize s/one --sizes negative.txt -o x
printf '2147483647 2147483647\n' >huge.txt
expect 1 "2^40" resize s/one --sizes huge.txt -o x
printf '1 2 3\n' >three.txt
expect 2 "has no row for the shapes [(S0,S1)]" resize s/one --sizes three.txt -o x
expect 2 "no_such_table" resize s/one --sizes no_such_table -o x
echo ok
