#!/usr/bin/env bash
# Files without a program: every command says in one line what the file is, and exits with 2. Among
# other inputs, the file is reported, the others are processed, and the exit code is still 2.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

cat >good.gn <<'END'
graph @forward(%x : f32[2, 3]) {
  %y = torch.relu(%x)
  %z = torch.exp(%y)
  return (%z,)
}
END

# Makes the files in foreign/ and `expected`: the name of each, and the text that its message must
# contain.
python3 - <<'END'
import gzip, io, json, os, pickle, struct, tarfile, zipfile

os.mkdir("foreign")
expected = open("expected", "w")


def case(name, content, message):
    with open("foreign/" + name, "wb") as file:
        file.write(content)
    print(name, message, sep="\t", file=expected)


def archive(name, entries, message, root="m/"):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zip:
        for entry, content in entries.items():
            zip.writestr(root + entry, content)
    case(name, out.getvalue(), message)


# The endings are wrong on purpose: only the content counts.
rest = bytes(100)
case("empty.pt", b"", "an empty file")
case("blank.gn", b" \n\n", "an empty file")
case("lfs.pt2", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "git lfs pull")
case("model.pt.gz", gzip.compress(b"x" * 99), "compressed by gzip")
case("model.bz2", b"BZh91AY&SY" + rest, "compressed by bzip2")
case("model.xz", b"\xfd7zXZ\0" + rest, "compressed by xz")
case("model.zst", b"\x28\xb5\x2f\xfd" + rest, "compressed by zstd")
tar = io.BytesIO()
with tarfile.open(fileobj=tar, mode="w") as out:
    out.addfile(tarfile.TarInfo("model.pt"))
case("model.pt", tar.getvalue(), "a tar archive")
case("page.pt2", b"\n<!DOCTYPE html>\n<html><body>404</body></html>", "a web page (HTML)")
case("page2.pb", b"<HTML>" + rest, "a web page (HTML)")
case("net.xml", b"<?xml version=\"1.0\"?><net name=\"x\" version=\"11\">", "a program of OpenVINO")
case("config.pt2", b"{\n  \"hidden_size\": 8\n}", "a JSON file")
case("meta.json", b"{\"framework\": \"torch\", \"num_devices_required\": 1}", "a file of a GraphNet sample")
case("model.py", b"import torch\n\nclass GraphModule(torch.nn.Module):\n", "a file of a GraphNet sample")
case("train.py", b"#!/usr/bin/env python3\nimport torch\n", "a program in Python, which is never executed")
case("net.mlir", b"module {\n  func.func @main() {\n", "text of MLIR")
case("net.onnx", b"\x08\x08\x12\x07pytorch\x1a\x052.1.0" + rest, "an ONNX model")
case("net.pb", b"\x08\x08\x3a\x90\x01" + rest, "an ONNX model")
case("saved_model.pb", b"\x08\x01\x12\x90\xab\x01\x0a\x05serve" + rest, "a SavedModel of TensorFlow")
case("net.tflite", b"\x1c\0\0\0TFL3" + rest, "a TensorFlow Lite model")
case("net.pte", b"\x20\0\0\0ET12eh00" + rest, "a program of ExecuTorch")
case("net.ff", b"\x20\0\0\0PTMF" + rest, "for mobile devices")
case("net.gguf", b"GGUF\x03" + rest, "a GGUF file")
case("net.h5", b"\x89HDF\r\n\x1a\n" + rest, "an HDF5 file")
case("x.npy", b"\x93NUMPY\x01\0" + rest, "an array of NumPy")
case("net.so", b"\x7fELF\x02" + rest, "a compiled library")
header = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
case("x.safetensors", struct.pack("<Q", len(header)) + header + bytes(4), "a safetensors file")
case("object.pt", pickle.dumps({"a": [1, 2]}, protocol=4), "a pickle, which is never executed")
legacy = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03."
case("legacy.pth", legacy + b"\x80\x02ccollections\nOrderedDict\n" + rest, "such as a state_dict")
case("legacy_module.pth", legacy + b"\x80\x02ctorch.nn.modules.linear\nLinear\n" + rest, "a module that torch.save pickled")
archive("state.pt", {"data.pkl": b"\x80\x02ccollections\nOrderedDict\nctorch._utils\n_rebuild_tensor_v2\n.", "version": b"3"},
        "such as a state_dict")
archive("module.pt", {"data.pkl": b"\x80\x02ctorch.nn.modules.linear\nLinear\n.", "version": b"3"},
        "a module that torch.save pickled")
