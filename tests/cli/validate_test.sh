#!/usr/bin/env bash
# validate end to end: pieces on disk in both forms and layouts, with and without running them,
# folders of samples, and exit codes.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
# A sample must not contain links, but the files of a test are links.
cp -rL "$PWD/tests/validate/foreign" "$TEST_TMPDIR/foreign"
foreign=$TEST_TMPDIR/foreign
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect CODE TEXT ARGUMENT…: validate exits with CODE and prints TEXT.
expect() {
  local code=0 wanted=$1 text=$2
  shift 2
  "$graphnet" validate "$@" >out.txt 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || fail "validate $*: exit code $code, wanted $wanted: $(cat out.txt)"
  grep -qF -- "$text" out.txt || fail "validate $*: no '$text' in: $(cat out.txt)"
}

cat >net.txt <<'END'
graphnet.module 1

graph @forward(%x : f32[8, 4] {mean = 0.0, std = 1.0}, %w : f32[4, 4] {mean = 0.0, std = 1.0}) {
  %h = torch.nn.functional.linear(%x, %w)
  %r = torch.rand_like(%h)
  %act = torch.relu(%h)
  %y = operator.mul(%act, %r)
  return (%y,)
}
end
END

# --- Forms, styles and schemes; with runs and plots.
for format in graphnet protobuf; do
  for style in chain dag; do
    rm -rf pieces
    "$graphnet" decompose net.txt -o pieces --at 1,3 --style $style --format $format >/dev/null
    expect 0 "original=4 pieces=1+2+1=4" net.txt pieces
    expect 0 "1 of 1 outputs bit-equal" net.txt pieces --run --plot line.svg
    grep -q '^ES(t) = 1 for t = -10 … 4$' out.txt || fail "no flat line: $(cat out.txt)"
    grep -q '<polyline' line.svg || fail "no drawing"
  done
done

# --- The default folder; a given configuration; the layout of GraphNet in Python; parts of a graph.
"$graphnet" decompose net.txt --balanced 2 >/dev/null
expect 0 "valid" net.txt
expect 0 "valid" net.txt --config net_decomposed/decompose_config.pb
"$graphnet" decompose net.txt -o peer --pieces 2 --layout peer >/dev/null
expect 0 "valid" net.txt peer
rm peer/_decomposed/decompose_config.json
expect 0 "note: without a configuration" net.txt peer --run
"$graphnet" decompose net.txt -o part --ranges 1:3 --no-head-and-tail >/dev/null
expect 0 "note: operators [0, 1) are in no piece and are not validated" net.txt part --run

# --- Parameters of the original are inputs of pieces in folders.
"$graphnet" convert "$samples/resnet.pt" resnet.pb
"$graphnet" decompose resnet.pb -o resnet_pieces --pieces 4 --to graphnet >/dev/null
expect 0 "valid" resnet.pb resnet_pieces
"$graphnet" decompose resnet.pb -o resnet_files --pieces 4 --style dag >/dev/null
expect 0 "valid" resnet.pb resnet_files

# --- The original knows all shapes; folders keep those of ports, which is enough.
"$graphnet" shapes net.txt >shaped.txt 2>/dev/null
for format in graphnet protobuf; do
  for style in chain dag; do
    rm -rf pieces
    "$graphnet" decompose shaped.txt -o pieces --at 1,3 --style $style --format $format >/dev/null
    expect 0 "1 of 1 outputs bit-equal" shaped.txt pieces --run
  done
done
"$graphnet" decompose shaped.txt -o pieces_wrong --at 1,3 --to graphnet >/dev/null
sed -i 's/shape = \[8, 4\]/shape = [8, 5]/' pieces_wrong/subgraph_1/weight_meta.py
expect 1 "E4 port" shaped.txt pieces_wrong

# --- Faults: a place in the message, exit code 1, JSON.
"$graphnet" decompose net.txt -o faulty --at 1,3 --layout peer >/dev/null
rm faulty/_decomposed/decompose_config.json
sed -i 's/torch.relu/torch.sigmoid/' faulty/_decomposed/net.txt_1/model.py
expect 1 "E3 operator count: piece 1: torch.relu (%act), operator 2 of the original" net.txt faulty
expect 1 "the first difference is in %act = torch.sigmoid" net.txt faulty --run --plot line.svg
grep -q '^INVALID$' out.txt || fail "not called invalid"
grep -Eq '^ES\(t\)  *0\.1 ' out.txt || fail "no staircase: $(cat out.txt)"
expect 1 '"class": "E3"' net.txt faulty --json

# --- Folders of samples.
mkdir -p many
"$graphnet" convert --lift "$samples/resnet.pt" many/one
cp -r many/one many/two
"$graphnet" decompose many -o many_pieces --every 8 >/dev/null
expect 0 "valid" many many_pieces --jobs 2
sed -i 's/False/True/' many_pieces/two_decomposed/subgraph_3/model.py
expect 1 "FAIL many/two: E1 layout: piece 3" many many_pieces

