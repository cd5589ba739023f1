#!/usr/bin/env bash
# The output of `graphnet show` and `graphnet stats` for a small module.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"

# expect NAME: the last command printed the standard input into out.txt.
expect() {
  if ! diff -u - out.txt; then
    echo "FAILED: $1" >&2
    exit 1
  fi
}

mkdir in
cat >in/a.txt <<'EOF'
graphnet.module 1

graph @forward(
  %x : f32[2, 8]@cpu {},
  %w : f32[4, 8]@cpu as torch.nn.parameter.Parameter {mean = 0.0, std = 0.1}
) {
  %linear = torch.nn.functional.linear(%x, %w, bias = None)
  %view = .view(%linear, (8,))
  %mul = operator.mul(%view, %view)
  %add = torch.add(%mul, %view, alpha = 2)
  %mul_1 = operator.mul(%add, 2)
  return (%mul_1, %add)
}
end
EOF

"$graphnet" show in/a.txt --format tabular >out.txt
expect "show --format tabular" <<'EOF'
opcode         name    target                      args               kwargs
-------------  ------  --------------------------  -----------------  ------------
placeholder    x       x                           ()                 {}
placeholder    w       w                           ()                 {}
call_function  linear  torch.nn.functional.linear  (%x, %w)           {bias: None}
call_method    view    view                        (%linear, (8,))    {}
call_function  mul     operator.mul                (%view, %view)     {}
call_function  add     torch.add                   (%mul, %view)      {alpha: 2}
call_function  mul_1   operator.mul                (%add, 2)          {}
output         output  output                      ((%mul_1, %add),)  {}
EOF

"$graphnet" show in/a.txt --format python | grep -v '^ *l\?[xw],\|^$' >out.txt
expect "show --format python" <<'EOF'
import torch
class GraphModule(torch.nn.Module):
    def forward(
        self,
        w: torch.nn.parameter.Parameter,
    ):
        linear = torch.nn.functional.linear(x, w, bias=None);  x = w = None
        view = linear.view((8,));  linear = None
        mul = view * view
        add = torch.add(mul, view, alpha=2);  view = mul = None
        mul_1 = add * 2
        return (mul_1, add)
EOF

# Pictures: by the ending of -o or by --format, of all or of a part.
"$graphnet" show in/a.txt -o a.svg
grep -q '^<svg xmlns=' a.svg && grep -q '>alpha=2</text>' a.svg || { echo "FAILED: svg" >&2; exit 1; }
"$graphnet" show in/a.txt -o a.html
grep -q '<title>a.txt</title>' a.html || { echo "FAILED: html" >&2; exit 1; }
"$graphnet" run in/a.txt --stats --csv >values.csv
"$graphnet" show in/a.txt --data values.csv -o values.html
grep -q '"columns":\["target","module","dtype","shape","min","max",' values.html || { echo "FAILED: values" >&2; exit 1; }
"$graphnet" run in/a.txt --profile-by node --json | "$graphnet" show in/a.txt --data - -o values.html
grep -q '"columns":\["ms","num_calls"\],"values":{"' values.html || { echo "FAILED: profile" >&2; exit 1; }
"$graphnet" run in/a.txt --stability --csv | "$graphnet" show in/a.txt --data - -o values.html
grep -q '"columns":\["target","module","dtype","digits","lost","lost_here"\]' values.html || { echo "FAILED: digits" >&2; exit 1; }
"$graphnet" show in/a.txt --format model-explorer >a.json
grep -q '^{"label":"a.txt","graphs":\[{"id":"a.txt","nodes":\[{"id":"0","label":"x"' a.json || { cat a.json; exit 1; }
"$graphnet" show in/a.txt --format dot --around mul:0 | grep -c '^  n[0-9]* \[label' >out.txt
expect "the value of a part and what it takes" <<<2
refused() {
  local code=0
  "$graphnet" show in/a.txt "${@:2}" >out.txt 2>&1 || code=$?
  [ "$code" -eq 2 ] || { echo "FAILED: $* exits with $code" >&2; exit 1; }
  expect "show ${*:2}" <<<"graphnet: $1"
}
refused "in/a.txt: range 1:9: the graph has 5 operators" --format svg --range 1:9
refused "in/a.txt: there is no node mull; did you mean mul?" --format svg --around mull
refused "--data is for pages: -o FILE.html" --format svg --data values.csv
refused "--around and --depth are for pictures (--format svg|html|dot|model-explorer, or -o FILE.svg), --range and --module for pictures and text; to cut a sample, use graphnet subgraph" --depth 1


