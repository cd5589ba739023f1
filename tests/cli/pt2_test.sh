#!/usr/bin/env bash
# Programs of torch.export through the tool: every command accepts them, and they run with PyTorch's
# bits. tests/pytorch/make_pt2_programs.py made testdata.
set -euo pipefail
graphnet=$PWD/$1
data=$PWD/tests/formats/pt2/testdata
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $*" >&2; exit 1; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }

# refused MESSAGE ARGUMENTS…: the exit code is 2, and one line is printed.
refused() {
  local message=$1 status=0 out
  shift
  out=$("$graphnet" "$@" 2>&1 >/dev/null) || status=$?
  [ "$status" = 2 ] || fail "$*: exit $status: $out"
  [ "$(wc -l <<<"$out")" = 1 ] || fail "$*: not one line: $out"
  contains "$out" "$message"
}

# same [--close] A B: two safetensors files have the same tensors. --close allows floats to differ
# by rounding. The stored results need it, because another processor may compute other last bits;
# tests/pytorch/compare.py programs compares bits with the installed PyTorch.
same() {
  python3 - "$@" <<'END' || fail "${*: -2:1} and ${*: -1} differ"
import array, json, struct, sys

def read(path):
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"], data[slice(*v["data_offsets"])]) for k, v in header.items()}

def floats(dtype, data):
    if dtype == "BF16":
        return array.array("f", b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2)))
    return [x for x, in struct.iter_unpack({"F16": "e", "F32": "f"}[dtype], data)]

rounding = {"BF16": 2e-2, "F16": 2e-3, "F32": 2e-5}

def agree(a, b):
    if a[:2] != b[:2] or a[0] not in rounding or "--close" not in sys.argv:
        return a == b
    x, y = floats(a[0], a[2]), floats(b[0], b[2])
    scale = max([1e-3] + [abs(value) for value in x if value - value == 0])
    return all(p == q or p != p and q != q or abs(p - q) <= rounding[a[0]] * scale
               for p, q in zip(x, y, strict=True))

a, b = (read(path) for path in sys.argv[-2:])
sys.exit(a.keys() != b.keys() or not all(agree(a[k], b[k]) for k in a))
END
}

programs=0
for inputs in "$data"/*.in.safetensors; do
  stem=${inputs%.in.safetensors}
  model=${stem%.*}.pt2
  # model_runner_test runs these, whose inputs have no names of their own.
  case $stem in */torch_2_*) continue ;; esac
  "$graphnet" run "$model" --inputs "$inputs" --out out.safetensors >/dev/null
  same --close "$stem.out.safetensors" out.safetensors
  if [ -e "$stem.again.safetensors" ]; then
    "$graphnet" run "$model" --inputs "$inputs" --out out.safetensors --repeat 2 >/dev/null
    same --close "$stem.again.safetensors" out.safetensors
  fi
  programs=$((programs + 1))
done
[ "$programs" -ge 10 ] || fail "only $programs programs"

# A run begins with the state that the last run left.
"$graphnet" run "$data/buffers.pt2" --state state.safetensors >/dev/null
"$graphnet" run "$data/buffers.pt2" --inputs state.safetensors --out next.safetensors >/dev/null
"$graphnet" run "$data/buffers.pt2" --repeat 2 --out twice.safetensors >/dev/null
same next.safetensors twice.safetensors

# A program checks its inputs.
derived=$data/dynamic_derived
refused "dynamic_derived.pt2: input args_1: size 0 is 12, the program takes 10" \
  run "$derived.pt2" --inputs "$derived.0.refused.safetensors"
refused "input args_1: size 0 is 11, the program takes" run "$derived.pt2" --inputs "$derived.1.refused.safetensors"

# Without inputs, it runs on those that it was saved with.
contains "$("$graphnet" run "$data/in_dict.pt2")" "o0  f32[3, 4]"

