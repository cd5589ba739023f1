#!/usr/bin/env bash
# Graphs as people post them: texts that PyTorch printed are shown, hashed, searched, run and
# converted like the programs that they came from.
set -euo pipefail
graphnet=$PWD/$1
texts=$PWD/tests/formats/posted/testdata
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

# The hashes of the .pt2 of the same programs.
(cd "$texts" && "$graphnet" hash mlp.txt training.txt branches.txt 2>/dev/null) >hashes ||
  fail "hash"
sort -k2 "$texts/hashes.txt" | diff - <(sort -k2 hashes) || fail "hashes differ from those of .pt2"

# The standard input.
"$graphnet" show - <"$texts/mlp.txt" >shown 2>notes || fail "show -"
grep -q '^attribute a.weight : f32\[16, 8\] as torch.nn.parameter.Parameter$' shown ||
  fail "the signature makes no parameters"
grep -q '^relation s[0-9]* <= 64$' shown || fail "ranges"
grep -q '^note: <stdin>: the text has no sizes for its symbols' notes || fail "no note"
sed 's/^/> /; 1s/^/```\n/' "$texts/mlp.txt" | sed 's/$/\r/' | "$graphnet" hash - 2>/dev/null |
  grep -qF "$(cut -d' ' -f1 <(grep mlp "$texts/hashes.txt"))" || fail "a quoted graph"
"$graphnet" run - <"$texts/readable.txt" 2>/dev/null | grep -q '^o2  f32\[4, 2\]$' || fail "run -"
"$graphnet" find 'batch_norm(?)' "$texts/mlp.txt" 2>/dev/null | grep -q batch_norm || fail "find"
"$graphnet" convert - out.pb <"$texts/branches.txt" 2>/dev/null || fail "convert"
[ "$("$graphnet" hash out.pb | cut -d' ' -f1)" = "$(grep branches hashes | cut -d' ' -f1)" ] ||
  fail "the converted graph is another"

# A log is an input with several graphs.
"$graphnet" hash "$texts/compile.log" 2>/dev/null | cut -d'#' -f2 >names
printf '%s\n' compiled_fn_1 forward_graph_0 backward_graph_0 compiled_fn_3 forward_graph_1 \
  after_post_grad | diff - names || fail "the graphs of a log"
"$graphnet" show "$texts/compile.log#backward_graph_0" 2>/dev/null |
  grep -q aten.threshold_backward.default || fail "a graph by its name"
"$graphnet" show - <"$texts/compile.log" 2>&1 >/dev/null | grep -q 'the first of 6 graphs is read' ||
  fail "the first graph of the standard input"

# Repros say what their inputs are.
"$graphnet" run "$texts/repro.txt" 2>/dev/null | grep -q '^o1  bf16\[4\]$' || fail "a repro"
"$graphnet" show "$texts/dynamo_repro.txt" | grep -q 'f32\[4, 8\]@cpu as torch.nn.parameter' ||
  fail "a repro of Dynamo"
"$graphnet" show "$texts/module.txt" 2>/dev/null | grep -q '^attribute norm.bias : f32\[16\]$' ||
  fail "attributes of self"

# What is written is what PyTorch printed, but for strides and for what stands behind a line's number;
# and it is the same graph.
"$graphnet" show --to readable "$texts/readable.txt" 2>/dev/null >written.txt || fail "readable"
sed -E 's/(: "[a-z0-9]+\[[^]]*\])\[[^]]*\]/\1/g; s/(# File: [^:]*:[0-9]+) in .*/\1/' \
  "$texts/readable.txt" | sed -E 's/ +$//' | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' |
  diff - written.txt || fail "PyTorch writes another text"
for name in mlp branches training module; do
  "$graphnet" show --to readable "$texts/$name.txt" 2>/dev/null >again.txt || fail "readable $name"
  [ "$("$graphnet" hash again.txt 2>/dev/null | cut -d' ' -f1)" = \
    "$("$graphnet" hash "$texts/$name.txt" 2>/dev/null | cut -d' ' -f1)" ] || fail "$name is another"
done

# An error has its place in the text.
sed 's/(linear);/(gone);/' "$texts/mlp.txt" >wrong.txt
code=0
"$graphnet" show wrong.txt 2>error || code=$?
[ $code = 2 ] || fail "exit code $code"
grep -q "^graphnet: wrong.txt:8:[0-9]*: 'gone' is not defined" error || fail "$(cat error)"
