#!/usr/bin/env bash
# A plug-in's format is recognised, read and written as every other, and the tool names it wherever
# it names formats. Arguments: graphnet, the plug-in.
set -euo pipefail
graphnet=$PWD/$1
plugin=$PWD/$2
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

printf 'chain\nrelu\ntanh\n' >net.chain
"$graphnet" stats net.chain >/dev/null 2>err.txt && fail "known without the plug-in"
grep -q 'net.chain: neither a GraphNet folder' err.txt || fail "$(cat err.txt)"

export GRAPHNET_PLUGINS=$plugin
"$graphnet" convert net.chain net.pb
"$graphnet" convert net.pb again.chain
cmp net.chain again.chain
"$graphnet" convert - back.gn <net.chain
grep -q 'torch.tanh(%relu)' back.gn || fail "$(cat back.gn)"
mkdir -p many && cp net.chain net.pb many
"$graphnet" convert many --to chain -o chains 2>/dev/null && fail "two samples to one place"
rm many/net.pb && cp net.pb many/other.pb
"$graphnet" convert many --to chain -o chains >/dev/null
cmp chains/net.chain net.chain && cmp chains/other.chain net.chain
# From the standard output, too.
[ "$("$graphnet" convert net.pb --to chain -o -)" = "$(cat net.chain)" ] || fail "standard output"

"$graphnet" convert --help >help.txt
grep -q -F '*.chain a chain of operators' help.txt || fail "not in --help"
grep -q -F -- '--to chain|dot|' help.txt || fail "not in --to"
"$graphnet" completion bash >completion.txt
grep -q "words='chain dot" completion.txt || fail "not in the completion"

# Its pass is run and listed, though nothing documents it.
[ "$("$graphnet" opt net.chain --passes=tanh-to-relu -o - --to chain 2>/dev/null)" = \
  "$(printf 'chain\nrelu\nrelu')" ] || fail "the pass"
"$graphnet" passes >passes.txt
grep -q '^tanh-to-relu  *-  *not documented$' passes.txt || fail "$(cat passes.txt)"
grep -q '^torch-to-aten ' passes.txt || fail "the list ends at the pass without documentation"
"$graphnet" passes --json >passes.json
grep -q '"torch-to-aten"' passes.json || fail "$(cat passes.json)"
"$graphnet" passes --markdown >passes.md
grep -q '^| tanh-to-relu | - | not documented |$' passes.md || fail "$(head -60 passes.md)"
grep -q '^| \[torch-to-aten\]' passes.md || fail "the page ends at the pass without documentation"
"$graphnet" passes tanh-to-relu 2>err.txt && fail "documented"
[ "$(cat err.txt)" = "graphnet: the pass tanh-to-relu is not documented" ] || fail "$(cat err.txt)"

# Errors name file and place, and what is written is whole or not there.
printf 'chain\nrelu\nadd 1\n' >bad.chain
"$graphnet" stats bad.chain >/dev/null 2>err.txt && fail "bad.chain is read"
grep -q 'bad.chain:3:1: one operator a line' err.txt || fail "$(cat err.txt)"
cat >add.gn <<'END'
graph @forward(%x : f32[2]) {
  %y = torch.add(%x, %x)
  return (%y,)
}
END
"$graphnet" convert add.gn add.chain >/dev/null 2>err.txt && fail "add.gn is no chain"
grep -q 'a chain has no torch.add' err.txt || fail "$(cat err.txt)"
[ ! -e add.chain ] || fail "half written"

# Libraries that are no plug-ins are said, each in one line.
for wrong in /nowhere/lib.so "$graphnet" "$plugin:$plugin"; do
  code=0
  GRAPHNET_PLUGINS=$wrong "$graphnet" stats net.pb >/dev/null 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "$wrong: exit code $code"
  [ "$(wc -l <err.txt)" -eq 1 ] || fail "$wrong: $(cat err.txt)"
  grep -q 'GRAPHNET_PLUGINS: ' err.txt || fail "$wrong: $(cat err.txt)"
done