# --- Bad input.
expect 2 "no such file or folder" nowhere
expect 2 "--plot requires --run" net.txt pieces --plot line.svg
printf 'graph @forward(%%x) {\n  %%y = torch.relu(%%x)\n  return (%%y,)\n}\n' >bare.txt
"$graphnet" decompose bare.txt -o bare_pieces --pieces 1 >/dev/null
expect 2 "input x: its shape is not known" bare.txt bare_pieces --run
expect 0 "1 of 1 outputs bit-equal" bare.txt bare_pieces --run --input f32[2,3]
expect 2 "nothing.json" net.txt pieces --config nothing.json
expect 2 "nowhere: no pieces, the folder does not exist" net.txt nowhere

# --- Lists that a loop fills: inferred metas do not change the cuts.
for style in chain dag; do
  "$graphnet" decompose "$samples/detector.pt" -o "moved_$style" --pieces 4 --style $style --to protobuf >/dev/null
  expect 0 "valid" "$samples/detector.pt" "moved_$style" --run
  # Ports can be lists.
  "$graphnet" decompose "$samples/gpt.pt" -o "lists_$style" --pieces 3 --style $style --to protobuf >/dev/null
  expect 0 "1 of 1 outputs bit-equal" "$samples/gpt.pt" "lists_$style" --run
done

# --- An input that is described when the sample is cut need not be described in the original.
for format in graphnet protobuf; do
  "$graphnet" decompose bare.txt -o "said_$format" --pieces 1 --format $format --input f32[2,3] >/dev/null
  expect 0 "valid" bare.txt "said_$format"
  expect 0 "1 of 1 outputs bit-equal" bare.txt "said_$format" --run --input f32[2,3]
done

# --- Each piece has the values of the inputs that it takes.
cat >holds.txt <<'END'
graph @forward(%x : f32[2, 3], %t as "Tuple[Tensor, Tensor]") {
  %first = operator.getitem(%t, 0)
  %y = torch.add(%x, %first)
  %second = operator.getitem(%t, 1)
  %z = torch.mul(%y, %second)
  return (%z,)
}
END
words=(--input f32[2,3] --input 't=tuple(f32[2,3],f32[3])')
"$graphnet" decompose holds.txt -o held --pieces 2 --to protobuf "${words[@]}" >/dev/null
expect 0 "valid" holds.txt held
expect 0 "1 of 1 outputs bit-equal" holds.txt held --run "${words[@]}"
"$graphnet" run held >/dev/null || fail "the pieces do not run"

# --- Numbers between pieces are tensors without dimensions in a folder, as Python makes them.
"$graphnet" decompose "$samples/vit.pb" -o numbers --pieces 3 --ports stats --to graphnet >/dev/null
grep -q 'torch.SymInt' numbers/subgraph_1/model.py || fail "no number between the pieces"
! grep -q 'dtype = None' numbers/subgraph_*/weight_meta.py || fail "an input without a dtype"
expect 0 "1 of 1 outputs bit-equal" "$samples/vit.pb" numbers --run
"$graphnet" run numbers >/dev/null || fail "the pieces do not run"

# --- Pieces without symbols still have constraints, like the folder form of a program with symbols:
# programs of torch.export declare none of their own.
cat >symbols.gn <<'END'
symbol s0 = 3
relation s0 >= 2
attribute w : f32[4] as torch.nn.parameter.Parameter {mean = 0.0, std = 1.0}
graph @forward(%x : f32[s0, 4] {mean = 0.0, std = 1.0}) {
  %w = get_attr w
  %y = operator.add(%x, 1)
  %e = torch.exp(%w)
  %f = torch.exp(%e)
  return (%y, %f)
}
END
sed 's/%y = operator.add(%x, 1)/%b = get_attr b.bias\n  %y = operator.add(%x, %b)/; s/^graph/attribute b.bias : f32[4]\ngraph/' \
  symbols.gn >two.gn
for sample in symbols.gn two.gn; do
  for scheme in "--single-op" "--pieces 2 --style chain"; do
    for format in graphnet protobuf; do
      # shellcheck disable=SC2086
      "$graphnet" decompose $sample -o symbols $scheme --to $format >/dev/null
      expect 0 "2 of 2 outputs bit-equal" $sample symbols --run
      rm -r symbols
    done
  done
done
"$graphnet" decompose symbols.gn -o symbols --single-op --to graphnet >/dev/null
: >symbols/subgraph_0/input_tensor_constraints.py
expect 1 "piece 0: lacks constraints of its inputs" symbols.gn symbols

