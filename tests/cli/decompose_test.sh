#!/usr/bin/env bash
# decompose and compose end to end: schemes, layouts, formats, replay, resumption, folders of
# samples, and wrong input.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect_error MESSAGE COMMAND…: the command exits with 2 and prints one line with MESSAGE on
# stderr.
expect_error() {
  local message=$1 code=0
  shift
  "$graphnet" "$@" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "$*: exit code $code, wanted 2"
  grep -qF -- "$message" err.txt || fail "$*: no '$message' in: $(cat err.txt)"
}

"$graphnet" convert "$samples/resnet.pt" resnet.pb
"$graphnet" convert --lift "$samples/resnet.pt" resnet
"$graphnet" convert resnet.pb whole.txt

# --- Groups of operators that make one kernel are pieces, and what lies between is in none.
"$graphnet" decompose resnet.pb --groups -o groups >table.txt
grep -q '^8 pieces, 16 of 134 operators' table.txt || fail "--groups: $(tail -1 table.txt)"
"$graphnet" show groups/subgraph_0.pb | grep -q 'aten.relu' || fail "--groups: a piece without relu"
if "$graphnet" show groups/subgraph_0.pb | grep -q '^attribute'; then fail "--groups: unused weights are kept"; fi
expect_error "no two adjacent operators make one kernel" decompose "$samples/gpt.pb" --groups --dry-run
expect_error "is required and 2 were given" decompose resnet.pb --groups --at 3 --dry-run

# --- Each scheme, style and format composes to the same text, except for what a piece does not keep.
body() { grep -v -e '^sample ' -e '^graph_hash' "$1"; }
body whole.txt >whole.body
for scheme in "--at 3,7" "--ranges 0:4,4:9" "--every 8" "--pieces 5" --single-op "--balanced 4" --blocks; do
  for style in chain dag; do
    rm -rf pieces
    # shellcheck disable=SC2086
    "$graphnet" decompose resnet.pb -o pieces $scheme --style $style --format protobuf >table.txt ||
      fail "decompose $scheme --style $style: $(cat table.txt)"
    grep -q '^subgraph_0 ' table.txt || fail "$scheme: no table"
    grep -Eq ' bytes( and [0-9]+ values of unknown size)? between pieces$' table.txt || fail "$scheme: no sum"
    "$graphnet" compose pieces -o composed.txt >/dev/null
    body composed.txt >composed.body
    cmp whole.body composed.body || fail "$scheme --style $style does not compose to the original"
  done
done

# --- A dry run writes nothing.
"$graphnet" decompose resnet.pb -o nothing --pieces 3 --dry-run >/dev/null
[ ! -e nothing ] || fail "a dry run wrote something"

# --- A chain of many pieces prints a note if most values only pass through its folders.
{
  echo 'graph @forward('
  for i in {0..499}; do echo "  %x$i : f32[2],"; done
  echo ') {'
  for i in {0..499}; do echo "  %y$i = torch.neg(%x$i)"; done
  echo '  return (%y499,)'
  echo '}'
} >wide.gn
"$graphnet" decompose wide.gn -o nothing --every 1 --style chain --to graphnet --dry-run | grep -q '^note: the pieces of this chain take ' ||
  fail "nothing is said of a chain's many values"
"$graphnet" decompose wide.gn -o nothing --every 1 --style chain --dry-run >out.txt
! grep -q '^note: the pieces' out.txt || fail "values that pass through cost little in protobuf"

# --- GraphNet folders, by default beside the sample; the configuration replays them.
"$graphnet" decompose resnet --pieces 3 --style dag >/dev/null
[ -s resnet_decomposed/subgraph_2/model.py ] || fail "no folder of the last piece"
[ -s resnet_decomposed/decompose_config.json ] || fail "no configuration"
"$graphnet" decompose resnet -o again --config resnet_decomposed/decompose_config.json >/dev/null
diff -r resnet_decomposed again || fail "the configuration does not replay the decomposition"
"$graphnet" compose again -o composed
cmp resnet/model.py composed/model.py || fail "the pieces do not compose to the original"
"$graphnet" check again >/dev/null || fail "a piece is no whole sample"

