#!/usr/bin/env bash
# Without its engine, the tool still does everything except running operators.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
programs=$PWD/tests/formats/pt2/testdata
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

mkdir -p bin
cp "$graphnet" bin/graphnet
tool=$PWD/bin/graphnet
if ldd "$tool" | grep -E 'libtorch|libc10'; then fail "the program links LibTorch"; fi

# works COMMAND…: the command exits with 0, both without the engine and in the whole tool.
works() {
  "$tool" "$@" >out.txt 2>err.txt || fail "$*: $(cat err.txt)"
}
# refused COMMAND…: the tool prints one line that says what is missing.
refused() {
  local code=0
  "$tool" "$@" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && [ "$(wc -l <err.txt)" -eq 1 ] && grep -q "the engine that runs operators is missing" err.txt ||
    fail "$*: exit code $code: $(cat err.txt)"
}

pt2=$programs/autocast_layer.pt2
for sample in "$samples/resnet.pb" "$pt2"; do
  for command in show stats check; do works "$command" "$sample"; done
  works convert "$sample" sample.gn
  works show sample.gn
  rm -rf pieces folder
  works convert "$sample" folder
  works check folder
  works opt "$sample" --passes=dce,canonical-names -o changed.pb
  works lint "$sample" --rule meta
  works decompose "$sample" --pieces 2 -o pieces --ports none
  works validate "$sample" pieces
  works compose pieces -o whole.pb
  works show "$sample" -o sample.svg
done
works convert "$programs/in_dict.pt2" sample.mlir
grep -q '^  func.func @main(' sample.mlir || fail "a program as MLIR"
works --help
works run --help
works man
works completion bash
"$tool" --version | grep -q "^LibTorch not found: " || fail "--version"

refused run "$samples/resnet.pb"
refused shapes "$samples/resnet.pb"
refused show "$samples/resnet.pt"
refused diff-run "$samples/resnet.pb" "$samples/resnet.pb"
refused extract "$samples/resnet.pt" -o extracted --input 'f32[1,3,64,64]'
refused convert "$samples/resnet.pb" resnet.pt
refused lint "$samples/resnet.pb" --rule finite-run

# All symbols of the engine are resolved when it is opened, not when they are first called.
LD_BIND_NOW=1 "$graphnet" run "$samples/resnet.pb" >/dev/null || fail "the engine lacks something"
echo "ok"
