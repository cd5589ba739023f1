#!/usr/bin/env bash
# Programs that call operators of a library: --library, and errors.
set -euo pipefail
graphnet=$1
make_archive=$2
library=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

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

"$make_archive" "$scratch/net.pt" "$library" <<'END'
def forward(self, x):
    y = test_operators.thrice(x + 1)
    return y * test_operators.rows(x)
END
trusted=(--trust --library "$library")

out=$("$graphnet" extract "$scratch/net.pt" -o "$scratch/out" --input 'f32[2,3]' --check "${trusted[@]}")
contains "$out" "custom-operator (test_operators::thrice)"
contains "$out" "the stitched program yields the same bits as LibTorch"
contains "$("$graphnet" run "$scratch/out" "${trusted[@]}")" "o0  f32[2, 3]"
refused "test_operators::thrice" run "$scratch/out"

# Graphs that call such operators can be read and shown.
contains "$("$graphnet" show "$scratch/net.pt" "${trusted[@]}")" "test_operators.thrice"
refused "test_operators" run "$scratch/net.pt" --input 'f32[2,3]' --trust

# The graph and its pieces run with the same values as the extracted program.
python3 - "$scratch/x.safetensors" <<'END'
import json, struct, sys
text = json.dumps({"x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + struct.pack("<6f", 1, -2, 3, 0.5, 0, 7))
END
for what in out net.pt; do
  "$graphnet" run "$scratch/$what" --inputs "$scratch/x.safetensors" -o "$scratch/$what.safetensors" "${trusted[@]}" >/dev/null
done
cmp "$scratch/out.safetensors" "$scratch/net.pt.safetensors" || fail "the graph yields other values"
"$graphnet" decompose "$scratch/net.pt" --input 'f32[2,3]' --pieces 2 -o "$scratch/pieces" "${trusted[@]}" >/dev/null
"$graphnet" run "$scratch/pieces" "${trusted[@]}" >/dev/null || fail "pieces do not run"

# These are not libraries of operators.
echo text >"$scratch/text.so"
printf '#include <stdio.h>\nextern int at_missing(void);\nint call(void) { return at_missing(); }\n' >"$scratch/other.c"
refused "needs --trust" run "$scratch/net.pt" --library "$library"
refused "No such file" run "$scratch/net.pt" --trust --library "$scratch/missing.so"
refused "text.so: cannot be loaded as a library" run "$scratch/net.pt" --trust --library "$scratch/text.so"
refused "is not a regular file" run "$scratch/net.pt" --trust --library "$scratch"
if gcc -shared -fPIC -o "$scratch/other.so" "$scratch/other.c" 2>/dev/null; then
  refused "not built for LibTorch" run "$scratch/net.pt" --trust --library "$scratch/other.so"
fi
# Another library has the same operators.
cp "$library" "$scratch/twice.so"
refused "operators exist already" run "$scratch/net.pt" "${trusted[@]}" --library "$scratch/twice.so"
echo PASSED