# A class that PyTorch does not know, such as the outputs of transformers' models, is kept if the
# program is written unchanged, and becomes a tuple if it is written anew.
python3 - "$data/buffers.pt2" "$data/cond_several.pt2" <<'END'
import json, sys, zipfile
for path in sys.argv[1:]:
    with zipfile.ZipFile(path) as old, zipfile.ZipFile("of_" + path.split("/")[-1], "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("models/model.json"):
                program = json.loads(content)
                call = program["graph_module"]["module_call_graph"][0]["signature"]
                call["out_spec"] = call["out_spec"].replace(
                    "builtins.tuple", "transformers.modeling_outputs.BaseModelOutput", 1)
                content = json.dumps(program)
            new.writestr(name, content)
END
out_spec() { python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(int(any(b"transformers.modeling_outputs" in z.read(n) for n in z.namelist() if n.endswith("models/model.json"))))' "$1"; }
for program in of_buffers of_cond_several; do
  "$graphnet" convert $program.pt2 same.pt2 2>notes.txt
  [ "$(out_spec same.pt2)" = 1 ] && [ ! -s notes.txt ] || fail "$program: its class is gone: $(cat notes.txt)"
  "$graphnet" opt $program.pt2 -p canonical-names -o anew.pt2 >/dev/null 2>notes.txt
  [ "$(out_spec anew.pt2)" = 0 ] || fail "$program: written anew with a class that PyTorch does not know"
  contains "$(cat notes.txt)" \
    "note: tuples replace transformers.modeling_outputs.BaseModelOutput, which PyTorch alone does not know"
  contains "$("$graphnet" diff-run $program.pt2 anew.pt2)" "o0   bit-equal"
done

# The guards of the original stay if the program still has its inputs and PyTorch may evaluate them.
# Otherwise a note says that they are gone, and PyTorch reads the program all the same.
guards() { python3 -c 'import json, sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); print(sum(len(json.loads(z.read(n))["guards_code"]) for n in z.namelist() if n.endswith("models/model.json")))' "$1"; }
"$graphnet" opt "$derived.pt2" -p canonical-names -o kept.pt2 >/dev/null 2>notes.txt
[ "$(guards kept.pt2)" = 2 ] && [ ! -s notes.txt ] || fail "guards of the same inputs: $(cat notes.txt)"
python3 - "$derived.pt2" <<'END'
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile("calls.pt2", "w") as new:
    for name in old.namelist():
        content = old.read(name)
        if name.endswith("models/model.json"):
            program = json.loads(content)
            program["guards_code"][0] = "print('evaluated') or True"
            content = json.dumps(program)
        new.writestr(name, content)
END
"$graphnet" convert "$derived.pt2" inputs.gn
sed 's/%args_0/%first/g' inputs.gn >renamed.gn
for program in calls.pt2 renamed.gn; do
  "$graphnet" opt $program -p canonical-names -o anew.pt2 >/dev/null 2>notes.txt
  [ "$(guards anew.pt2)" = 0 ] || fail "$program: guards are kept"
  contains "$(cat notes.txt)" \
    "note: the guards of the program that was read are left out (2): nothing will check its inputs by them"
done
for form in pt mlir; do
  "$graphnet" convert "$derived.pt2" without.$form 2>notes.txt || fail "without.$form: $(cat notes.txt)"
  contains "$(cat notes.txt)" "note: the guards of the program that was read are left out (2): nothing will"
done

# Every form and back.
contains "$("$graphnet" check "$data")" "36 passed, 0 failed"
# Weights that do not fit in memory go through a file: a buffer of 96 MiB replaces one of four
# numbers. No copy of it is left.
python3 - "$data/buffers.pt2" <<'END'
import sys, zipfile
size = 24 << 20
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile("large.pt2", "w") as new:
    for name in old.namelist():
        content = old.read(name)
        if name.endswith(".json"):
            content = content.replace(b'{"as_int": 4}', b'{"as_int": %d}' % size)
        elif name.endswith("/tensor_0"):
            content = bytes(range(256)) * (size * 4 // 256)
        elif "sample_inputs" in name:
            continue
        new.writestr(name, content)
END
mkdir temporary
contains "$(TMPDIR=$PWD/temporary "$graphnet" check large.pt2)" "1 passed, 0 failed"
rmdir temporary
contains "$(TMPDIR=$PWD/nowhere "$graphnet" check large.pt2 2>&1 || true)" "no folder for temporary files"
"$graphnet" convert large.pt2 large.pb
"$graphnet" convert large.pb large_again.pt2
"$graphnet" convert large.pt2 large_copy.pt2
cmp large_again.pt2 large_copy.pt2 || fail "a protobuf gives another archive"
contains "$("$graphnet" check large.pb)" "1 passed, 0 failed"
"$graphnet" convert large.pt2 - --to pt2 | cmp - large_copy.pt2 || fail "the standard output gets another archive"
rm large*
"$graphnet" convert "$data/buffers.pt2" b.pb
"$graphnet" run b.pb --inputs "$data/buffers.0.in.safetensors" --out out.safetensors >/dev/null
same "$data/buffers.0.out.safetensors" out.safetensors
refused "no more than 64" run "$derived.pt2" --input "args_0=f32[65,4]" --input "args_1=f32[130,4]"
"$graphnet" convert "$data/buffers.pt2" b.gn
"$graphnet" convert "$data/cond_several.pt2" folder
# The kept parts of a program follow its graph: sizes that the pass made dynamic stay dynamic, also
# in a protobuf.
"$graphnet" opt "$data/buffers.pt2" -p generalize-dims -o general.pb >/dev/null
contains "$("$graphnet" run general.pb --input 'f32[7,4]')" "f32[7, 4]"
refused "size 1 is 3, the program takes 4" run general.pb --input 'f32[7,3]'
[ -e folder/torch_export.json ] || fail "the program is not kept"
# A folder has draw specs of its weights, also if a protobuf with weights was in between.
"$graphnet" convert "$data/buffers.pt2" described
grep -A 8 meta_seen described/weight_meta.py | grep -q 'data = \[0.000000, 0.000000, 0.000000, 0.000000\]' ||
  fail "weights are not described"
"$graphnet" convert b.pb by_protobuf
cmp described/weight_meta.py by_protobuf/weight_meta.py || fail "weights of a protobuf are described otherwise"
rm b.safetensors
"$graphnet" convert b.pb without
[ -e without/model.py ] || fail "a folder needs no weights"
"$graphnet" show - <"$data/cond_several.pt2" | grep -q "torch.ops.higher_order.cond(%gt, @true_graph_0, @false_graph_0, \[%x\|torch.ops.higher_order.cond(" ||
  fail "no cond"

# Each form has its own weights.
"$graphnet" convert "$data/autocast_layer.pt2" own.pb
"$graphnet" convert "$data/buffers.pt2" own.mlir
[ -e own.mlir.safetensors ] || fail "MLIR has no weights"
contains "$("$graphnet" check own.pb)" "1 passed, 0 failed"

# The other commands.
contains "$("$graphnet" stats "$data/autocast_layer.pt2")" "torch.ops.higher_order.wrap_with_autocast"
contains "$("$graphnet" shapes "$data/batch_norm_train_decomposed.pt2" 2>&1)" "values"
# The graph is shown, not the program's description of itself.
"$graphnet" shapes "$data/batch_norm_train_decomposed.pt2" 2>/dev/null >shapes.gn
! grep -q schema_version shapes.gn || fail "shapes prints JSON"
"$graphnet" opt "$data/shared_storage.pt2" --passes cse,dce -o o.pb
"$graphnet" diff-run "$data/shared_storage.pt2" o.pb >/dev/null || fail "cse changes values"
"$graphnet" convert "$data/buffers.pt2" same.pt2
program() {
  python3 -c 'import sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
print(*[archive.read(name) for name in archive.namelist() if "/models/" in name])' "$1"
}
[ "$(program same.pt2)" = "$(program "$data/buffers.pt2")" ] ||
  fail "a program that was read is written as another"
"$graphnet" opt "$data/shared_storage.pt2" --passes canonical-names -o o.pt2
"$graphnet" diff-run "$data/shared_storage.pt2" o.pt2 >/dev/null || fail "a program that is written anew is another"
"$graphnet" check o.pt2 same.pt2 >/dev/null || fail "what is written is not read"
for form in graphnet protobuf; do
  "$graphnet" decompose "$data/autocast_layer.pt2" --every 2 --to $form -o "pieces_$form" >/dev/null
  contains "$("$graphnet" validate "$data/autocast_layer.pt2" "pieces_$form" --run)" "1 of 1 outputs bit-equal"
done
refused "is one graph already" extract "$data/buffers.pt2" -o extracted

# Inputs of every dtype are those that the program was saved with, even if it is written anew.
for name in tensor_uint16 tensor_float8_e4m3fn tensor_of_all; do
  "$graphnet" run "$data/$name.pt2" --out out.safetensors >/dev/null
  same "$data/$name.0.out.safetensors" out.safetensors
  "$graphnet" opt "$data/$name.pt2" --passes canonical-names -o anew.pt2
  "$graphnet" run anew.pt2 --out out.safetensors >/dev/null
  same "$data/$name.0.out.safetensors" out.safetensors
done

# Sizes among the operands of higher-order calls, and operators that PyTorch defines in Python.
for name in cond_size scan_size pt2e_linear pt2e_dynamic; do
  "$graphnet" opt "$data/$name.pt2" --passes canonical-names -o anew.pt2
  "$graphnet" diff-run "$data/$name.pt2" anew.pt2 >/dev/null || fail "$name is another when it is written anew"
done

# Values within a vmap have no storage of their own.
for form in graphnet protobuf; do
  "$graphnet" decompose "$data/vmap_linear.pt2" --pieces 2 --to $form -o "vmapped_$form" >/dev/null
  contains "$("$graphnet" validate "$data/vmap_linear.pt2" "vmapped_$form" --run)" "1 of 1 outputs bit-equal"
done

# The arguments of a call are bound by name, and its metas must be possible.
damaged() {
  python3 - "$data/core_irfft.pt2" "$1" "$2" <<'END'
import sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as source, zipfile.ZipFile("damaged.pt2", "w") as out:
    for info in source.infolist():
        content = source.read(info)
        if "/models/" in info.filename:
            assert sys.argv[2].encode() in content
            content = content.replace(sys.argv[2].encode(), sys.argv[3].encode(), 1)
        out.writestr(info.filename, content)
END
}
damaged '"name": "normalization"' '"name": "normalisation"'
refused "the operator has no argument named normalisation" run damaged.pt2
refused "the operator has no argument named normalisation" show damaged.pt2
damaged '"name": "dim"' '"name": "self"'
refused "input self: the argument is given twice" run damaged.pt2
damaged 'torch.ops.aten._fft_r2c.default' 'torch.ops.aten._fft_r2d.default'
refused "PyTorch has no operator torch.ops.aten._fft_r2d.default" show damaged.pt2
damaged '"slice_1": {"dtype": 7' '"slice_1": {"dtype": 5'
out=$("$graphnet" check damaged.pt2 2>&1) && fail "check takes a dtype that the operator does not yield"
contains "$out" "its meta is i64[2, 4, 5], but the operator returns f32[2, 4"

# Several programs in one archive.
python3 - "$data/buffers.pt2" <<'END'
import sys, zipfile

with zipfile.ZipFile(sys.argv[1]) as source, zipfile.ZipFile("two.pt2", "w") as two:
    for info in source.infolist():
        content = source.read(info)
        two.writestr(info.filename, content)
        if "model" in info.filename.split("/")[-1]:
            two.writestr(info.filename.replace("model.json", "other.json").replace("model_", "other_").replace("model.pt", "other.pt"), content)
END
refused "two.pt2: holds several programs: model, other" show two.pt2
"$graphnet" run "two.pt2#other" --inputs "$data/buffers.0.in.safetensors" --out out.safetensors >/dev/null
same "$data/buffers.0.out.safetensors" out.safetensors
contains "$("$graphnet" check two.pt2)" "2 passed, 0 failed"
refused "holds no program third" show "two.pt2#third"

# Damaged archives.
head -c 5000 "$data/buffers.pt2" >cut.pt2
refused "cut.pt2: " show cut.pt2
echo "all as expected"
