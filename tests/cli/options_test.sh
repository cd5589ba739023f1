#!/usr/bin/env bash
# Conventions of all commands: "-" is standard input and output, text may be a fragment, and an
# option that can have no effect is an error.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

# refused MESSAGE COMMAND…: the command exits with 2 and prints only MESSAGE.
refused() {
  local message=$1 code=0
  shift
  "$graphnet" "$@" >out.txt 2>err.txt </dev/null || code=$?
  [ "$code" -eq 2 ] || fail "$*: exit code $code, wanted 2"
  grep -qF -- "$message" err.txt || fail "$*: no '$message' in: $(cat err.txt)"
  [ ! -s out.txt ] || fail "$*: output in spite of the error"
}

cat >fragment.gn <<'END'
# A module as a user writes it.
graph @forward(%x : f32[2, 3], %weight : f32[3, 3]) {
  %y = torch.matmul(%x, %weight)
  %dead = torch.exp(%y)
  return (%y,)
}
END
"$graphnet" convert fragment.gn whole.gn
grep -q '^graphnet.sample 1$' whole.gn || fail "not a whole text: $(cat whole.gn)"

# --- Standard input and output.
"$graphnet" opt - --passes=dce -o - <fragment.gn >out.gn 2>report.txt
grep -q 'torch.matmul' out.gn || fail "opt - -o -: $(cat out.gn)"
! grep -q 'torch.exp' out.gn || fail "dce did nothing"
! grep -q 'changed' out.gn || fail "the report is among the text"
grep -q '^pass *changed' report.txt || fail "no report: $(cat report.txt)"
[ ! -e - ] || fail "a folder is called -"
"$graphnet" opt - --passes=dce -o - <out.gn 2>/dev/null | cmp - out.gn || fail "text does not go through a pipe"
"$graphnet" convert - - --to dot <whole.gn | grep -q '^digraph' || fail "convert to dot"
"$graphnet" convert - out.pb <whole.gn
"$graphnet" convert out.pb -o - | cmp - whole.gn || fail "convert to the standard output"
"$graphnet" subgraph - --range 0:1 -o - <whole.gn 2>report.txt | grep -q 'torch.matmul' || fail "subgraph"
grep -q '^operators \[0, 1) of 2' report.txt || fail "subgraph says $(cat report.txt)"
"$graphnet" decompose - --at 1 -o pieces <whole.gn >/dev/null
"$graphnet" compose pieces -o - 2>report.txt | grep -q 'torch.exp' || fail "compose"
grep -q '^2 pieces, 2 operators$' report.txt || fail "compose says $(cat report.txt)"
for command in show stats check shapes run "lint --rule bn-var"; do
  # shellcheck disable=SC2086
  "$graphnet" $command - <fragment.gn >out.txt || fail "$command -: $(cat out.txt)"
  [ -s out.txt ] || fail "$command - prints nothing"
done
# The word after the value of an option is an operand, whatever follows it.
"$graphnet" lint --rule bn-var --rule domain fragment.gn --json | grep -q '"samples"' || fail "--rule takes the sample"
"$graphnet" bench --backend nope,nope fragment.gn -o bench 2>err.txt || true
! grep -q 'needs IN' err.txt || fail "--backend takes the sample"
"$graphnet" roundtrip - -o round --pieces 2 <whole.gn >/dev/null
"$graphnet" validate - pieces <whole.gn >/dev/null
"$graphnet" diff-run - whole.gn <fragment.gn >/dev/null
refused "<stdin>: an empty file" show -
refused "a folder cannot go to the standard output" decompose whole.gn --at 1 -o -
code=0
printf 'graph @g(%%x) {\n  %%y = torch.relu(%%z)\n}\n' | "$graphnet" show - 2>err.txt || code=$?
[ "$code" -eq 2 ] && grep -q '^graphnet: <stdin>:2:' err.txt || fail "no place: $(cat err.txt)"
# In a folder, a file is read as text only if it says that it is graphnet text.
mkdir folder && cp whole.gn folder/whole.gn && echo "graph theory, notes on" >folder/notes.txt
"$graphnet" check folder | grep -q '^1 passed, 0 failed$' || fail "notes are taken for a graph"
printf 'graphnet.sample 1\nname = "x"\nend\n' >empty.gn
refused "empty.gn: holds no module" show empty.gn

