# The tests of TorchScript source this: their arguments, a scratch folder, and checks of outputs.
graphnet=$1
make_archive=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }
refused() {
  local expected=$1 out code=0
  shift
  out=$("$graphnet" "$@" 2>&1) || code=$?
  [ "$code" = 2 ] || fail "exit $code: $*: $out"
  contains "$out" "$expected"
}
# Prints the values of a safetensors file by name, texts as texts.
values() {
  python3 -c '
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
for name, entry in sorted(json.loads(data[8:8 + size]).items()):
    if name == "__metadata__": continue
    begin, end = entry["data_offsets"]
    raw = data[8 + size + begin:8 + size + end]
    kind = {"F32": "f", "F64": "d", "I64": "q", "BOOL": "?"}.get(entry["dtype"])
    print(name, raw.decode() if kind is None else list(struct.unpack(f"<{len(raw) // struct.calcsize(kind)}{kind}", raw)))
' "$1"
}
run() { "$graphnet" run "$@" --outputs "$scratch/out.safetensors" >/dev/null && values "$scratch/out.safetensors"; }
