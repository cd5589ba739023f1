#!/usr/bin/env bash
# --json: every command that reports something prints one document and nothing else.
set -euo pipefail
graphnet=$PWD/$1
make_archive=$PWD/$2
cd "$TEST_TMPDIR"
export GRAPHNET_BACKENDS=$PWD/none  # ignores installed backends
"$make_archive" two.pt <<'END'
def forward(self, x, n: int):
    y = x * self.weight
    print("printed")
    if bool(y.sum() > -1000):
        y = y + n
    return y, [x]
END
python3 - "$graphnet" <<'EOF_PYTHON'
import json, math, os, shutil, subprocess, sys

graphnet = sys.argv[1]
TEXT = """graphnet.module 1

graph @forward(%x : f32[2, 3] {mean = 0.0, std = 1.0}, %weight : f32[3, 3] {mean = 0.0, std = 1.0}) {
  %y = torch.matmul(%x, %weight)
  %dead = torch.exp(%y)
  %z = torch.relu(%y)
  return (%z,)
}
end
"""
os.mkdir("many")
for name, text in (("a", TEXT), ("b", TEXT.replace("  %dead = torch.exp(%y)\n", "")),
                   ("broken", TEXT.replace("(%y)\n  return", "(%nothing)\n  return"))):
    with open(f"many/{name}.gn", "w") as f:
        f.write(text)
shutil.copy("many/a.gn", "a.gn")
commands = set()


def run(code, *args):
    """The document; numbers that are none in JSON are refused."""
    commands.add(args[0])
    done = subprocess.run([graphnet, *args, "--json"], capture_output=True, text=True)
    assert done.returncode == code, (args, done)
    def no_constant(text):
        raise AssertionError(f"{args}: {text}")
    document = json.loads(done.stdout, parse_constant=no_constant)
    assert isinstance(document, dict), args
    if code != 2:
        assert not done.stderr, (args, done.stderr)
    return document


def by_name(document, passed, failed):
    assert (document["passed"], document["failed"]) == (passed, failed), document
    return {os.path.basename(sample["path"]): sample for sample in document["samples"]}


def broken(sample):
    """What is said of the sample that is broken, with its place."""
    error = sample["error"]
    assert error["file"] == "many/broken.gn" and error["line"] == 6, error
    assert error["format"] == "text", error
    assert error["column"] > 1 and "nothing" in error["message"], error
    return True


# --- Rules of one call.
rules = run(0, "paddle-map", "gelu")["rules"]
assert [rule["name"] for rule in rules] == ["gelu", "gelu"], rules
assert rules[0]["paddle"] == "paddle.nn.functional.gelu(x=self)" and rules[0]["class"] == 3, rules

# --- Many samples: one object each, in order; those that fail have an error.
stats = by_name(run(2, "stats", "many"), 2, 1)
assert stats["a.gn"]["counts"] == {"call_function torch.exp": 1, "call_function torch.matmul": 1,
                                   "call_function torch.relu": 1}, stats
assert stats["a.gn"]["num_nodes"] == 3 and len(stats["a.gn"]["hash"]) == 64
assert stats["a.gn"]["hash"] != stats["b.gn"]["hash"]
assert list(stats) == ["a.gn", "b.gn", "broken.gn"] and broken(stats["broken.gn"])
check = by_name(run(1, "check", "many"), 2, 1)
assert check["a.gn"]["passed"] is True and check["broken.gn"]["passed"] is False
assert check["a.gn"]["seconds"] > 0 and broken(check["broken.gn"])

# It lists the samples that each pass changed.
opt = by_name(run(2, "opt", "many", "--passes=cse,dce", "-o", "opted"), 2, 1)
changed = {name: [p["changed"] for p in sample["passes"]] for name, sample in opt.items() if "passes" in sample}
assert changed == {"a.gn": [False, True], "b.gn": [False, False]}, changed
assert opt["a.gn"]["changed"] is True and opt["b.gn"]["changed"] is False
dce = opt["a.gn"]["passes"][1]
assert dce["pass"] == "dce" and dce["nodes_before"] - dce["nodes_after"] == 1, dce
assert os.path.exists(opt["a.gn"]["out"]) and broken(opt["broken.gn"])
one = run(0, "opt", "a.gn", "--passes=dce")
assert by_name(one, 1, 0)["a.gn"]["changed"] is True
private = TEXT.replace("torch.exp(%y)", "torch._C._nn.gelu(%y)")
open("private.gn", "w").write(private)
stable = by_name(run(1, "opt", "private.gn", "--passes=check-stable"), 0, 1)["private.gn"]
assert "private call" in stable["error"]["message"], stable

