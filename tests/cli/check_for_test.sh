#!/usr/bin/env bash
# `graphnet check --for`: lists all that formats and compilers lack, without running anything.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"
export GRAPHNET_BACKENDS=$PWD/none  # There is no exporter and no compiler.

fail() { echo "FAILED: $*" >&2; exit 1; }
# expect CODE MESSAGE COMMAND…: the command exits with CODE, and the output contains MESSAGE.
expect() {
  local wanted=$1 message=$2 code=0
  shift 2
  "$graphnet" "$@" >out.txt 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || fail "$*: exit code $code, wanted $wanted: $(cat out.txt)"
  grep -qE -- "$message" out.txt || fail "$*: no '$message' in: $(cat out.txt)"
}
has() { grep -qE -- "$1" out.txt || fail "no '$1' in: $(cat out.txt)"; }

mkdir samples
cat >samples/plain.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[2, 3] {mean = 0.0, std = 1.0}) {
  %y = torch.relu(%x)
  return (%y,)
}
end
END
# Three operators that ONNX lacks, one of them twice; MLIR lacks two.
cat >samples/rare.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[2, 3, 3] {mean = 0.0, std = 1.0}) {
  %a = torch.fft.irfft(%x)
  %b = torch.igamma(%x, %x)
  %c = torch.fft.irfft(%b)
  %d = torch.relu(%c)
  %e = torch.i0(%d)
  return (%a, %e)
}
end
END
cat >samples/unknown.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[2, 3] {mean = 0.0, std = 1.0}) {
  %a = torch.ops.mylib.f(%x)
  %b = torch.ops.mylib.g(%a)
  %c = torch.ops.mylib.g(%b)
  return (%c,)
}
end
END

# --- All work.
expect 0 'plain.gn +ok +ok +ok +ok +ok' check samples/plain.gn --for onnx,mlir,paddle,pt2,torchscript
! grep -q lacks out.txt || fail "something is missing: $(cat out.txt)"
all=$("$graphnet" check samples/plain.gn --for none 2>&1 | sed 's/.*there are //; s/, /,/g' || true)
expect 0 'plain.gn( +ok)+$' check samples/plain.gn --for "$all"

# --- All missing calls are reported.
expect 1 'rare.gn +[0-9]' check samples --for mlir,onnx -j 2
has '^mlir lacks  *calls  reason$'
has '^aten.fft_irfft.default +2  the torch dialect has no operator'
has '^aten.igamma.default +1 '
has '^onnx lacks  *calls  reason$'
expect 1 '^torch.ops.mylib.g +2 ' check samples/unknown.gn --for pt2
has '^torch.ops.mylib.f +1 '
expect 1 '^torch.ops.mylib.g +2 ' check samples/unknown.gn --for torchscript
has '^torch.ops.mylib.f +1 '

# --- The same for programs.
"$graphnet" check samples --for mlir,pt2 --json >out.json && fail "exits with 0"
python3 - out.json <<'END'
import json, sys
rows = {row["path"]: row["targets"] for row in json.load(open(sys.argv[1]))["samples"]}
assert rows["samples/plain.gn"]["mlir"] == {"works": True, "missing": []}, rows
rare = rows["samples/rare.gn"]
assert rare["pt2"]["works"], rare
assert not rare["mlir"]["works"], rare
assert {"target": "aten.fft_irfft.default", "count": 2, "reason":
        "the torch dialect has no operator aten.fft_irfft.default"} in rare["mlir"]["missing"], rare
assert [row["count"] for row in rows["samples/unknown.gn"]["pt2"]["missing"]] == [1, 2], rows
END
# The report about a format agrees with convert.
for target in mlir pt2 torchscript paddle; do
  for sample in plain rare unknown; do
    said=0 did=0
    "$graphnet" check samples/$sample.gn --for $target >out.txt 2>&1 || said=1
    "$graphnet" convert samples/$sample.gn made --to $target >made.txt 2>&1 || did=1
    [ $said = $did ] || fail "$sample for $target: $(cat out.txt made.txt)"
    rm -rf made
  done
done

# --- Inputs that are not samples, unknown targets, or both.
printf "graphnet.module 1\n\nbroken\n" >samples/bad.gn
expect 2 'bad.gn' check samples --for pt2
has 'plain.gn +ok'
expect 2 'there is no target onx; did you mean onnx\?; there are onnx, mlir, .*tensorrt' check samples --for onx
expect 2 'excludes' check samples --for pt2 --calls
