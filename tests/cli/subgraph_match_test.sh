#!/usr/bin/env bash
# `graphnet subgraph --match`, end to end.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() {
  echo "FAILED: $1" >&2
  cat out.txt err.txt >&2 || true
  exit 1
}
# code WANTED COMMAND...: the exit code is WANTED.
code() {
  local wanted=$1 got=0
  shift
  "$@" >out.txt 2>err.txt || got=$?
  [ "$got" -eq "$wanted" ] || fail "$* exits with $got"
}

# Blocks of one kind in two models, at two sizes; one inside a body; one whose call in between is used
# elsewhere; one with a path that leads out and back; and two that overlap.
net() {
  cat <<END
graphnet.module 1

graph @forward(%x : f32[$1, 4]@cpu {mean = 0.0, std = 1.0}) {
  %a = torch.tanh(%x) : f32[$1, 4]@cpu
  %other = torch.sin(%x) : f32[$1, 4]@cpu
  %b = torch.relu(%a) : f32[$1, 4]@cpu
  %c = torch.tanh(%b) : f32[$1, 4]@cpu
  %d = torch.relu(%c) : f32[$1, 4]@cpu
  %e = operator.add(%d, %other) : f32[$1, 4]@cpu
  return (%e,)
}
end
END
}
mkdir -p in/x in/y
net 2 >in/x/a.gn
net 2 >in/y/b.gn
net 8 >in/y/c.gn

code 0 "$graphnet" subgraph in --match 'relu(tanh())'
grep -q '^6 matches in 3 of 3 samples, 2 of them different$' out.txt || fail "counted"
[ "$(find . -newer in/y/c.gn -name '*.pb' | wc -l)" -eq 0 ] || fail "written without -o"
code 0 "$graphnet" subgraph in --match 'relu(tanh())' -o out
[ "$(find out -type f | sort | tr '\n' ' ')" = "out/x/a/match_0.pb out/x/a/match_0.subgraph_sources.json out/y/c/match_0.pb out/y/c/match_0.subgraph_sources.json " ] || fail "files: $(find out -type f)"
"$graphnet" check out >out.txt 2>err.txt || fail "they are samples"
"$graphnet" show out/y/c/match_0.pb >piece.txt
[ "$(grep -c ' = torch' piece.txt)" -eq 2 ] && grep -q 'f32\[8, 4\]' piece.txt || fail "the piece: $(cat piece.txt)"
"$graphnet" run out/y/c/match_0.pb >/dev/null || fail "it runs on the inputs that are known"
# Operators move together where others stand between them; sources say where they were.
python3 - <<'END' || fail "sources"
import json
assert json.load(open("out/x/a/match_0.subgraph_sources.json")) == {
    "x/a": [[0, 3], [3, 5]], "y/b": [[0, 3], [3, 5]]}
assert json.load(open("out/y/c/match_0.subgraph_sources.json")) == {"y/c": [[0, 3], [3, 5]]}
END
# The same whatever the number of threads; a corpus of pieces is deduplicated already.
code 0 "$graphnet" subgraph in --match 'relu(tanh())' -o again --jobs 1
diff -r out again || fail "one thread writes others"
code 0 "$graphnet" dedupe out --json
python3 -c 'import json; assert json.load(open("out.txt"))["go"] == 0' || fail "each once"
code 0 "$graphnet" subgraph in --match 'relu(tanh())' --json -o json
python3 - <<'END' || fail "json"
import json
got = json.load(open("out.txt"))
assert [(p["times"], p["samples"], p["piece"]) for p in got["pieces"]] == [
    (4, 2, "x/a/match_0.pb"), (2, 1, "y/c/match_0.pb")], got
assert (got["num_matches"], got["num_samples"], got["out"], got["failed"]) == (6, 3, "json", []), got
END

# Folders give folders, with their sources in them, and --to decides.
"$graphnet" convert in/x/a.gn -o folder/a >/dev/null 2>&1
code 0 "$graphnet" subgraph folder --match 'relu(tanh())' -o folders
[ -s folders/a/match_0/model.py ] && [ -s folders/a/match_0/subgraph_sources.json ] || fail "folders"
code 0 "$graphnet" subgraph folder --match 'relu(tanh())' -o texts --to text
grep -q 'torch.relu' texts/a/match_0.gn || fail "texts"