convert = by_name(run(2, "convert", "many", "-o", "converted", "--to", "protobuf"), 2, 1)
assert convert["a.gn"]["out"] == "converted/a.pb" and broken(convert["broken.gn"])
assert sorted(os.listdir("converted")) == ["a.pb", "b.pb"]
assert run(0, "convert", "a.gn", "a.pb")["samples"] == [{"path": "a.gn", "out": "a.pb"}]

lint = by_name(run(2, "lint", "many"), 2, 1)
assert lint["a.gn"]["findings"] == [] and broken(lint["broken.gn"])
lint = by_name(run(1, "lint", "private.gn"), 0, 1)["private.gn"]
assert lint["findings"][0]["rule"] == "unstable" and "gelu" in lint["findings"][0]["message"], lint
cut = by_name(run(2, "decompose", "many", "--at", "1", "--style", "dag", "-o", "pieces"), 2, 1)
assert [(p["start"], p["end"]) for p in cut["a.gn"]["pieces"]] == [(0, 1), (1, 3)], cut
assert cut["a.gn"]["pieces"][1]["inputs"] == ["y"] and cut["a.gn"]["pieces"][1]["bytes_in"] == 24
assert cut["a.gn"]["written"] == 2 and broken(cut["broken.gn"])
dry = by_name(run(0, "decompose", "a.gn", "--pieces", "2", "--dry-run"), 1, 0)["a.gn"]
assert len(dry["pieces"]) == 2 and "written" not in dry
valid = by_name(run(2, "validate", "many", "pieces"), 2, 1)
assert valid["a.gn"]["valid"] is True and valid["a.gn"]["findings"] == [] and broken(valid["broken.gn"])
proof = by_name(run(0, "validate", "a.gn", cut["a.gn"]["out"], "--run"), 1, 0)["a.gn"]
assert proof["numeric"]["bit_equal"] == proof["numeric"]["outputs"] == 1, proof
open("relu.gn", "w").write(TEXT.replace("relu", "tanh"))
wrong = by_name(run(1, "validate", "relu.gn", cut["a.gn"]["out"]), 0, 1)["relu.gn"]
assert wrong["valid"] is False and "E3" in [finding["class"] for finding in wrong["findings"]], wrong