# --- Pieces of GraphNet in Python mean the same in other words.
for style in chain dag; do
  expect 0 "valid" "$foreign/samples/tiny" "$foreign/$style/tiny" --run
  for text in 'torch._C._nn.linear  *torch.nn.functional.linear  *3' 'size  *S1  *4  *1' \
    '2 of 2 outputs bit-equal'; do
    grep -q "$text" out.txt || fail "no '$text' in: $(cat out.txt)"
  done
  cp -rL "$foreign/$style/tiny" changed
  chmod -R u+w changed
  # Another operator, another default, and another keyword are differences.
  for change in 's/functional.gelu/functional.silu/' 's/functional.gelu(hidden)/functional.gelu(hidden, approximate="tanh")/' \
    's/dim = -1/dim = 1/' 's/is_causal = True/is_causal = False/' 's/, 2, 2, 0/, 2, 1, 0/' 's/scores_1 \* size/size * size/'; do
    for piece in 0 1 2; do
      sed -i.before "$change" "changed/tiny_$piece/model.py"
    done
    expect 1 "INVALID" "$foreign/samples/tiny" changed
    for piece in 0 1 2; do
      mv "changed/tiny_$piece/model.py.before" "changed/tiny_$piece/model.py"
    done
  done
  # Written defaults and arguments by keyword mean the same.
  sed -i 's/functional.gelu(hidden)/functional.gelu(hidden, approximate="none")/; s/softmax(dim = -1)/softmax(-1)/' \
    changed/tiny_0/model.py changed/tiny_2/model.py
  expect 0 "valid" "$foreign/samples/tiny" changed --run
  "$graphnet" validate "$foreign/samples/tiny" changed --json >out.json
  python3 - <<'END'
import json
rows = json.load(open("out.json"))["samples"][0]["read_as_equal"]
assert {"what": "size", "original": "S0", "pieces": "2", "times": 1} in rows, rows
assert any(r["what"] == "arguments" and "softmax" in r["original"] for r in rows), rows
END
  rm -r changed
done
# Sizes that depend on data are symbols in the pieces, so that the pieces are valid for other data,
# too: counts, masks, unique values, numbers from tensors, sizes from a .pt2 and sizes that a
# program computes with lists.
cat >data.gn <<'END'
graph @forward(%x : f32[6, 4]@cpu, %y : f32[6, 4]@cpu, %i : i64[8]@cpu {min = 0, max = 5}) {
  %m = operator.gt(%x, 0)
  %k = operator.getitem(%x, %m)
  %l = operator.getitem(%y, %m)
  %a = operator.mul(%k, %l)
  %b = operator.add(%a, 1)
  %c = torch.bincount(%i)
  %u = torch.unique(%i)
  %p = torch.nonzero(%x)
  %q = torch.cat((%p, %p))
  %s = .sum(%c)
  %n = .item(%s)
  %z = torch.zeros((%n, 2))
  return (%b, %c, %u, %q, %z)
}
END
cat >lengths.gn <<'END'
graph @forward(%x : f32[3, 6, 4]@cpu, %n : i64[3]@cpu) {
  %p = aten._pack_padded_sequence.default(%x, %n, True)
  %d = operator.getitem(%p, 0)
  %s = operator.getitem(%p, 1)
  %r = torch.relu(%d)
  %e = aten._pad_packed_sequence.default(%r, %s, True, 0.0, 6)
  %f = operator.getitem(%e, 0)
  return (%f, %r)
}
END
for format in graphnet protobuf; do
  for scheme in "--pieces 2" "--pieces 5" --single-op; do
    # shellcheck disable=SC2086
    "$graphnet" decompose data.gn -o data_pieces $scheme --to $format >/dev/null
    for seed in 0 1 2; do expect 0 "valid" data.gn data_pieces --run --seed $seed; done
    # shellcheck disable=SC2086
    "$graphnet" decompose lengths.gn -o lengths_pieces $scheme --to $format --input f32[3,6,4] --input 'i64[3]:4..4' >/dev/null
    for length in 2 6; do
      expect 0 "valid" lengths.gn lengths_pieces --run --input f32[3,6,4] --input "i64[3]:$length..$length"
    done
    rm -r data_pieces lengths_pieces
  done
done
# Each mask has its own size, and a size that does not depend on data stays a number.
"$graphnet" decompose data.gn -o data_pieces --single-op --to protobuf >/dev/null
expect_text() { "$graphnet" show "data_pieces/subgraph_$1.pb" | grep -qF -- "$2" || fail "piece $1 has no '$2'"; }
expect_text 3 '%k : f32[u0]@cpu,'
expect_text 3 '%l : f32[u0]'
expect_text 8 '%p : i64[u3, u4]'
expect_text 11 '%q : i64[2*u3, u4]'
# A piece with another size than the others is found.
"$graphnet" show data_pieces/subgraph_4.pb | sed 's/%a : f32\[u0\]/%a : f32[13]/' >other.gn
grep -qF '%a : f32[13]' other.gn || fail "no size to change"
"$graphnet" convert other.gn data_pieces/subgraph_4.pb >/dev/null
expect 1 "E4 port" data.gn data_pieces --run --seed 1

echo PASSED
