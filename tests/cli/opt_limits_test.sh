#!/usr/bin/env bash
# Passes of a plug-in that abort, hang or take memory end their process, and not the batch.
# Arguments: graphnet, the plug-in (tests/cli/crashing_plugin.cc).
set -euo pipefail
graphnet=$PWD/$1
export GRAPHNET_PLUGINS=$PWD/$2
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

mkdir in
for call in relu tanh exp; do
  cat >in/$call.gn <<END
graphnet.module 1

graph @forward(%x : f32[2, 3] {mean = 0.0, std = 1.0}) {
  %y = torch.$call(%x) : f32[2, 3]
  %dead = torch.abs(%x) : f32[2, 3]
  return (%y,)
}
end
END
done

# limited CAUSE OPTION…: two samples are written, and a line says why the third was not.
limited() {
  local cause=$1 code=0
  shift
  rm -rf out
  "$graphnet" opt in -o out "$@" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "$*: exit code $code: $(cat out.txt err.txt)"
  [ "$(ls out)" = $'exp.gn\nrelu.gn' ] || fail "$*: $(ls out)"
  ! grep -q dead out/relu.gn || fail "$*: dce did not run"
  [ "$(grep -c ^FAIL err.txt)" -eq 1 ] && grep -q "^FAIL in/tanh.gn: .*$cause" err.txt || fail "$*: $(cat err.txt)"
  grep -q '^2 passed, 1 failed$' out.txt && grep -qE '^dce +2 +2 +-2$' out.txt || fail "$*: $(cat out.txt)"
}

for jobs in 1 3; do
  limited 'killed by signal 6' -p dce,aborts -j "$jobs"
  rm -rf out
  code=0
  "$graphnet" opt in -p dce,answers -j "$jobs" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && grep -q '^FAIL in/tanh.gn: the process of the passes gave another answer than it should$' err.txt &&
    [ "$(grep -c ^FAIL err.txt)" -eq 1 ] || fail "answers: $code $(cat err.txt)"
  limited 'no answer within' -p dce,hangs -j "$jobs" --timeout 2
  limited 'MiB' -p dce,grows -j "$jobs" --max-memory 300
done
# One sample, whose process gets paths of this folder.
code=0
"$graphnet" opt in/tanh.gn -p aborts -o one.gn --timeout 100 2>err.txt || code=$?
[ "$code" -eq 2 ] && [ ! -e one.gn ] && grep -q 'killed by signal 6' err.txt || fail "one: $code $(cat err.txt)"
cat >here.rules <<'END'
rule gelu
graph @pattern(%x) {
  %y = torch.relu(%x)
  return %y
}
graph @replacement(%x) {
  %y = torch.sigmoid(%x)
  return %y
}
END
"$graphnet" opt in/relu.gn -p 'rewrite{rules=here.rules}' -o one.gn --timeout 100
grep -q torch.sigmoid one.gn || fail "$(cat one.gn)"
# What a failed check, and JSON, say is the same with and without a process.
printf 'graphnet.module 1\n\ngraph @forward(%%x : f32[2]) {\n  %%y = torch._C._nn.gelu(%%x)\n  return (%%y,)\n}\nend\n' >in/private.gn
for limit in "" "--timeout 100"; do
  code=0
  # shellcheck disable=SC2086
  GRAPHNET_PLUGINS='' "$graphnet" opt in -p check-stable --json $limit >"json$limit.txt" 2>err.txt || code=$?
  [ "$code" -eq 1 ] || fail "check-stable $limit: exit code $code: $(cat err.txt)"
  sed -i 's/"seconds": [^,}]*/"seconds": 0/' "json$limit.txt"
done
cmp json.txt "json--timeout 100.txt" || fail "json"
echo PASSED