# --- One sample.
show = run(0, "show", "a.gn")
assert show["inputs"][0] == {"name": "x", "dtype": "f32", "shape": [2, 3]}, show["inputs"]
assert [o["name"] for o in show["outputs"]] == ["z"] and show["counts"] == stats["a.gn"]["counts"]
nodes = {node["name"]: node for node in show["graphs"][0]["nodes"]}
assert nodes["y"]["target"] == "torch.matmul" and nodes["y"]["args"] == ["%x", "%weight"]
assert "shape" not in nodes["y"] and show["hash"] == stats["a.gn"]["hash"]
shapes = run(0, "shapes", "a.gn")
nodes = {node["name"]: node for node in shapes["graphs"][0]["nodes"]}
assert nodes["y"]["shape"] == [2, 3] and shapes["peak_bytes"] > 0
assert (shapes["flops"], shapes["num_calls"], shapes["num_unknown_calls"], shapes["open_loops"]) == (36, 3, 0, 0)
costs = {row["name"]: row for row in run(0, "shapes", "a.gn", "--cost-by", "target")["costs"]}
assert list(costs)[0] == "torch.matmul" and costs["torch.matmul"]["flops"] == 36, costs
assert costs["torch.exp"]["other"] == 6 and costs["torch.exp"]["bytes_moved"] == 48, costs
# There are two inputs of 24 and 36 bytes, and values of 24.
assert [costs[name]["alive_bytes"] for name in ("torch.matmul", "torch.exp", "torch.relu")] == [84, 108, 108], costs
# The costs follow from the inferred shapes, without a run.
open("shaped.gn", "w").write(subprocess.run([graphnet, "shapes", "a.gn"], stdout=subprocess.PIPE, text=True).stdout)
told = by_name(run(0, "stats", "shaped.gn", "--cost-by", "target"), 1, 0)["shaped.gn"]
assert told["peak_bytes"] == shapes["peak_bytes"] == 108, told
assert {row["name"]: row for row in told["costs"]} == costs, told
assert [row["name"] for row in run(0, "shapes", "a.gn", "--cost-by", "node")["costs"]][0] == "y"
assert run(0, "shapes", "a.gn", "--check") == {"passed": 3, "failed": 0, "wrong": []}
part = run(0, "subgraph", "a.gn", "--range", "1:3", "-o", "part.gn")
assert (part["start"], part["end"], part["num_operators"]) == (1, 3, 3) and part["inputs"][0]["name"] == "y"
assert run(0, "compose", cut["a.gn"]["out"], "-o", "whole.gn") == {"out": "whole.gn", "pieces": 2, "num_operators": 3}
trip = run(0, "roundtrip", "a.gn", "-o", "trip", "--pieces", "2")
sizes = [file["num_operators"] for file in trip["files"]]
assert trip["equal"] is True and sizes[0] == sum(sizes[1:]) == 3 and len(sizes) == 3, trip
assert trip["files"][0]["piece"] == "original" and trip["files"][1]["bytes"] > 0
ran = run(0, "run", "a.gn", "--repeat", "3", "--profile", "-o", "out.safetensors")["samples"][0]
assert ran["outputs"] == [{"name": "o0", "dtype": "f32", "shape": [2, 3]}] and len(ran["ms"]) == 3
assert sorted(ran["ms"])[1] == ran["median_ms"] and ran["instructions"] > 0
four = run(0, "run", "a.gn", "--repeat", "4")["samples"][0]
assert math.isclose(sum(sorted(four["ms"])[1:3]) / 2, four["median_ms"]), four
assert {row["target"] for row in ran["profile"]} == {"torch.matmul", "torch.exp", "torch.relu"}, ran["profile"]
found = run(0, "find", "torch.exp(%)", "a.gn")
assert [call["target"] for call in found["samples"][0]["calls"]] == ["torch.exp"] and found["num_calls"] == 1, found
same = run(0, "diff-run", "a.gn", "many/b.gn")
assert same["equal"] is True and same["outputs"] == [{"name": "o0", "equal": True}], same
other = run(1, "diff-run", "a.gn", "relu.gn")
assert other["equal"] is False and other["outputs"][0]["max_difference"] > 0
assert other["outputs"][0]["elements"] == 6 and other["first_difference"].startswith("z = ")
shards = run(0, "shard", "a.gn", "--mesh", "2", "--shard", "x:0,-1", "--check", "-o", "shards")
assert (shards["ranks"], shards["divided_inputs"], shards["right"]) == (2, 1, True), shards
assert [row["name"] for row in shards["checked"]] == ["o0"] and shards["out"] == "shards", shards
hashed = run(0, "hash", "a.gn", "many/a.gn")["samples"]
assert hashed[0]["hash"] == hashed[1]["hash"] and len(hashed[0]["hash"]) == 64, hashed
same = run(0, "dedupe", "a.gn", "many/a.gn", "many/b.gn")
assert same["groups"] == [{"stays": "a.gn", "go": ["many/a.gn"]}] and (same["stay"], same["go"]) == (2, 1), same
chosen = run(0, "choose", "a.gn", "many/b.gn", "--count", "1")
assert chosen["chosen"] == ["a.gn"] and chosen["covered"] == chosen["items"] == chosen["at_most"] == 5, chosen
open("rows.txt", "w").write("2\n5\n")
text = open("a.gn").read().replace("\n\n", "\n\nsymbol S0 = 2\n\n", 1).replace("%x : f32[2,", "%x : f32[S0,")
open("sym.gn", "w").write(text)
resized = run(0, "resize", "sym.gn", "--sizes", "rows.txt", "-o", "resized")
assert [(row["sizes"], row["state"]) for row in resized["samples"][0]["rows"]] == [([2], "ran"), ([5], "ran")], resized
differing = run(1, "diff", "a.gn", "many/b.gn")
assert (differing["equal"], differing["removed"], differing["added"]) == (False, 1, 0), differing
assert differing["differences"][0]["a"]["name"] == "dead", differing
passes = {p["pass"]: p for p in run(0, "passes")["passes"]}
assert "allow" in passes["stabilize"]["options"] and passes["dce"]["summary"], passes["stabilize"]
assert passes["dce"]["tier"] == "core" and passes["fuse"]["tier"] == "supported", passes["fuse"]
open("crash.log", "w").write("log [Processing] a/model\nRuntimeError: no\n")
(scored,) = run(0, "score", "crash.log")["curves"]
assert (scored["curve"], scored["samples"], scored["ES"]["3"]) == ("crash", 1, 1), scored
assert abs(scored["ES"]["2"] - 0.1) < 1e-9, scored
error = run(2, "score", "a.gn")["error"]
assert error["message"].startswith("a.gn: no sample in it"), error
bench = run(0, "bench", "a.gn", "--backend", "nope", "--trials", "1", "-o", "bench")["backends"]
assert [(b["backend"], b["samples"], b["outcomes"]) for b in bench] == [("nope", 1, {"correct": 1})], bench
assert run(0, "score", bench[0]["log"])["curves"][0]["ES"]["-10"] > 0
small = run(0, "reduce", "a.gn", "--command", "grep -q relu {}", "-o", "small.gn")
assert small["out"] == "small.gn" and small["kept"] == "grep -q relu {}" and small["minimal"] is True, small
assert (small["before"]["num_operators"], small["after"]["num_operators"]) == (3, 1) and small["tries"] > 1, small
assert run(0, "new", "pass", "my-pass", "-o", "mine") == {"folder": "mine"}
backends = {b["name"]: b for b in run(0, "backends")["backends"]}
assert backends["nope"]["found"] is True and "exec" in backends, backends
# The output of the program is not part of the document.
extracted = subprocess.run([graphnet, "extract", "two.pt", "-o", "two", "--input", "f32[2,3]", "--input",
                            "int=2", "--check", "--json"], capture_output=True, text=True, check=True)