# The digits that survive. What the program writes to does not change between the runs.
cat >in/b.txt <<'EOF'
graphnet.module 1

attribute seen : f32[8]@cpu {mean = 0.0, std = 1.0}

graph @forward(%x : f32[8]@cpu {mean = 0.0, std = 1.0}) {
  %seen = get_attr seen
  %count = .add_(%seen, 1.0)
  %big = torch.add(%x, 10000.0)
  %small = torch.sub(%big, 10000.0)
  return (%small, %count)
}
end
EOF
"$graphnet" run in/b.txt -o once.safetensors >/dev/null
"$graphnet" run in/b.txt --stability -o digits.safetensors >out.txt
cmp once.safetensors digits.safetensors
sed -i -E 's/ +[0-9]\.[0-9] +[0-9]\.[0-9] +[0-9]\.[0-9]$/  DIGITS/; s/itself: .*/itself/' out.txt
expect "the digits" <<'EOF'
o0  f32[8]
o1  f32[8]
node   target     dtype  digits  lost  lost here
count  add_       f32  DIGITS
big    torch.add  f32  DIGITS
small  torch.sub  f32  DIGITS
%small = torch.sub loses most digits itself
EOF
"$graphnet" stats in/a.txt | sed 's/[0-9.]* KiB in memory, [0-9]* bytes a node/SIZE/' >out.txt
expect "stats" <<'EOF'
in/a.txt
  inputs      2
  parameters  1  32 elements, 128 bytes
  outputs     2
  nodes       5  SIZE

  2   40.0 %  call_function  operator.mul
  1   20.0 %  call_function  torch.add
  1   20.0 %  call_function  torch.nn.functional.linear
  1   20.0 %  call_method    view
EOF

# The cost of the calls by the rules: a product, and three calls on eight elements.
"$graphnet" stats in/a.txt --cost | tail -n 1 >out.txt
expect "stats --cost" <<'EOF'
  128 FLOP, 24 other operations, 448 bytes moved, 288 bytes alive at once
EOF
"$graphnet" stats in/a.txt --cost-by target | tail -n 7 >out.txt
expect "stats --cost-by" <<'EOF'
target                         FLOPs  other      moved      alive  calls
torch.nn.functional.linear  128 FLOP      0  224 bytes  224 bytes      1
operator.mul                  0 FLOP     16  128 bytes  256 bytes      2
torch.add                     0 FLOP      8   96 bytes  288 bytes      1
view                          0 FLOP      0    0 bytes  224 bytes      1
total                       128 FLOP     24  448 bytes  288 bytes      5
  128 FLOP, 24 other operations, 448 bytes moved, 288 bytes alive at once
EOF
"$graphnet" stats in/a.txt --cost --json | python3 -c 'import json, sys
sample = json.load(sys.stdin)["samples"][0]
assert (sample["flops"], sample["other"], sample["num_unknown_calls"]) == (2 * 2 * 8 * 4, 3 * 8, 0), sample'
"$graphnet" stats in/a.txt --cost --csv | python3 -c 'import csv, sys
rows = {r["target"]: r for r in csv.DictReader(sys.stdin)}
assert rows["torch.nn.functional.linear"]["flops"] == "128", rows
assert rows["operator.mul"]["other"] == "16" and rows["operator.mul"]["unknown_calls"] == "0", rows'
sed 's/ : f32\[[0-9, ]*\]@cpu//' in/a.txt >unknown.txt
"$graphnet" stats unknown.txt --cost | tail -n 1 >out.txt
expect "stats --cost without shapes" <<'EOF'
  not counted: 4 calls of 5; graphnet shapes finds more shapes