# --- The pieces have the form of the sample, with its weights, unless an option says otherwise.
"$graphnet" decompose resnet.pb -o files --at 20,60 >out.txt
[ -e files/subgraph_0.pb ] && [ -e files/subgraph_0.safetensors ] || fail "pieces of a file are no files"
! grep '^note: parameters' out.txt || fail "files keep their parameters"
"$graphnet" compose files -o composed_files.pb >/dev/null
# --- Pieces whose ports disagree are not joined, and the message names both.
cat >ports.gn <<'END'
graph @forward(%x : f32[2, 4]@cpu, %w : f32[4, 4]@cpu, %v : f32[4, 4]@cpu) {
  %a = torch.matmul(%x, %w)
  %b = torch.relu(%a)
  %c = torch.matmul(%b, %v)
  return (%c,)
}
END
for style in chain dag; do
  for edit in "f32\[2, 4\]:bf16[2, 4]:dtype is bf16, not f32" "f32\[2, 4\]:f32[2, 5]:size 1 is 5, not 4" \
    "f32\[2, 4\]:f32[2, 4, 1]:rank is 3, not 2" "f32\[2, 4\]:f32[2, 4]@cuda#0:device is cuda:0, not cpu"; do
    IFS=: read -r from to what <<<"$edit"
    [[ $to == *cuda* ]] && to=${to/\#/:} && what="device is cuda:0, not cpu"
    rm -rf ports
    "$graphnet" decompose ports.gn -o ports --at 2 --style $style >/dev/null
    "$graphnet" convert ports/subgraph_1.pb piece.gn
    sed -i "s/\(%b[^:]*: \)$from\(@cpu\)\?/\1$to/" piece.gn
    "$graphnet" convert piece.gn ports/subgraph_1.pb
    code=0
    "$graphnet" compose ports -o joined.gn >/dev/null 2>err.txt || code=$?
    [ "$code" -eq 2 ] && [ ! -e joined.gn ] || fail "$style, $to: exit code $code"
    grep -qF "piece 1 cannot take what piece 0 returns: %b: its $what as %b of piece 0" err.txt || fail "$style, $to: $(cat err.txt)"
    [[ $to == *cuda* ]] && continue  # pieces may be cut on another device
    "$graphnet" validate ports.gn ports >out.txt && fail "$style, $to is valid"
    grep -q '^E4 port: piece 1: ' out.txt || fail "$style, $to: $(cat out.txt)"
  done
done
"$graphnet" diff-run resnet.pb composed_files.pb >out.txt || fail "weights are not kept: $(cat out.txt)"

# --- Attributes become inputs of a folder, as with convert --lift.
"$graphnet" decompose resnet.pb -o lifted --at 20,60 --to graphnet >out.txt
grep -q '^note: parameters and buffers become inputs' out.txt || fail "lifting is not mentioned"
"$graphnet" compose lifted -o composed_lifted >/dev/null
cmp resnet/model.py composed_lifted/model.py || fail "pieces with parameters do not compose in folders"

# --- Resumed: complete pieces stay, others are made again.
rm -r again/subgraph_1 again/decompose_config.json
echo half >again/subgraph_2/model.py
"$graphnet" decompose resnet -o again --pieces 3 --style dag >out.txt
grep -q ': 2 written, 1 kept$' out.txt || fail "not resumed: $(tail -n 1 out.txt)"
diff -r resnet_decomposed again || fail "resuming made something else"
expect_error "another decomposition" decompose resnet -o again --at 3,7 --style dag
expect_error "it holds subgraph_2" decompose resnet -o again --at 3

# --- Whole or not at all: if a file would exceed the limit on its size, and if that kills the tool.
for trapped in "trap '' XFSZ;" ""; do
  for format in graphnet protobuf; do
    if bash -c "$trapped ulimit -f 8; exec \"\$@\"" limited "$graphnet" decompose resnet.pb -o full --pieces 3 \
      --to $format >/dev/null 2>&1; then fail "a full disk is no error"; fi
    [ ! -e full ] || fail "$format: a write that failed leaves $(find full)"
    "$graphnet" decompose resnet.pb -o there --pieces 3 --to $format >/dev/null
    rm -r there/*0*
    cp -r there before
    bash -c "$trapped ulimit -f 8; exec \"\$@\"" limited "$graphnet" decompose resnet.pb -o there --pieces 3 \
      --to $format >/dev/null 2>&1 || true
    diff -r there before || fail "$format: a write that failed changes what was there"
    rm -r there before
  done
done

# --- The layout of GraphNet in Python.
"$graphnet" decompose resnet -o peer --pieces 3 --layout peer >/dev/null
[ -s peer/_decomposed/resnet_2/model.py ] || fail "not laid out as the peer does"
"$graphnet" compose peer -o composed_peer >/dev/null
cmp resnet/model.py composed_peer/model.py || fail "the peer's layout does not compose"

# --- Parts of a graph.
"$graphnet" decompose resnet.pb -o part --ranges 2:4,6:9 --style dag --no-head-and-tail --format protobuf >/dev/null
[ -e part/subgraph_1.pb ] && [ ! -e part/subgraph_2.pb ] || fail "not two pieces"
expect_error "the pieces do not cover the graph" compose part -o whole.pb

# --- Folders of samples.
mkdir -p many/deep
cp -r resnet many/one
cp -r resnet many/deep/two
"$graphnet" decompose many -o many_pieces --every 8 --jobs 2 >out.txt
grep -qE '^ *2 +2 +0 ' out.txt || fail "not both samples: $(cat out.txt)"
[ -s many_pieces/one_decomposed/subgraph_0/model.py ] || fail "no pieces of the first"
[ -s many_pieces/deep/two_decomposed/subgraph_0/model.py ] || fail "no pieces of the second"
echo nonsense >many/one/model.py
code=0
"$graphnet" decompose many -o more_pieces --every 8 >out.txt 2>err.txt || code=$?
[ "$code" -eq 2 ] || fail "a broken sample among others: exit code $code, wanted 2"
grep -q '^FAIL many/one: ' err.txt || fail "the broken sample is not named"
[ -s more_pieces/deep/two_decomposed/subgraph_0/model.py ] || fail "no pieces of the whole one"

code=0
"$graphnet" decompose resnet.pb many/deep nowhere.pb -o several --every 8 >out.txt 2>err.txt || code=$?
[ "$code" -eq 2 ] || fail "several inputs, of which one is not there: exit code $code, wanted 2"
grep -q '^FAIL nowhere.pb: ' err.txt || fail "the input that is not there is not named"
[ -s several/resnet_decomposed/subgraph_0.pb ] || fail "no pieces of a file among several inputs"
[ -s several/two_decomposed/subgraph_0/model.py ] || fail "no pieces of a folder among several inputs"

cp resnet.pb many/deep/two.pb
expect_error "would both be written to more_pieces/deep/two_decomposed" decompose many -o more_pieces --every 8
rm many/deep/two.pb
"$graphnet" run many/deep >out.txt || fail "a folder of samples does not run"
grep -q '^1 ran, 0 failed' out.txt || fail "run of a folder says: $(cat out.txt)"
code=0
"$graphnet" run many --json >out.txt || code=$?
[ "$code" -eq 2 ] || fail "run of a folder with a broken sample: exit code $code, wanted 2"
grep -q '"failed": 1' out.txt || fail "run --json of a folder says: $(cat out.txt)"

# --- One sub-graph, the same as the piece of that range.
"$graphnet" decompose resnet -o only --ranges 3:9 --no-head-and-tail --minimal-inputs --style dag >/dev/null
"$graphnet" subgraph resnet -o alone --range 3:9 >out.txt
grep -q '^operators \[3, 9) of 134, 7 inputs$' out.txt || fail "subgraph says $(cat out.txt)"
cmp only/subgraph_0/model.py alone/model.py || fail "subgraph and decompose cut otherwise"
"$graphnet" check alone >/dev/null || fail "a sub-graph is no whole sample"
"$graphnet" subgraph resnet.pb -o layer.txt --module layer1.0 >out.txt
grep -q 'layer1.0.conv2.weight' layer.txt || fail "a parameter of the module is missing"
! grep -q 'layer1.1\|layer2' layer.txt || fail "another module is in it"
grep -q '^operators \[7, 20) of 134, 1 inputs$' out.txt || fail "--module says $(cat out.txt)"
"$graphnet" subgraph resnet.pb -o values.txt --by-value max_pool2d:result_2 >out.txt
grep -q '^operators \[7, 20) of 134' out.txt || fail "--by-value says $(cat out.txt)"
cat >apart.txt <<'END'
graph @main(%x : f32[2], %y : f32[2]) {
  %a = torch.sin(%x)
  %u = torch.cos(%a)
  %f = torch.tan(%y)
  %b = torch.add(%a, %f)
  return (%b, %u)
}
END
"$graphnet" subgraph apart.txt -o nodes.txt --nodes b,a >out.txt
grep -q '^operators 2 of 4, 2 inputs$' out.txt || fail "--nodes says $(cat out.txt)"
tr -d '\n ' <nodes.txt | grep -qF '%a=torch.sin(%x)%b=torch.add(%a,%f)return(%a,%b)' || fail "--nodes wrote $(cat nodes.txt)"
expect_error "no value aa; did you mean a?" subgraph apart.txt -o bad --nodes aa,b
expect_error "is not START:END" subgraph resnet -o bad --range 9:3
expect_error "is not within" subgraph resnet -o bad --range 3:100000
expect_error "is not INPUTS:OUTPUTS" subgraph resnet -o bad --by-value x
"$graphnet" convert "$samples/unet.pb" unet.pb
expect_error "in several places, choose one with --nodes or --range" subgraph unet.pb -o bad --module down
# A module of a program of torch.export, whose attributes all come first, and of a traced program.
"$graphnet" convert resnet.pb resnet.pt2
"$graphnet" subgraph resnet.pt2 -o layer.pb --module layer1.0 >out.txt
grep -q '^operators \[.*) of [0-9]*, 1 inputs$' out.txt || fail "--module of a .pt2 says $(cat out.txt)"
"$graphnet" run layer.pb >out.txt
[ "$(grep -c '^o[0-9]' out.txt)" = 1 ] || fail "a module of a .pt2 returns $(cat out.txt)"
expect_error "no operator belongs to the module layer9" subgraph resnet.pb -o bad --module layer9
[ ! -e bad ] || fail "an output in spite of the error"

# --- Errors.
# --- subgraph cuts the part that show prints, in text and in pictures.
"$graphnet" subgraph resnet.pb -o layer.txt --module layer1.0 >/dev/null
"$graphnet" show resnet.pb --module layer1.0 >shown.txt
diff <(sed -n '/^graph @/,/^}/p' layer.txt | grep -o '^  %[a-z0-9_]* = [a-z.]*') \
  <(sed -n '/^graph @/,/^}/p' shown.txt | grep -o '^  %[a-z0-9_]* = [a-z.]*') || fail "show --module prints another part"
"$graphnet" show resnet.pb --range 7:20 -o range.dot
[ "$(grep -c 'conv2d' range.dot)" -gt 0 ] && ! grep -q 'layer2' range.dot || fail "show --range draws another part"
"$graphnet" show apart.txt --shapes | grep -q '%u = torch.cos(%a) : f32\[2\]' || fail "show --shapes shows none"
expect_error "for pictures and text" show resnet.pb --around relu

expect_error "no such file or folder" decompose nowhere --pieces 2
expect_error "is not between 0 and" decompose resnet.pb -o bad --at 100000
expect_error "cuts must rise" decompose resnet.pb -o bad --at 8,4
expect_error "is not an integer" decompose resnet.pb -o bad --at 3,x
expect_error "is not START:END" decompose resnet.pb -o bad --ranges 3
expect_error "a chain has no gaps" decompose resnet.pb -o bad --style chain --ranges 0:2,4:6
expect_error "the graph has no value nothing" decompose resnet.pb -o bad --by-value :nothing
expect_error "several samples need --out" decompose many --pieces 2
expect_error "no pieces" compose many -o bad
echo '{"version": 2, "mode": "equal", "colour": 3}' >config.json
expect_error "config.json: colour: unknown key" decompose resnet.pb -o bad --config config.json
expect_error "--style" decompose resnet -o bad --config resnet_decomposed/decompose_config.json --style chain
for wrong in "" "--pieces 2 --single-op" "--pieces 0" "--pieces 2 --style both"; do
  code=0
  # shellcheck disable=SC2086
  "$graphnet" decompose resnet.pb -o bad $wrong >out.txt 2>&1 || code=$?
  [ "$code" -eq 2 ] || fail "decompose $wrong: exit code $code, wanted 2"
done
[ ! -e bad ] || fail "an output in spite of the error"

# --- Pieces run by themselves, because their ports describe their inputs.
for options in "--to graphnet" "--to protobuf" "--ports stats --to graphnet"; do
  rm -rf ports
  "$graphnet" decompose "$samples/bert.pb" -o ports --every 40 --style dag $options >/dev/null
  for piece in ports/subgraph_*; do
    [[ $piece == *.safetensors ]] || "$graphnet" run "$piece" >/dev/null || fail "$options: $piece does not run"
  done
done
grep -q 'max_val = [0-9.]*[1-9]' ports/subgraph_3/weight_meta.py || fail "no statistics"
"$graphnet" validate "$samples/bert.pb" ports --run | grep -q '^valid$' || fail "ports make pieces invalid"
rm -rf ports
"$graphnet" decompose "$samples/bert.pb" -o ports --every 40 --style dag --ports none >/dev/null
if "$graphnet" run ports/subgraph_3.pb 2>err.txt; then fail "--ports none says something"; fi
printf 'graph @forward(%%x) {\n  %%y = torch.relu(%%x)\n  %%z = torch.neg(%%y)\n  return (%%z,)\n}\n' >bare.txt
"$graphnet" decompose bare.txt -o bare --at 1 | grep -q 'note: the shapes of inputs of pieces are unknown: input x' ||
  fail "no note of what is not known"
"$graphnet" subgraph bare.txt -o one.txt --range 1:2 --input f32[2,3]
grep -q '%y : f32\[2, 3\]' one.txt || fail "a subgraph without shapes: $(cat one.txt)"
echo PASSED