archive("graph.pt", {"data.pkl": b"\x80\x02ctorch.fx.graph_module\nreduce_graph_module\n.", "version": b"3"},
        "a torch.fx.GraphModule")
archive("package.pt", {"model/model.pkl": b"\x80\x02}.", ".data/extern_modules": b"torch\n", ".data/version": b"6"},
        "a package of torch.package")
archive("aoti.pt2", {"data/aotinductor/model/a.wrapper.so": b"\x7fELF", "archive_format": b"pt2", "archive_version": b"0"},
        "a package of AOTInductor")
archive("net.mar", {"MAR-INF/MANIFEST.json": b"{}", "net.pt": b"x"}, "a model archive of TorchServe", root="")
archive("net.keras", {"metadata.json": b"{}", "config.json": b"{}", "model.weights.h5": b"x"}, "a model of Keras", root="")
archive("x.npz", {"a.npy": b"\x93NUMPY", "b.npy": b"\x93NUMPY"}, "arrays of NumPy", root="")
archive("samples.zip", {"a/graph_net.json": b"{}", "a/model.py": b""}, "of GraphNet samples", root="")
archive("notes.zip", {"notes.txt": b"x"}, "a zip archive without a program", root="")
END

# one_line NAME MESSAGE: err.txt is one line that has the name of the file and MESSAGE.
one_line() {
  [ "$(wc -l <err.txt)" -eq 1 ] || fail "$what: not one line: $(cat err.txt)"
  grep -qF -- "$1: " err.txt || fail "$what: $1 is not named in: $(cat err.txt)"
  grep -qF -- "$2" err.txt || fail "$what: no '$2' in: $(cat err.txt)"
}

# refused NAME MESSAGE COMMAND…: the exit code is 2, one line is printed, nothing is written.
refused() {
  local name=$1 message=$2 code=0
  shift 2
  what="$*"
  timeout 60 "$graphnet" "$@" >out.txt 2>err.txt </dev/null || code=$?
  [ "$code" -eq 2 ] || fail "$what: exit code $code: $(cat out.txt err.txt)"
  [ ! -s out.txt ] || fail "$what: prints $(cat out.txt)"
  one_line "$name" "$message"
  [ -z "$(find . -maxdepth 1 -name 'made*')" ] || fail "$what: leaves something behind: $(ls)"
}

# --- Each kind, to one command; and from the standard input.
while IFS=$'\t' read -r name message; do
  refused "foreign/$name" "$message" show "foreign/$name"
  code=0
  what="show - <$name"
  "$graphnet" show - <"foreign/$name" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "$what: exit code $code"
  one_line "<stdin>" "$message"
done <expected