EOF
# What is known then is a lower bound, and is called one wherever it stands.
"$graphnet" stats unknown.txt --cost | tail -n 2 | head -n 1 | cut -d, -f1 >out.txt
expect "stats --cost of a part" <<'EOF'
  at least 0 FLOP
EOF
"$graphnet" stats unknown.txt --cost --json | python3 -c 'import json, sys
sample = json.load(sys.stdin)["samples"][0]
assert "flops" not in sample and "other" not in sample and sample["flops_at_least"] == 0, sample'
"$graphnet" stats unknown.txt --cost --csv | python3 -c 'import csv, sys
rows = {r["target"]: r for r in csv.DictReader(sys.stdin)}
linear = rows["torch.nn.functional.linear"]
assert (linear["flops"], linear["unknown_calls"], linear["flops_at_least"]) == ("", "1", "0"), rows'

# Several inputs: a broken one is reported, and the others are processed.
cp in/a.txt in/b.txt
printf 'graphnet.module 1\n\nnonsense\n' >in/broken.txt
code=0
"$graphnet" stats in >out.txt 2>err.txt || code=$?
[ "$(grep -c '^in/[ab].txt$' out.txt)" -eq 2 ] || { cat out.txt; exit 1; }
[ "$code" -eq 2 ] || { echo "FAILED: exit code $code" >&2; exit 1; }
[ "$(wc -l <err.txt)" -eq 1 ] && grep -q '^FAIL in/broken.txt:3:1: ' err.txt || { cat err.txt; exit 1; }

"$graphnet" stats in/a.txt in/b.txt | grep -A4 '^total' | sed 's/  [0-9.]* KiB in.*//' >out.txt
expect "stats of several inputs" <<'EOF'
total of 2 inputs, 1 distinct
  inputs       4
  parameters   2  64 elements, 256 bytes
  outputs      4
  nodes       10
EOF

# Many targets: the 20 most frequent, or all of them.
{
  printf 'graph @forward(%%x) {\n  %%y = torch.top(%%x)\n  %%z = torch.top(%%y)\n'
  for i in $(seq 10 34); do printf '  %%v%d = torch.f%d(%%z)\n' "$i" "$i"; done
  printf '  return %%z\n}\n'
} >many.txt
sed -i '1i graphnet.module 1\n' many.txt && echo end >>many.txt
"$graphnet" stats many.txt | tail -n 21 >out.txt
{
  echo '  2    7.4 %  call_function  torch.top'
  for i in $(seq 10 28); do echo "  1    3.7 %  call_function  torch.f$i"; done
  echo '  … 6 more'
} | expect "stats of many targets"
[ "$("$graphnet" stats --all many.txt | grep -c call_function)" -eq 26 ] || { echo "FAILED: stats --all" >&2; exit 1; }
# --- find
"$graphnet" find 'mul(%a, %a)' in/a.txt >out.txt 2>err.txt
expect "find" <<'EOF'
in/a.txt: %mul = operator.mul(%view, %view)
EOF
[ "$(cat err.txt)" = "1 calls in 1 of 1 samples" ] || { cat err.txt; exit 1; }
"$graphnet" find linear in --names 2>err.txt >out.txt || true
grep -qx in/a.txt out.txt || { echo "FAILED: find --names" >&2; exit 1; }
code=0
"$graphnet" find relu in/a.txt >out.txt 2>/dev/null || code=$?
[ "$code" -eq 1 ] && [ ! -s out.txt ] || { echo "FAILED: find nothing: $code" >&2; exit 1; }
code=0
"$graphnet" find 'relu(' in/a.txt >/dev/null 2>err.txt || code=$?
[ "$code" -eq 2 ] && [ "$(cat err.txt)" = "graphnet: query:6: expected )" ] || { cat err.txt; exit 1; }
# Defaults count, constants are compared, and unknown names are reported.
mkdir many
cat >many/a.gn <<'EOF'
graphnet.module 1

