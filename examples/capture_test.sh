#!/usr/bin/env bash
# Calls a program with a break three times through the cache. Arguments: capture, make_archive.
set -euo pipefail
fail() { echo "FAILED: $*" >&2; exit 1; }

"$2" "$TEST_TMPDIR/net.pt" <<'END'
def forward(self, x, n: int):
    y = torch.relu(x * n)
    print("break")
    return y + 1
END
printed=$("$1" "$TEST_TMPDIR/net.pt" 'f32[2,3]' int=2)
# The program prints at each call.
[[ $printed == $'break\nbreak\nbreak\n1 captures, 2 hits\nsubgraph_0\n'*$'\nsubgraph_1' ]] ||
  fail "$printed"
"$1" "$TEST_TMPDIR/net.pt" 2>"$TEST_TMPDIR/err" && fail "no inputs"
grep -q 'no --input for parameter' "$TEST_TMPDIR/err" || fail "$(cat "$TEST_TMPDIR/err")"
