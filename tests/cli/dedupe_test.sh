#!/usr/bin/env bash
# `graphnet dedupe`, end to end.
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

# One model at two sizes, in two spellings, and cut into pieces as files and as folders.
net() {
  cat <<END
graphnet.module 1

graph @forward(%x : f32[$1, 4]@cpu {mean = 0.0, std = 1.0}, %w : f32[4, 4]@cpu {mean = 0.0, std = 1.0}) {
  %a = torch.matmul(%x, %w) : f32[$1, 4]@cpu
  %b = $2(%a) : f32[$1, 4]@cpu
  %c = torch.matmul(%b, %w) : f32[$1, 4]@cpu
  %d = $2(%c) : f32[$1, 4]@cpu
  return (%d,)
}
end
END
}
mkdir -p in/x in/y
net 2 torch.relu >in/x/a.gn
net 2 torch.relu >in/y/b.gn
net 8 torch.relu >in/y/c.gn
net 2 torch.nn.functional.relu >in/y/d.gn
net 2 torch.tanh >in/y/e.gn

# What counts as the same.
stay() { "$graphnet" dedupe in --by "$1" | tail -1 | cut -d' ' -f1; }
[ "$(stay hash)" = 4 ] || fail "hash"
[ "$(stay sizes)" = 3 ] || fail "sizes"
[ "$(stay normal-form)" = 3 ] || fail "normal-form"
[ "$(stay near)" = 2 ] || fail "near"
[ "$(find . -newer in/y/e.gn -type f | grep -vc 'out.txt\|err.txt')" -le 1 ] || fail "it only reports"

# Pieces: those of one hash become one, which knows where all came from.
"$graphnet" decompose in/x/a.gn in/y/c.gn --every 2 --to graphnet -o folders >out.txt 2>err.txt
"$graphnet" decompose in --at 2 --to protobuf -o files >out.txt 2>err.txt
code 0 "$graphnet" dedupe folders files -o unique --gone gone.txt
grep -q 'stay' out.txt || fail "a summary"
for gone in $(sed 's/ .*//' gone.txt); do [ -e "$gone" ] || fail "$gone is where it was"; done
python3 - <<'END' || fail "sources"
import json, pathlib
sources = {}
for file in pathlib.Path("unique").rglob("*subgraph_sources.json"):
    for parent, ranges in json.loads(file.read_text()).items():
        for start, end in ranges:
            assert (parent, start, end) not in sources, (parent, start, end)
            sources[parent, start, end] = file
wanted = {(parent, start, start + 2) for parent in ("x/a", "y/b", "y/c", "y/d", "y/e")
          for start in (0, 2)} | {(parent, start, start + 2) for parent in ("a", "c") for start in (0, 2)}
assert set(sources) == wanted, set(sources) ^ wanted
assert sources["x/a", 0, 2] == sources["y/b", 0, 2]
assert sources["x/a", 0, 2] != sources["y/c", 0, 2]
END
"$graphnet" check unique >out.txt 2>err.txt || fail "copies are samples"
"$graphnet" hash --metas unique | cut -d' ' -f1 | sort | uniq -d | grep . && fail "one of each"
cmp unique/a_decomposed/subgraph_0/model.py folders/a_decomposed/subgraph_0/model.py

# A folder that has files is not written to; a second run on what is unique finds nothing.
code 2 "$graphnet" dedupe folders -o unique
code 0 "$graphnet" dedupe unique --json
python3 -c 'import json; d = json.load(open("out.txt")); assert d["go"] == 0 and not d["groups"], d'

# A tree gets what is new, and a sample that was added is known the next time.
"$graphnet" decompose "$samples/resnet.pb" --pieces 3 --to protobuf -o more/resnet >out.txt 2>err.txt
cp -r files/x more/x
code 0 "$graphnet" dedupe more --against unique -o unique
grep -q '^3 stay, 2 go' out.txt || fail "what is new"
[ -f unique/resnet/subgraph_2.pb ] && [ -f unique/resnet/subgraph_2.safetensors ] || fail "weights"
cmp unique/resnet/subgraph_2.safetensors more/resnet/subgraph_2.safetensors || fail "their bytes"
code 0 "$graphnet" dedupe more --against unique -o unique
grep -q '^0 stay, 5 go' out.txt || fail "all is known"
# So does one that ended between two samples.
rm unique/resnet/subgraph_1.pb
code 0 "$graphnet" dedupe more --against unique -o unique
grep -q '^1 stay, 4 go' out.txt || fail "what was left out is added"
# A run that was killed before its first sample has left no sample, perhaps the sources of one.
mkdir begun && echo '{}' >begun/subgraph_0.subgraph_sources.json
# What it wrote half is no sample.
cp more/resnet/subgraph_0.pb begun/subgraph_0.pb.12.0.tmp
code 0 "$graphnet" dedupe more/resnet --against begun -o begun
grep -q '^3 stay, 0 go' out.txt || fail "a tree without samples"
code 2 "$graphnet" dedupe more --against nowhere
# Another sample of the same name is not written over, and nothing else is written then.
mkdir -p other/resnet
cp more/resnet/subgraph_0.pb other/resnet/new.pb
cp in/y/e.gn other/resnet/zz.gn
"$graphnet" convert in/x/a.gn -o other/resnet/subgraph_1.pb >out.txt 2>err.txt
code 2 "$graphnet" dedupe other --against unique -o unique
grep -q 'another sample of this name' err.txt || fail "one name, two samples"
[ ! -e unique/resnet/zz.gn ] || fail "nothing else is written"