# Weights come with a piece, and the piece computes what the whole does.
code 0 "$graphnet" subgraph "$samples/unet.pb" --match "relu_(batch_norm(_convolution()))" -o blocks
[ -s blocks/unet/match_0.safetensors ] || fail "weights"
"$graphnet" subgraph "$samples/unet.pb" --range 0:3 -o first.pb >/dev/null
"$graphnet" run first.pb -o first.safetensors >/dev/null
"$graphnet" run blocks/unet/match_0.pb -o match.safetensors >/dev/null
python3 - <<'END' || fail "values"
def values(file):
    data = open(file, "rb").read()
    return data[8 + int.from_bytes(data[:8], "little"):]
assert values("first.safetensors") == values("match.safetensors") and values("first.safetensors")
END

# Bodies, overlaps, and what is not free.
cat >in/odd.gn <<'END'
graphnet.module 1

graph @forward(%x : f32[4]@cpu {mean = 0.0, std = 1.0}) {
  %a = torch.neg(%x) : f32[4]@cpu
  %b = torch.neg(%a) : f32[4]@cpu
  %c = torch.neg(%b) : f32[4]@cpu
  %s = torch.sigmoid(%c) : f32[4]@cpu
  %q = torch.sin(%s) : f32[4]@cpu
  %m = torch.mul(%q, %s) : f32[4]@cpu
  %n = torch.cat([%s, %m]) : f32[8]@cpu
  return (%n,)
}
end
END
cat >in/body.gn <<'END'
graphnet.module 1

graph @forward(%p : bool[]@cpu {min = 0, max = 1}, %x : f32[4]@cpu {mean = 0.0, std = 1.0}) {
  %w = torch.ops.higher_order.cond(%p, @body, @body, (%x,))
  %g = operator.getitem(%w, 0) : f32[4]@cpu
  return (%g,)
}

graph @body(%y) {
  %t = torch.tanh(%y)
  %r = torch.relu(%t)
  return (%r,)
}
end
END
code 0 "$graphnet" subgraph in/odd.gn --match 'neg(neg())' -o overlap
grep -q '^2 matches in 1 of 1 samples, 1 of them different' out.txt || fail "overlaps"
grep -q '0,' overlap/odd/match_0.subgraph_sources.json && grep -q '1,' overlap/odd/match_0.subgraph_sources.json || fail "both"
code 1 "$graphnet" subgraph in/body.gn --match 'relu(tanh())' -o bodies
grep -q '1 matches are not cut out: they are in a body' out.txt || fail "bodies"
[ ! -e bodies ] || fail "an empty folder"
code 1 "$graphnet" subgraph in/odd.gn --match 'cat([sigmoid(%), mul()])' -o out2
grep -q '1 matches are not cut out: other operators belong between them (in/odd.gn: ' out.txt || fail "not free"
code 1 "$graphnet" subgraph in --match 'nosuchcall()'
grep -q 'PyTorch has nothing that is called nosuchcall' err.txt || fail "a doubt"

# What is wrong.
mkdir -p bad && net 2 >bad/a.gn && printf 'graphnet.module 1\n\ngraph @f(\n' >bad/b.gn && net 2 >bad/c.gn
code 2 "$graphnet" subgraph bad --match 'relu(tanh())' -o good
grep -q '^4 matches in 2 of 2 samples, 1 of them different' out.txt || fail "the others"
grep -q 'bad/b.gn' err.txt || fail "the bad one is named"
[ -e good/a/match_0.pb ] || fail "the others are written"
code 2 "$graphnet" subgraph in --match 'relu(tanh())' -o good
grep -q 'has files already' err.txt || fail "a folder that is there"
code 2 "$graphnet" subgraph in --match 'relu(('
code 2 "$graphnet" subgraph in/x/a.gn in/y/b.gn --range 0:1 -o two.pb
grep -q 'give one sample; --match takes many' err.txt || fail "one sample"
mkdir -p in2/x && net 2 >in2/x/a.gn
code 2 "$graphnet" subgraph in in2 --match 'relu(tanh())' -o named
printf 'x/a.gn\ny/c.gn\n' >list.txt
code 0 "$graphnet" subgraph in --list list.txt --match 'relu(tanh())' -o listed
grep -q '^4 matches in 2 of 2 samples' out.txt || fail "a list"
echo OK