# --- Each command, on kinds that are recognised by their first bytes, their text and their entries.
mkdir pieces
for name in net.onnx empty.pt page.pt2 state.pt aoti.pt2 x.safetensors; do
  message=$(grep "^$name	" expected | cut -f 2)
  file=foreign/$name
  while read -r command; do
    # The second operand of diff-run may be the outputs of anything.
    [ "$name $command" = "x.safetensors diff-run good.gn F" ] && message="has no output o0"
    # shellcheck disable=SC2086
    refused "$file" "$message" ${command//F/$file}
  done <<'END'
show F
stats F
shapes F
find relu F
hash F
hash F --normal-form
diff F good.gn
diff good.gn F
check F
check F --calls
lint F
convert F made.pb
opt F -p dce -o made.pb
decompose F --at 1 -o made
subgraph F --range 0:1 -o made.pb
validate F pieces
roundtrip F -o made
shard F --mesh 2 -o made
extract F -o made --input f32[2,3]
run F
diff-run F good.gn
bench F --backend nope -o made
reduce F --command true -o made.pb
diff-run good.gn F
END
done
# Commands that take folders of pieces or logs.
for command in "compose F -o made.pb" "score F"; do
  code=0
  # shellcheck disable=SC2086
  "$graphnet" ${command//F/foreign/net.onnx} >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "$command: exit code $code: $(cat out.txt err.txt)"
done

# --- Beside others.
for name in net.onnx state.pt none; do
  for command in "check good.gn F good.gn" "stats F good.gn" "hash good.gn F" "find relu F good.gn" \
    "bench good.gn F --backend nope --trials 1 --warmup 0"; do
    code=0
    # shellcheck disable=SC2086
    timeout 60 "$graphnet" ${command//F/foreign/$name} >out.txt 2>err.txt || code=$?
    [ "$code" -eq 2 ] || fail "$command: exit code $code: $(cat out.txt err.txt)"
    [ "$(cat out.txt err.txt | grep -c "foreign/$name: ")" -eq 1 ] || fail "$command: $(cat out.txt err.txt)"
  done
done
code=0
"$graphnet" check good.gn foreign/net.onnx foreign/empty.pt good.gn >out.txt || code=$?
[ "$code" -eq 2 ] || fail "check: exit code $code"
[ "$(tail -n 1 out.txt)" = "2 passed, 2 failed" ] || fail "check: $(cat out.txt)"
"$graphnet" check good.gn foreign/net.onnx --json >out.json || true
python3 -c 'import json
d = json.load(open("out.json"))
assert d["passed"] == d["failed"] == 1 and "an ONNX model" in d["samples"][1]["error"]["message"], d'

# --- In a folder they are not inputs, whatever their names are.
mkdir folder
"$graphnet" convert good.gn folder/good.gn  # has the words by which text is recognised
cp foreign/* folder
"$graphnet" check folder >out.txt || fail "check folder: $(cat out.txt)"
grep -q '^1 passed, 0 failed$' out.txt || fail "check folder: $(cat out.txt)"

# --- Folders that are not samples.
mkdir -p tf hf half
touch tf/saved_model.pb hf/config.json hf/model.safetensors half/model.py half/weight_meta.py
refused tf "a SavedModel of TensorFlow" show tf
refused hf "a checkpoint of Hugging Face" show hf
refused half "a GraphNet sample without its graph_net.json" show half
refused folder "a folder of samples, not a sample" show folder
# The disk is not searched just to word an error.
refused / "not a sample" show /

# --- Links to samples, folders and files; a link to something else is not followed.
"$graphnet" convert good.gn sample 2>/dev/null
mkdir links far
cp -r sample far/deep
ln -s ../sample links/a
ln -s ../folder/good.gn links/b.gn
ln -s ../far links/c
ln -s .. links/d
ln -s nowhere links/e
"$graphnet" check links >out.txt || fail "links: $(cat out.txt)"
grep -q '^2 passed, 0 failed$' out.txt || fail "links: $(cat out.txt)"
"$graphnet" convert links -o converted --to protobuf >out.txt || fail "links: $(cat out.txt)"
[ -f converted/a.pb ] && [ -f converted/b.pb ] || fail "links: $(ls converted)"

# --- Missing parent folders of an output are made.
"$graphnet" opt good.gn -p dce -o new/sub/folder --to graphnet >/dev/null 2>&1
"$graphnet" opt good.gn -p dce -o new/other/file.pb >/dev/null 2>&1
[ -f new/sub/folder/model.py ] && [ -f new/other/file.pb ] || fail "opt -o NEW/SUB: $(find new)"

# --- If a format cannot hold everything, a note with counts says so.
cat >full.gn <<'END'
graph @forward(%x : f32[2, 3]) {
  %y = torch.relu(%x) : f32[2, 3] in layer1.relu
  %z = torch.exp(%y) : f32[2, 3] in layer1.exp
  return (%z,)
}
END
"$graphnet" convert full.gn full.pb 2>err.txt
[ ! -s err.txt ] || fail "protobuf loses: $(cat err.txt)"
"$graphnet" convert full.pb full --json >out.json 2>err.txt
grep -qF "note: lost: 2 shapes of values, 2 module paths; --to protobuf keeps them" err.txt || fail "$(cat err.txt)"
python3 -c 'import json
lost = json.load(open("out.json"))["samples"][0]["lost"]
assert lost == {"metas": 2, "module_paths": 2}, lost'
"$graphnet" opt full.pb -p dce -o full2 2>err.txt >/dev/null
grep -qF "note: lost: 2 shapes" err.txt || fail "opt: $(cat err.txt)"
# TorchScript has types, but no shapes; torch.export has both.
"$graphnet" convert full.pb full.pt 2>err.txt
grep -qF "note: lost: 3 shapes of values, 2 module paths; --to protobuf keeps them" err.txt || fail "TorchScript: $(cat err.txt)"
"$graphnet" convert full.pb full.pt2 2>err.txt
grep -qxF "note: example inputs that are not known are drawn: 1" err.txt || fail "torch.export: $(cat err.txt)"
[ "$(wc -l <err.txt)" = 1 ] || fail "torch.export loses: $(cat err.txt)"
mkdir two
cp full.pb two/a.pb
cp full.pb two/b.pb
"$graphnet" convert two -o three --to graphnet 2>err.txt >/dev/null
grep -qF "note: lost in 2 samples: 4 shapes of values, 4 module paths" err.txt || fail "batch: $(cat err.txt)"
echo PASSED
