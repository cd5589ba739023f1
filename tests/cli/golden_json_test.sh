#!/usr/bin/env bash
# --json: the documents of all commands are those of golden_json.txt, with members in that order.
# `tests/cli/golden_json_test.sh GRAPHNET MAKE_ARCHIVE GOLDEN --update` writes that file anew.
set -euo pipefail
graphnet=$PWD/$1
make_archive=$PWD/$2
golden=$PWD/$3
[ "${4:-}" != --update ] || TEST_TMPDIR=$(mktemp -d)
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
python3 - "$graphnet" "$golden" "${4:-}" <<'END'
import difflib, json, os, shlex, subprocess, sys

graphnet, golden, update = sys.argv[1:]
SAMPLE = """graphnet.module 1

graph @forward(%x : f32[2, 3] {mean = 0.0, std = 1.0}, %weight : f32[3, 3] {mean = 0.0, std = 1.0}) {
  %y = torch.matmul(%x, %weight)
  %dead = torch.exp(%y)
  %z = torch.relu(%y)
  return (%z,)
}
end
"""
os.mkdir("many")
for name, text in {"a.gn": SAMPLE, "b.gn": SAMPLE.replace("  %dead = torch.exp(%y)\n", ""),
                   "many/a.gn": SAMPLE, "many/broken.gn": SAMPLE.replace("relu(%y)", "relu(%nothing)"),
                   "tanh.gn": SAMPLE.replace("relu", "tanh"),
                   "sym.gn": SAMPLE.replace("\n\n", "\n\nsymbol S0 = 2\n\n").replace("%x : f32[2,", "%x : f32[S0,"),
                   "rows.txt": "2\n5\n",
                   "private.gn": SAMPLE.replace("torch.exp", "torch._C._nn.gelu"),
                   "crash.log": "log [Processing] a/model\nRuntimeError: no\n"}.items():
    with open(name, "w") as file:
        file.write(text)
COMMANDS = """
show a.gn
stats many --cost-by target
shapes a.gn --cost-by node
shapes a.gn --check
find 'relu(%)' many
hash many
dedupe a.gn b.gn many -o unique
choose a.gn b.gn many --count 2
resize sym.gn --sizes rows.txt -o resized
diff a.gn b.gn
diff a.gn b.gn --weights
check many
check a.gn --for onnx,pt2
lint many
lint private.gn
convert many -o converted --to protobuf
opt many --passes=cse,dce
opt private.gn --passes=check-stable
paddle-map gelu
decompose many --at 1 --style dag -o pieces
subgraph a.gn --range 1:3 -o part.gn
compose pieces/a_decomposed -o whole.gn
validate a.gn pieces/a_decomposed --run
validate tanh.gn pieces/a_decomposed --run
roundtrip a.gn -o trip --pieces 2
shard a.gn --mesh 2 --shard x:0,-1 --check -o shards
extract two.pt -o two --input 'f32[2,3]' --input int=2 --check
extract two.pt --foretell
run many
run a.gn --profile
run a.gn --stability
run two
run two.pt --backend nope --input 'f32[2,3]' --input int=2
diff-run a.gn tanh.gn --table
bench a.gn --backend nope --trials 1 -o bench
bench a.gn --backend nope --trials 1 --tolerance derived -o derived
bench a.gn --backend nope --trials 1 --locate -o located
score crash.log
reduce a.gn --command 'grep -q relu {}' -o small.gn
new pass my-pass -o mine
show nowhere
"""
MASKED = {"seconds", "digits", "lost", "lost_here", "ms", "ready_ms", "median_ms", "compile_ms", "run_ms",
          "median_speedup", "log"}


def plain(value, name=""):
    """The value without what differs from run to run and from processor to processor."""
    if name in MASKED:
        return "…"
    if name == "profile":  # the slowest come first
        value = sorted(value, key=lambda row: row["target"])
    if isinstance(value, dict):
        return {key: plain(of_key, key) for key, of_key in value.items()}
    if isinstance(value, list):
        return [plain(element) for element in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def document(command):
    """Lines with the members, in their order, and the elements of lists."""
    done = subprocess.run([graphnet, *shlex.split(command), "--json"], capture_output=True, text=True)
    lines = [f"$ graphnet {command} --json; exit code {done.returncode}"]
    for name, value in plain(json.loads(done.stdout)).items():
        of_list = value if isinstance(value, list) and value and isinstance(value[0], dict) else None
        lines.append(f"{name}:" if of_list else f"{name}: {json.dumps(value, ensure_ascii=False)}")
        lines += [f"  {json.dumps(element, ensure_ascii=False)}" for element in of_list or ()]
    return "\n".join(lines) + "\n\n"


made = "".join(map(document, COMMANDS.strip().splitlines()))
if update:
    with open(golden, "w") as file:
        file.write(made)
    sys.exit()
with open(golden) as file:
    frozen = file.read()
sys.stdout.writelines(difflib.unified_diff(frozen.splitlines(True), made.splitlines(True), "frozen", "made"))
assert made == frozen, "a document differs"
# Every command that has --json is in the list.
listed = subprocess.run([graphnet, "--help"], capture_output=True, text=True, check=True).stdout
for line in listed.split("Exit codes")[0].split("Examples:")[0].splitlines():
    if not line.startswith("  ") or not line[2].isalpha():
        continue
    name = line.split()[0]
    helped = subprocess.run([graphnet, name, "--help"], capture_output=True, text=True, check=True).stdout
    # `backends` and `passes` list what the build has; json_test.sh looks at them.
    assert "--json" not in helped or f"\n{name} " in COMMANDS or name in ("backends", "passes"), name
END
echo PASSED
