#!/usr/bin/env bash
# `graphnet diff-run` of one model in three forms: values are paired by what computes them, whatever
# the exporter calls them, and the first difference is where the models differ.
set -euo pipefail
graphnet=$PWD/$1
archive=$PWD/tests/cli/exports/exports.tar.xz
cd "$TEST_TMPDIR"
exports=$PWD
python3 -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall()' "$archive"
fail() { echo "FAILED: $*" >&2; exit 1; }

forms=(.pt2 _core.pt2 .pt)
for a in "${forms[@]}"; do
  for b in "${forms[@]}"; do
    # The same model: kernels may round differently, but nothing is off by more.
    "$graphnet" diff-run "$exports/same$a" "$exports/same$b" --input 'f32[2,3,8]' --atol 1e-5 --json >same.json ||
      fail "$a and $b of one model: $(cat same.json)"
    # Another eps in the second block.
    code=0
    "$graphnet" diff-run "$exports/same$a" "$exports/eps$b" --input 'f32[2,3,8]' --atol 1e-5 --json >eps.json || code=$?
    [ "$code" -eq 1 ] || fail "$a and $b: exit code $code"
    python3 - "$a" "$b" <<'END' || fail "$a and $b: $(cat same.json eps.json)"
import json, sys
same, eps = json.load(open("same.json")), json.load(open("eps.json"))
assert same["equal"] and same["different_values"] == 0 and same["values"] >= 12, same
assert same["paired_by"]["computation"] >= same["values"] / 2, same
first = eps["first_different_value"]
assert first["module"].startswith("blocks.1"), first
assert first["module"] == "blocks.1.ln1" or "norm" in first["target"], first
assert 1e-5 < first["mean_difference"] <= first["max_difference"] < 0.1, first
assert 0 < first["relative_difference"] < 0.1 and first["line"] > 0, first
END
  done
done

# --- Texts: how values were paired, the place and the size of the first difference, the table.
"$graphnet" diff-run "$exports/same.pt2" "$exports/eps_core.pt2" --atol 1e-5 >out.txt && fail "no difference"
grep -qE '^[0-9]+ values compared, [0-9]+ of them different; paired by what computes them: [0-9]+' out.txt || fail "$(cat out.txt)"
grep -qE '^first difference: .* in blocks\.1\.ln1 at .*:[0-9]+: at most .*, on average .*, .* of the largest element' out.txt ||
  fail "$(cat out.txt)"
"$graphnet" diff-run "$exports/same.pt2" "$exports/eps.pt2" --table >table.txt && fail "no difference"
grep -qE '^value +in A +at most +on average +relative +paired by' table.txt || fail "$(cat table.txt)"
[ "$(grep -c 'what computes them' table.txt)" -gt 40 ] || fail "$(cat table.txt)"

# --- A tolerance is one of elements: rtol is a part of A's.
cat >a.gn <<'END'
graph @forward(%x : f32[4] {data = [1.0, 10.0, 100.0, 1000.0]}) {
  %y = torch.mul(%x, 2.0)
  return (%y,)
}
END
sed 's/2.0/2.002/' a.gn >b.gn
"$graphnet" diff-run a.gn b.gn --rtol 2e-3 >out.txt || fail "rtol: $(cat out.txt)"
grep -q '^o0   close: at most 2, ' out.txt || fail "rtol: $(cat out.txt)"
"$graphnet" diff-run a.gn b.gn --rtol 5e-4 >/dev/null && fail "a smaller rtol"
"$graphnet" diff-run a.gn b.gn --atol 2.1 >/dev/null || fail "atol"
"$graphnet" diff-run a.gn b.gn --atol 1.9 >/dev/null && fail "a smaller atol"
# Other names, the same computation; and the same names with another meaning.
cat >one.gn <<'END'
graph @forward(%x : f32[3]) {
  %a = torch.exp(%x)
  %b = torch.neg(%a)
  %c = torch.sin(%b)
  return (%c,)
}
END
sed 's/%a/%t/g; s/%b/%a/g; s/%t/%b/g; s/torch.sin/torch.cos/' one.gn >other.gn
"$graphnet" diff-run one.gn other.gn >out.txt && fail "sin is cos"
grep -q '^3 values compared, 1 of them different' out.txt && grep -q '^first difference: c = torch.cos' out.txt ||
  fail "$(cat out.txt)"
sed -i 's/%c/%last/g' other.gn
"$graphnet" diff-run one.gn other.gn >out.txt && fail "sin is cos"
grep -q '^first difference: last = torch.cos.*; it is c in A$' out.txt || fail "$(cat out.txt)"
