#!/usr/bin/env bash
# The tool end to end: every command on a real sample, and on wrong input.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect_error MESSAGE COMMAND…: the command exits with 2, prints one line on stderr that contains
# MESSAGE, and leaves no output.
expect_error() {
  local message=$1 code=0
  shift
  "$graphnet" "$@" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "$*: exit code $code, wanted 2"
  grep -qF -- "$message" err.txt || fail "$*: no '$message' in: $(cat err.txt)"
  [ ! -s out.txt ] || fail "$*: output in spite of the error"
}

# --- convert: TorchScript -> protobuf -> folder -> text -> protobuf
"$graphnet" convert "$samples/unet.pt" unet.pb
[ -s unet.pb ] && [ -s unet.safetensors ] || fail "no protobuf, or no weights beside it"
"$graphnet" convert --lift unet.pb folder
for file in model.py weight_meta.py input_meta.py input_tensor_constraints.py graph_net.json graph_hash.txt; do
  [ -e "folder/$file" ] || fail "the folder has no $file"
done
"$graphnet" convert folder unet.txt
"$graphnet" convert unet.txt again.pb
"$graphnet" convert again.pb again.txt
cmp unet.txt again.txt || fail "text -> protobuf -> text changed something"

# --- show, stats, check
for format in text tabular dot python; do
  "$graphnet" show folder --format "$format" >"show.$format"
  [ -s "show.$format" ] || fail "show --format $format prints nothing"
done
grep -q '^class GraphModule' show.python || fail "show --format python is not Python"
grep -q '^digraph' show.dot || fail "show --format dot is not Graphviz"
"$graphnet" stats folder >/dev/null
"$graphnet" check "$samples" folder unet.txt >check.txt || { cat check.txt; fail "check"; }
tail -n 1 check.txt | grep -qE '^[0-9]+ passed, 0 failed$' || fail "check: $(tail -n 1 check.txt)"

# --- roundtrip
"$graphnet" roundtrip "$samples/resnet.pt" -o pieces --pieces 3 >roundtrip.txt || { cat roundtrip.txt; fail "roundtrip"; }
[ -s pieces/original.pb ] && [ -s pieces/subgraph_2.pb ] || fail "roundtrip wrote no pieces"

# --- errors
expect_error "no such file or folder" show nowhere
expect_error "no such file or folder" convert nowhere out.pb
[ ! -e out.pb ] || fail "an output in spite of the error"
echo nonsense >nonsense
expect_error "nonsense: neither" show nonsense
head -c 1000 unet.pb >truncated.pb
expect_error "truncated.pb" convert truncated.pb out.pb
head -c 1000 "$samples/unet.pt" >truncated.pt
expect_error "truncated.pt" convert truncated.pt out.pb
cp -r folder broken && sed -i "0,/ = aten\\./s// = os.aten./" broken/model.py
expect_error "broken/model.py:" convert broken out.pb
[ ! -e out.pb ] || fail "an output in spite of the error"
code=0
"$graphnet" check broken >check.txt || code=$?
[ "$code" -eq 1 ] || fail "check of a broken sample: exit code $code, wanted 1"
grep -q '^0 passed, 1 failed$' check.txt || fail "check: $(cat check.txt)"

# The archive describes its inputs itself.
"$graphnet" extract "$samples/resnet.pt" -o extracted --check >extracted.txt
grep -q "the same bits as LibTorch" extracted.txt || fail "extract: $(cat extracted.txt)"
echo PASSED