commands.add("extract")
extracted = json.loads(extracted.stdout)
assert extracted["same_bits"] is True, extracted
steps = [step.get("subgraph") or step["reason"] for step in extracted["steps"]]
assert steps[:2] == ["subgraph_0", "print"] and "branch-on-data" in steps, steps
stop = next(step for step in extracted["steps"] if step.get("reason") == "branch-on-data")
assert stop["line"] > 1 and stop["why"] and stop["hint"]
stitched = subprocess.run([graphnet, "run", "two", "--json"], capture_output=True, text=True, check=True)
assert len(json.loads(stitched.stdout)["samples"][0]["outputs"]) == 2 and "printed" in stitched.stderr, stitched

# --- The command fails as a whole.
error = run(2, "show", "many/broken.gn")
assert set(error) == {"error"} and broken(error)
error = run(2, "show", "nowhere")["error"]
assert error == {"message": "nowhere: no such file or folder"}, error
assert "either" in run(2, "opt", "a.gn", "--passes=dce", "-o", "-")["error"]["message"]
# Names may not be UTF-8.
os.mkdir(b"odd\xff")
shutil.copy("a.gn", b"odd\xff/a.gn")
assert run(0, "stats", b"odd\xff")["samples"][0]["path"].startswith("odd")

# Every command in the help is tested, except those that only print a text.
listed = subprocess.run([graphnet, "--help"], capture_output=True, text=True, check=True).stdout
listed = {line.split()[0] for line in listed.split("Exit codes")[0].split("Examples:")[0].splitlines()
          if line.startswith("  ") and line[2].isalpha()}
assert listed - commands == {"completion", "man"}, listed - commands
EOF_PYTHON
echo PASSED
