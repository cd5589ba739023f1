#!/usr/bin/env bash
# `graphnet bench --record` and `--against`: the outputs and times of one machine, checked on another.
set -euo pipefail
source tests/cli/expect.sh
graphnet=$PWD/$1
evaluate=$PWD/tests/evaluate
samples=$PWD/samples
cd "$TEST_TMPDIR"
slow() { echo "python3 $evaluate/slow_worker.py $graphnet $1"; }

mkdir in
cp "$samples"/resnet.pt "$samples"/gpt.pb "$samples"/gpt.safetensors in
"$graphnet" bench in --backend nope,exec --exec "$(slow 1)" --exec-reads graphnet --warmup 1 \
  --trials 4 --seed 7 --record ref -o recorded >out.txt || { cat out.txt; fail record; }

# --- All files are there with their digests, and the outputs are those of `graphnet run`.
"$graphnet" run in/resnet.pt --seed 7 -o run.safetensors >run.txt
python3 - <<'END'
import hashlib, json, os, struct
index = json.load(open("ref/reference.json"))
there = {os.path.relpath(os.path.join(at, name), "ref") for at, _, names in os.walk("ref") for name in names}
assert there == set(index["files"]) | {"reference.json"}, there
for name, file in index["files"].items():
    text = open(os.path.join("ref", name), "rb").read()
    assert hashlib.sha256(text).hexdigest() == file["sha256"] and len(text) == file["bytes"], name
samples = {sample["name"]: sample for sample in index["samples"]}
assert sorted(samples) == ["gpt", "resnet"], samples
for sample in samples.values():
    assert sorted(sample["eager"]) == ["exec", "nope"], sample
    assert sum(map(len, sample["eager"]["nope"]["e2e"])) == 4, sample
assert index["environment"]["graphnet"] and index["environment"]["hardware"], index["environment"]

def values(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        header.pop("__metadata__", None)
        return sorted((entry["shape"], entry["dtype"]) for entry in header.values()), file.read()
at = [sample["name"] for sample in index["samples"]].index("resnet")
assert values(f"ref/outputs/{at}.safetensors") == values("run.safetensors")
END

# --- Elsewhere: the folder was copied, and the samples have other paths. Settings and backends are those
# of the reference, and the eager side does not run.
cp -r ref copied && mkdir there && cp -r in there/samples
"$graphnet" bench there/samples --backend nope --against copied -o same >out.txt ||
  { cat out.txt; fail against; }
python3 - <<'END'
import json
settings, recorded = json.load(open("same/bench.json")), json.load(open("recorded/bench.json"))
assert all(settings[key] == recorded[key] for key in ("trials", "warmup", "seed", "device")), settings
eager = {s["name"]: s["eager"]["nope"]["e2e"] for s in json.load(open("ref/reference.json"))["samples"]}
for line in map(json.loads, open("same/nope.jsonl")):
    name = line["path"].split("/")[-1].split(".")[0]
    assert line["status"] == "correct" and line["eager_ms"] == eager[name], line
END
grep -q 'same/nope.log against copied/nope.log: 2 samples in both, 2 right in both' out.txt || fail change
ATEN_CPU_CAPABILITY=default expect 0 'not the same ATEN_CPU_CAPABILITY: not set, then default' \
  "$graphnet" bench in --backend nope --against ref --threads 1
grep -q 'not the same threads: not set, then 1' out.txt || { cat out.txt; fail threads; }
# A backend that was not recorded is compared with the eager side.
expect 0 'against ref (eager): 2 samples in both, 2 right' "$graphnet" bench in --backend jit --against ref

# --- A regression: slower, or wrong.
expect 1 'speedup now over before 0.0' "$graphnet" bench in --backend exec --exec "$(slow 100)" \
  --exec-reads graphnet --against ref --min-speedup 0.5
expect 0 'speedup now over before 0.0' "$graphnet" bench in --backend exec --exec "$(slow 100)" \
  --exec-reads graphnet --against ref
cat >relu.gn <<'END'
graph @forward(%x : f32[64] {mean = 0.5, std = 3.0}) {
  %y = torch.nn.functional.gelu(%x)
  return (%y,)
}
END
"$graphnet" bench relu.gn --backend nope --warmup 0 --trials 2 --record relu >out.txt
wrong="python3 $evaluate/miscompiling_worker.py $graphnet nn.functional.gelu nn.functional.relu"
expect 1 'FAIL relu.gn: exec: accuracy' "$graphnet" bench relu.gn --backend exec --exec "$wrong" \
  --exec-reads graphnet --against relu
grep -q '^broke 1' out.txt || { cat out.txt; fail broke; }

# --- What cannot be used costs one line.
sed -i 's/gelu/silu/' relu.gn
expect 2 'the reference is of another sample' "$graphnet" bench relu.gn --against relu
sed -i 's/silu/gelu/; s/mean = 0.5/mean = 0.25/' relu.gn
expect 2 'the reference is of other weights or inputs' "$graphnet" bench relu.gn --against relu
expect 2 'has none of these samples' "$graphnet" bench relu.gn --against ref
expect 0 '^SKIPPED relu.gn: the reference lacks it' "$graphnet" bench relu.gn in/resnet.pt \
  --backend nope --against ref
expect 2 "the inputs of the reference were drawn with seed 7" "$graphnet" bench in --against ref --seed 8
expect 2 'no reference, which has a reference.json' "$graphnet" bench in --against in
expect 2 'ref is there already' "$graphnet" bench in --backend nope --record ref
expect 2 'needs --baseline or --against' "$graphnet" bench in --backend nope --min-speedup 1
rm -r copied/outputs/1.safetensors
expect 2 'the reference is not whole: outputs/1.safetensors is missing' "$graphnet" bench in --against copied
head -c 100 ref/outputs/1.safetensors >copied/outputs/1.safetensors
expect 2 'is not whole: outputs/1.safetensors has 100 bytes' "$graphnet" bench in --against copied
cp ref/outputs/1.safetensors copied/outputs
printf x | dd of=copied/outputs/1.safetensors bs=1 seek=99 conv=notrunc status=none
expect 2 'is not whole: outputs/1.safetensors has been changed' "$graphnet" bench in --backend nope --against copied
head -c 400 ref/reference.json >copied/reference.json
expect 2 'the reference is not whole' "$graphnet" bench in --against copied
sed 's/"version": 1/"version": 2/' ref/reference.json >copied/reference.json
expect 2 'the reference has format version 2, and this graphnet reads up to 1' "$graphnet" bench in --against copied
# A benchmark that fails leaves no reference.
expect 2 'unknown device' "$graphnet" bench in --backend nope --device tpu --record none
[ "$(echo none*)" = 'none*' ] || fail "a part of a reference"