graph @forward(%x : f32[1, 4, 8, 8], %w : f32[4, 4, 3, 3], %v : f32[4, 1, 3, 3]) {
  %a = torch.conv2d(%x, %w)
  %b = torch.conv2d(%a, %v, None, (1, 1), (0, 0), (1, 1), 4)
  return (%b,)
}
end
EOF
found() { "$graphnet" find "$1" many -l 2>err.txt >/dev/null; head -1 err.txt; }
[ "$(found 'conv2d(groups=1)')" = "1 calls in 1 of 1 samples" ] || { echo "FAILED: a default"; exit 1; }
[ "$(found 'conv2d(groups>1)')" = "1 calls in 1 of 1 samples" ] || { echo "FAILED: a comparison"; exit 1; }
[ "$(found 'conv2d(%: f32[*, 4, ...])' || true)" = "1 calls in 1 of 1 samples" ] || { echo "FAILED: a type"; exit 1; }
"$graphnet" find 'conv2d(group>1)' many 2>err.txt && exit 1
grep -qx 'note: conv2d takes no group; did you mean groups?' err.txt || { cat err.txt; exit 1; }
"$graphnet" find lineer many 2>err.txt && exit 1
grep -qx 'note: PyTorch has nothing that is called lineer; did you mean linear?' err.txt || { cat err.txt; exit 1; }
"$graphnet" find conv2d many --json | python3 -c 'import json, sys
calls = json.load(sys.stdin)["samples"][0]["calls"]
assert calls[1]["args"][:3] == ["%a", "%v", "None"] and calls[1]["kwargs"] == {}, calls'
"$graphnet" find 'conv2d(groups>1)' many --csv 2>/dev/null | python3 -c 'import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert [(r["node"], r["target"]) for r in rows] == [("b", "torch.conv2d")] and "%v, None" in rows[0]["call"], rows'
"$graphnet" stats many in/a.txt --csv | python3 -c 'import csv, sys
rows = {r["target"]: (r["op"], r["count"], r["samples"]) for r in csv.DictReader(sys.stdin)}
assert rows["torch.conv2d"] == ("call_function", "2", "1"), rows'
# A sample that cannot be read differs from one without a match.
mkdir bad && echo "graphnet.module 1 garbage" >bad/a.gn
for command in "find conv2d" hash stats; do
  code=0
  # shellcheck disable=SC2086
  "$graphnet" $command many/a.gn bad/a.gn >/dev/null 2>&1 || code=$?
  [ "$code" -eq 2 ] || { echo "FAILED: $command of a broken sample: $code"; exit 1; }
done
# --- A Python file that runs by itself has its values beside it; tests/pytorch/compare.py runnable runs it.
"$graphnet" show in/a.txt -o net.py --runnable
python3 - <<'EOF'
import json, py_compile, struct
py_compile.compile("net.py", doraise=True)
data = open("net.py.safetensors", "rb").read()
size, = struct.unpack("<Q", data[:8])
header = json.loads(data[8:8 + size])
assert {name: row["shape"] for name, row in header.items()} == {"x": [2, 8], "w": [4, 8]}, header
EOF
printf 'graph @forward(%%t as "Tuple[Tensor, Tensor]") {\n  %%y = operator.getitem(%%t, 0)\n  return (%%y,)\n}\n' >tuple.gn
refused() {
  local message=$1 code=0
  shift
  "$graphnet" show "$@" >/dev/null 2>err.txt || code=$?
  { [ "$code" -eq 2 ] && grep -q -e "$message" err.txt; } || { echo "FAILED: show $*: $code $(cat err.txt)"; exit 1; }
}
refused "--runnable needs a Python file" in/a.txt --to python --runnable -o -
refused "--runnable needs a Python file" in/a.txt --runnable -o net.svg
refused "input t is neither a tensor nor a number" tuple.gn --runnable -o tuple.py
refused "its shape is not known" unknown.txt --runnable -o unknown.py
if [ -e tuple.py ] || [ -e unknown.py ]; then echo "FAILED: a file in spite of the error"; exit 1; fi

