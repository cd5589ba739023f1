#!/usr/bin/env bash
# `graphnet hash` and `graphnet diff`, end to end.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() {
  echo "FAILED: $1" >&2
  exit 1
}
# code WANTED COMMAND...: the exit code.
code() {
  local wanted=$1 got=0
  shift
  "$@" >out.txt 2>err.txt || got=$?
  [ "$got" -eq "$wanted" ] || fail "$* exits with $got: $(cat out.txt err.txt)"
}

cat >a.gn <<'EOF2'
attribute w : f32[4, 3, 3, 3]@cpu
graph @forward(%x : f32[2, 3, 8, 8]@cpu) {
  %w = get_attr w
  %c = torch.conv2d(%x, %w, None, padding = 1) at "net.py":7
  %r = torch.nn.functional.relu(%c, inplace = True)
  %f = .flatten(%r, 1)
  return (%f,)
}
EOF2
cat >b.gn <<'EOF2'
attribute weight : f32[4, 3, 3, 3]@cpu
graph @forward(%input : f32[2, 3, 8, 8]@cpu) {
  %1 = get_attr weight
  %2 = aten._convolution.default(%input, %1, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, False, False, True, True)
  %3 = aten.relu.default(%2)
  %4 = aten.view.default(%3, [2, -1])
  return %4
}
EOF2
sed 's/relu/gelu/; s/, inplace = True//' a.gn >c.gn

# A line an input, as sha256sum prints it.
"$graphnet" hash a.gn b.gn >hashes.txt
grep -qE '^[0-9a-f]{64}  a\.gn$' hashes.txt || fail "a line: $(cat hashes.txt)"
[ "$(cut -d' ' -f1 hashes.txt | sort -u | wc -l)" -eq 2 ] || fail "two ways to write it"
"$graphnet" hash --normal-form a.gn b.gn c.gn | cut -d' ' -f1 | sort | uniq -c | sort -n |
  awk '{print $1}' | paste -sd' ' | grep -qx '1 2' || fail "one normal form of a and b"
"$graphnet" hash --json a.gn | grep -q '"passed": 1' || fail "json"

# A TorchScript archive and what it was converted to.
code 0 "$graphnet" diff "$samples/resnet.pt" "$samples/resnet.pb"
grep -q '^equal: ' out.txt || fail "equal"

code 0 "$graphnet" diff --normal-form a.gn b.gn
code 1 "$graphnet" diff --normal-form a.gn c.gn
diff -u - out.txt <<'EOF2' || fail "the text of a diff"
~ %r = aten.relu.default(%c) : f32[2, 4, 8, 8]@cpu
    target: aten.relu.default became aten.gelu.default
0 removed, 0 added, 1 changed, 5 the same
EOF2
code 1 "$graphnet" diff --normal-form --json a.gn c.gn
grep -q '"changed": 1' out.txt || fail "json of a diff"
code 1 "$graphnet" diff --normal-form --format dot a.gn c.gn
grep -q '#fcf0c3' out.txt || fail "a changed node is yellow"
code 1 "$graphnet" diff a.gn b.gn --picture d.svg
[ -s d.svg ] || fail "a picture"
code 2 "$graphnet" diff a.gn nowhere.gn
code 2 "$graphnet" diff a.gn b.gn --picture d.txt

# What is written computes the same.
code 0 "$graphnet" hash --normal-form "$samples/vit.pb" -o vit.pb
code 0 "$graphnet" diff-run "$samples/vit.pb" vit.pb
code 2 "$graphnet" hash "$samples/vit.pb" -o vit.pb