# --- The option for the output has the same name in every command.
"$graphnet" run whole.gn --out out.safetensors >/dev/null
"$graphnet" run whole.gn --outputs old.safetensors >/dev/null
cmp out.safetensors old.safetensors || fail "--out and --outputs differ"
"$graphnet" compose pieces -o composed --to text >/dev/null
grep -q '^graphnet.sample' composed || fail "compose --to"

# --- Values for unknown names.
cat >wrong.gn <<'END'
graph @forward(%weigth : f32[3, 3], %x : f32[2, 3]) {
  return (%weigth, %x)
}
END
"$graphnet" run wrong.gn -o values.safetensors >/dev/null
python3 - <<'END'
import json, struct
data = open("values.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
names = {"o0": "weigth", "o1": "x"}
text = json.dumps({names.get(k, k): v for k, v in header.items()}).encode()
open("given.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data[8 + size:])
END
for command in "run whole.gn" "diff-run whole.gn whole.gn" "validate whole.gn pieces --run"; do
  # shellcheck disable=SC2086
  refused "given.safetensors: nothing takes a value by the name weigth; did you mean weight?" \
    $command --inputs given.safetensors
done
"$graphnet" diff-run wrong.gn whole.gn --inputs given.safetensors >/dev/null || [ $? -eq 1 ] ||
  fail "what only one of the two takes is refused"
"$graphnet" run wrong.gn --inputs given.safetensors >/dev/null

# --- Options that would have no effect.
refused "--to requires" opt whole.gn --passes=dce --to protobuf
refused "excludes" decompose whole.gn -o cut --pieces 2 --no-head-and-tail
refused "excludes" decompose whole.gn -o cut --single-op --no-head-and-tail
refused "--seed is for the inputs that --rule finite-run or vanishing draws" lint whole.gn --seed 3
refused "--out needs --rule bn-var" lint whole.gn --rule unstable -o repaired.gn
refused "requires" validate whole.gn pieces --seed 1
refused "requires" validate whole.gn pieces --threads 1
refused "requires" validate whole.gn pieces --inputs given.safetensors
refused "requires" validate whole.gn pieces --plot line.svg
refused "excludes" stats whole.gn --json --all
refused "excludes" passes dce --markdown
refused "for one sample" opt folder --passes=dce --dump-changes
refused "takes one sample" opt folder --passes=dce -o -
refused "need --to" convert folder -o converted
refused "for one sample" validate folder pieces --config nothing.json
[ ! -e cut ] && [ ! -e repaired.gn ] || fail "an output in spite of the error"

# --- An exception while one of many inputs is processed is the error of that input only.
mkdir many && cp whole.gn many/good.gn
cat >many/huge.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[2]) {
  %y = torch.functional.tensordot(%x, %x, 100000000000)
  return (%y,)
}
end
END
code=0
(ulimit -v 4000000 && exec "$graphnet" check --calls --jobs 2 many) >out.txt 2>err.txt || code=$?
[ "$code" -eq 1 ] || fail "one that needs too much memory among others: exit code $code: $(cat out.txt err.txt)"
grep -q '^FAIL many/huge.gn: ' err.txt || fail "which one is not said: $(cat out.txt)"
grep -q '^1 passed, 1 failed$' out.txt || fail "the other one did not go on: $(cat out.txt)"

# --- Help, version, misspelled words.
[[ $("$graphnet" --version) =~ ^graphnet\ [0-9.]+$'\n'LibTorch\ [0-9.]+ ]] || fail "--version"
"$graphnet" --help >out.txt
for text in "Look at graphs" "Exit codes: 0 success" "graphnet show samples/vit.pb" diff-run; do
  grep -qF -- "$text" out.txt || fail "--help lacks '$text'"
done
commands=$(sed -n '/^Look at graphs/,/^Examples/p' out.txt | grep -c '^  [a-z]')
# Each command is in a group of the help, as in the manual.
[ "$commands" -eq "$("$graphnet" man --markdown | grep -c '^### ')" ] || fail "$commands commands in the help: $(cat out.txt)"
refused "there is no command shwo; did you mean show?" shwo x
refused "graphnet roundtrip: IN is required; see graphnet roundtrip --help" roundtrip -o out
refused "graphnet: A subcommand is required"

# --- Errors say what a file without a graph is.
python3 - <<'END'
import json, struct, zipfile

def archive(path, **entries):
    with zipfile.ZipFile(path, "w") as zip:
        for name, content in entries.items():
            zip.writestr("m/" + name.replace("__", "/").replace("_pkl", ".pkl").replace("_json", ".json"), content)

archive("state.pt", data_pkl=b"\x80\x02ccollections\nOrderedDict\nctorch._utils\n_rebuild_tensor_v2\n.", version=b"3")
archive("module.pt", data_pkl=b"\x80\x02ctorch.nn.modules.linear\nLinear\n.", version=b"3")
archive("program.pt2", models__model_json=b"{}", version=b"0")
header = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
open("x.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + bytes(4))
open("net.onnx", "wb").write(b"\x08\x08\x12\x07pytorch\x1a\x052.1.0" + bytes(100))
open("old.pkl", "wb").write(b"\x80\x04}." + bytes(100))
END
refused "state.pt: tensors that torch.save wrote, such as a state_dict" show state.pt
refused "module.pt: a module that torch.save pickled" show module.pt
refused "program.pt2: not an archive of torch.export: it lacks its version" show program.pt2
refused "x.safetensors: a safetensors file" show x.safetensors
refused "net.onnx: an ONNX model" show net.onnx
refused "old.pkl: a pickle, which is never executed" show old.pkl
mkdir several
cp whole.gn several/a.gn
cp whole.gn several/b.gn
refused "several: a folder of samples, not a sample" show several
for name in out.tflite out.onx out.PB; do
  refused "$name: graphnet writes .pb" convert whole.gn $name
done
"$graphnet" convert whole.gn net.a1_in1k && [ -s net.a1_in1k/model.py ] || fail "no folder with a dot in its name"
[ ! -e out.tflite ] || fail "a folder is called out.tflite"
"$graphnet" convert fragment.gn named.tflite --to text
cmp named.tflite whole.gn || fail "--to text"

# --- Folders are converted as a whole, and keep their names.
mkdir -p tree/deep
cp whole.gn tree/net.v1.gn
"$graphnet" convert whole.gn tree/deep/second
"$graphnet" convert tree -o converted --to protobuf --jobs 2 >out.txt
grep -q '^2 passed, 0 failed$' out.txt || fail "convert of a folder says $(cat out.txt)"
"$graphnet" convert converted/net.v1.pb -o - | cmp - whole.gn || fail "converted to something else"
[ -s converted/deep/second.pb ] || fail "converted to $(find converted)"
"$graphnet" convert tree/net.v1.gn tree/net.v1.pb
refused "would both be written to again/net.v1.dot" convert tree -o again --to dot
[ ! -e again ] || fail "an output in spite of the error"
rm tree/net.v1.gn
# Without --to, opt keeps the format of each sample; it prints which samples it has changed.
"$graphnet" opt tree -o opted --passes=cse,dce >out.txt
[ -s opted/net.v1.pb ] && [ -s opted/deep/second/model.py ] || fail "opt writes $(find opted)"
grep -qx 'changed tree/net.v1.pb: dce -1' out.txt || fail "opt says $(cat out.txt)"

# --- Outputs are equal although a value inside differs.
sed 's/torch.exp/torch.tanh/' whole.gn >other.gn
"$graphnet" diff-run whole.gn other.gn >out.txt
grep -q 'note: values differ inside, but no output shows it' out.txt || fail "diff-run says $(cat out.txt)"

# --- Paths without effect: a layer scale of zeros, a condition that never holds.
cat >scale.gn <<'END'
graph @forward(%x : f32[2, 3] {mean = 0.0, std = 1.0}, %scale : f32[3] {mean = 0.0, std = 0.0}) {
  %inner = torch.relu(%x)
  %branch = torch.mul(%scale, %inner)
  %y = torch.add(%x, %branch)
  return (%y,)
}
END
sed 's/%inner/%other/; s/torch.relu/torch.sigmoid/; s/, %inner)/, %other)/' scale.gn >scale2.gn
"$graphnet" diff-run scale.gn scale2.gn >out.txt
grep -q 'note: %branch = torch.mul takes zeros only as %scale' out.txt || fail "diff-run says $(cat out.txt)"
"$graphnet" diff-run scale.gn scale2.gn --json >out.json
python3 -c 'import json; assert any("%scale" in note for note in json.load(open("out.json"))["notes"])' || fail "no note in JSON"
! "$graphnet" diff-run scale.gn scale2.gn --inputs random >out.txt || fail "random values leave the path dead: $(cat out.txt)"
"$graphnet" diff-run scale.gn scale.gn --inputs random >out.txt
! grep -q note out.txt || fail "diff-run says $(cat out.txt)"
cat >where.gn <<'END'
graph @forward(%x : f32[2, 3] {mean = 0.0, std = 1.0}) {
  %far = torch.gt(%x, 1000000)
  %a = torch.sin(%x)
  %y = torch.where(%far, %a, %x)
  return (%y,)
}
END
"$graphnet" diff-run where.gn where.gn >out.txt
grep -q 'note: %y = torch.where finds %far false everywhere' out.txt || fail "diff-run says $(cat out.txt)"

# --- Where inputs are described, their values can be given.
commands=0
for command in $("$graphnet" man --markdown | sed -n 's/^### //p'); do
  help=$("$graphnet" "$command" --help)
  grep -q -- '--input ' <<<"$help" || continue
  grep -q -- '--inputs ' <<<"$help" || fail "$command has --input, but no --inputs"
  commands=$((commands + 1))
done
((commands >= 13)) || fail "only $commands commands take --input"
# The values decide: drawn indices are within the table, but these are not.
cat >table.gn <<'END'
graph @forward(%i : i64[2], %t : f32[4, 3]) {
  %y = torch.nn.functional.embedding(%i, %t)
  %z = torch.relu(%y)
  return (%z,)
}
END
python3 - <<'END'
import json, struct
for name, values in {"within": (0, 3), "beyond": (0, 9)}.items():
    header = json.dumps({"i": {"dtype": "I64", "shape": [2], "data_offsets": [0, 16]}}).encode()
    open(name + ".safetensors", "wb").write(struct.pack("<Q", len(header)) + header + struct.pack("<2q", *values))
END
"$graphnet" decompose table.gn --pieces 2 -o table_pieces >/dev/null
for command in "run table.gn" "shapes table.gn" "diff-run table.gn table.gn" "validate table.gn table_pieces --run"; do
  for values in within beyond; do
    code=0
    # shellcheck disable=SC2086
    "$graphnet" $command --input i=i64[2] --inputs "$values.safetensors" >out.txt 2>&1 || code=$?
    case "$values $command" in
      within*) [ "$code" = 0 ] || fail "$command --inputs $values.safetensors: $(cat out.txt)" ;;
      *) [ "$code" != 0 ] || fail "$command --inputs $values.safetensors does not take them: $(cat out.txt)" ;;
    esac
  done
done
for command in "diff table.gn table.gn" "subgraph table.gn --range 0:1 -o part.gn" "hash table.gn" \
    "shard table.gn --mesh 2 -o ranks" "convert table.gn table.pt" "opt table.gn -p dce -o table.pb"; do
  # shellcheck disable=SC2086
  "$graphnet" $command --input i=i64[2] --inputs within.safetensors >out.txt 2>&1 ||
    fail "$command --inputs: $(cat out.txt)"
  # shellcheck disable=SC2086
  refused "no.safetensors" $command --input i=i64[2] --inputs no.safetensors
done
echo PASSED