# --- A file that checks other implementations is run before it is written; that needs a Python with PyTorch.
refused "writes files: -o NAME_test.py" in/a.txt --to unittest
refused "show takes one sample" in/a.txt in/a.txt
refused "no such file or folder" nowhere --to unittest -o nowhere_test.py
cat >kernel.gn <<'EOF'
graphnet.sample 1
name = "a \"kernel\"\n'''"

graphnet.module 1

graph @forward(
  %x : f32[4, 8] {mean = 0.0, std = 5.0},
  %n : i64[4] {min = 2, max = 3},
  %s : i64[] as torch.SymInt {data = [4]},
  %w "L_self_w" : f32[3, 8] as torch.nn.parameter.Parameter {mean = 1.0, std = 5.0},
  %b "L_self_b" : f32[3] {data = [1.0, 2.0, 3.0]}
) {
  %a = torch.arange(%s, device = device("cuda:0"))
  %h = torch.nn.functional.linear(%x, %w, %b)
  %y = torch.add(%h, %b)
  %z = torch.add(%a, %n)
  return (%y, %z)
}
end
EOF
printf 'graph @forward(%%x : f32[2, 3]) {\n  %%y = torch.matmul(%%x, %%x)\n  return (%%y,)\n}\n' >wrong.gn
code=0
"$graphnet" show kernel.gn --to unittest -o kernel_test.py 2>err.txt || code=$?
if grep -q "no Python has the PyTorch of this program" err.txt; then
  echo "skipped: $(cat err.txt)"
else
  [ "$code" -eq 0 ] || { cat err.txt; echo "FAILED: --to unittest: $code"; exit 1; }
  for word in 'class Model(GraphModule)' 'def get_inputs(' 'def get_init_inputs(' 'def main('; do
    grep -qF "$word" kernel_test.py || { echo "FAILED: no $word"; exit 1; }
  done
  python3 - <<'EOF'
import ast
tree = ast.parse(open("kernel_test.py").read())
known = {one.targets[0].id: one.value for one in tree.body if isinstance(one, ast.Assign)}
assert ast.literal_eval(known["NAME"]) == "a \"kernel\"\n'''", ast.dump(known["NAME"])
assert ast.literal_eval(known["WEIGHTS"]) == ["L_self_w", "L_self_b"], ast.dump(known["WEIGHTS"])
EOF
  refused "does not run: RuntimeError" wrong.gn --to unittest -o wrong_test.py
  [ ! -e wrong_test.py ] || { echo "FAILED: a file that does not run"; exit 1; }
  mkdir -p kernels && cp kernel.gn wrong.gn kernels
  printf '# two\nkernel.gn\nwrong.gn  # does not run\n' >list.txt
  code=0
  "$graphnet" show kernels --list list.txt --to unittest -o tests >out.txt 2>&1 || code=$?
  [ "$code" -eq 2 ] && grep -q '^1 passed, 1 failed$' out.txt && [ "$(ls tests)" = kernel_test.py ] ||
    { cat out.txt; echo "FAILED: --list: $code"; exit 1; }
fi
echo PASSED

# --- A list names the samples of commands that take many.
printf 'in/a.txt # the first\n\nin/none.txt\n' >list.txt
for command in check hash stats "find mul"; do
  # shellcheck disable=SC2086
  "$graphnet" $command --list list.txt >out.txt 2>err.txt && code=0 || code=$?
  [ "$code" -eq 2 ] || { echo "FAILED: $command --list: exit code $code" >&2; exit 1; }
  cat out.txt err.txt >all.txt
  grep -q 'in/none.txt: no such file or folder' all.txt || { echo "FAILED: $command --list: $(cat all.txt)" >&2; exit 1; }
done
"$graphnet" hash --list list.txt 2>/dev/null >listed.txt || true
"$graphnet" hash in/a.txt >out.txt
cmp listed.txt out.txt