# In place, with a list of what goes; files that are no part of a sample stop it.
cp -r folders place
cp -r folders/a_decomposed place/z_decomposed
echo notes >place/z_decomposed/subgraph_1/notes.txt
code 2 "$graphnet" dedupe place --in-place --gone gone.txt
grep -q '2 go in 2 groups.*1 removed' out.txt || fail "removed"
grep -q 'z_decomposed/subgraph_1' err.txt || fail "names what holds a file of others"
[ ! -e place/z_decomposed/subgraph_0 ] && [ -e place/z_decomposed/subgraph_1 ] || fail "files"
grep -q '"z": \[' place/a_decomposed/subgraph_0/subgraph_sources.json ||
  grep -q '"a": \[' place/a_decomposed/subgraph_0/subgraph_sources.json || fail "merged"
# A sample is never the same as itself by another path.
ln -s a_decomposed place/link
code 0 "$graphnet" dedupe place/a_decomposed/subgraph_0 "$PWD/place/a_decomposed/subgraph_0" --in-place --gone gone.txt
[ -e place/a_decomposed/subgraph_0/model.py ] && [ ! -s gone.txt ] || fail "itself"

# A sample that cannot be read does not end the rest, and is counted.
mkdir -p bad
cp -r folders/a_decomposed bad/a
echo 'x = (' >bad/a/subgraph_0/model.py
code 2 "$graphnet" dedupe bad -o good
grep -q '1 stay, 0 go in 0 groups, 1 failed' out.txt || fail "counted"
grep -q '^failed 1: ' out.txt || fail "by cause"
[ -e good/a/subgraph_1/model.py ] || fail "the other is there"

# A run that is killed leaves no new folder, or a whole one; a tree has whole samples, and the next run
# ends with the same; in place, nothing that stays is lost.
python3 - "$graphnet" <<'END' || fail "killed runs"
import os, pathlib, random, shutil, subprocess, sys, time

graphnet, rng = sys.argv[1], random.Random(2)
text = pathlib.Path("in/x/a.gn").read_text()
for number in range(300):
    folder = pathlib.Path("many", str(number % 7))
    folder.mkdir(parents=True, exist_ok=True)
    # 150 different ones, each twice, and each with a source.
    (folder / f"s{number}.gn").write_text(text.replace("[2, 4]", f"[{2 + number % 150}, 4]"))
    (folder / f"s{number}.subgraph_sources.json").write_text(f'{{"m{number}": [[0, 1]]}}')


def files(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in pathlib.Path(folder).rglob("*")
            if file.is_file() and not file.name.endswith(".tmp")}


def killed(*words):
    process = subprocess.Popen([graphnet, "dedupe", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rng.random() * 0.25)
    process.kill()
    process.wait()


def whole(*words):
    subprocess.run([graphnet, "dedupe", *words], check=True, stdout=subprocess.DEVNULL)


whole("many", "-o", "wanted")
wanted = files("wanted")
assert sum(name.endswith(".gn") for name in wanted) == 150
assert sum(text.count(b'"m') for text in wanted.values()) == 300
for turn in range(12):
    killed("many", "-o", "new")
    assert not os.path.exists("new") or files("new") == wanted, turn
    shutil.rmtree("new", ignore_errors=True)
    os.makedirs("tree", exist_ok=True)
    killed("many", "--against", "tree", "-o", "tree")
    for name, content in files("tree").items():
        assert name.endswith(".json") or content == wanted[name], name
whole("many", "--against", "tree", "-o", "tree")
assert files("tree") == wanted, set(files("tree")) ^ set(wanted)
for turn in range(12):
    shutil.copytree("many", "place2", dirs_exist_ok=True) if turn % 4 == 0 else None
    killed("place2", "--in-place", "--gone", "gone.txt")
    assert {name for name in wanted if name.endswith(".gn")} <= set(files("place2")), turn
whole("place2", "--in-place", "--gone", "gone.txt")
assert files("place2") == wanted
END

# Lists, and what is wrong with them.
printf '# two\nx/a.gn\ny  # a folder\n' >list.txt
code 0 "$graphnet" dedupe in --list list.txt
grep -q '^4 stay, 1 go' out.txt || fail "a list"
printf 'x/a.gn\n./x/a.gn\n' >list.txt
code 2 "$graphnet" dedupe in --list list.txt
grep -q 'list.txt:2:1: .*is in line 1, too' err.txt || fail "twice"
echo OK
