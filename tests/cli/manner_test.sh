#!/usr/bin/env bash
# Goes through all commands: they share the same conventions for options, exit codes and JSON.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"
mkdir two
cp "$samples"/{resnet,vit}.pb "$samples"/{resnet,vit}.safetensors two/
printf 'a;b;c;d\n' >no_log.log
python3 - "$graphnet" "$samples/resnet.pb" <<'END'
import json, re, subprocess, sys

graphnet, sample = sys.argv[1:]
faults = []


def call(*words):
    return subprocess.run([graphnet, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def fault(*words):
    faults.append(" ".join(words))


listed = re.findall(r"^  ([a-z][a-z-]*) {2,}[A-Z]", call("--help").stdout, re.M)
if len(listed) < 20:
    fault("commands:", *listed)
commands = {}  # name: its positionals, and its options as they are written
for name in listed:
    text = call(name, "--help").stdout
    usage = re.search(r"graphnet " + name + r"\b(.*)", text).group(1)
    options = re.findall(r"^ +((?:-\w,)?--[a-z-]+(?:,[\w-]+)*)(?: ([A-Z][^ ]*|\S*\|\S*))?(?:  |$| )", text, re.M)
    commands[name] = (re.findall(r"\b[A-Z]+\b", usage), dict(
        (re.search(r"--[a-z-]+", written).group(0), written) for written, _ in options))

# An option is written in the same way everywhere.
for option in sorted({option for _, options in commands.values() for option in options}):
    ways = {}
    for name, (_, options) in commands.items():
        if option in options:
            letter = re.match(r"-\w,", options[option])
            ways.setdefault(letter.group(0) if letter else "", []).append(name)
    if len(ways) > 1:
        fault(option, "is written in several ways:", str(ways))

without_json = {"completion", "man"}  # they print a file for another program
for name, (places, options) in commands.items():
    if "--help" not in options and "-h" not in call(name, "--help").stdout:
        fault(name, "has no --help")
    if ("--json" in options) == (name in without_json):
        fault(name, "and --json")
    # Threads of a command are for many samples, or for LibTorch.
    if "--jobs" in options and "--progress" not in options:
        fault(name, "has --jobs and no --progress")
    if "--trust" in options and "--schema" not in options:
        fault(name, "has --trust and no --schema")
    if "IN" in places and "--trust" not in options:
        fault(name, "reads samples and has no --trust")
    done = call(name, "--no-such-option")
    if done.returncode != 2 or not done.stderr.startswith("graphnet"):
        fault(name, "--no-such-option: exit code", str(done.returncode), done.stderr[:200])

# The other arguments that each command needs.
more = {"opt": ["-p", "dce"], "convert": ["-o", "out"], "decompose": ["-o", "out", "--pieces", "2"],
        "subgraph": ["-o", "out", "--range", "0:1"], "roundtrip": ["-o", "out"], "compose": ["-o", "out"], "extract": ["-o", "out"],
        "shard": ["--mesh", "2"], "bench": ["--backend", "jit", "-o", "out"], "reduce": ["--command", "true", "-o", "out"],
        "choose": ["--count", "1"],
        "resize": ["-o", "out"], "diff": [sample], "diff-run": [sample], "validate": [sample]}
reads = [name for name, (places, _) in commands.items() if {"IN", "A", "LOG", "PIECES"} & set(places)]
if len(reads) < 18:
    fault("commands that read:", *reads)
for name in reads:
    if name == "find":
        words = ["relu(%)", "missing.pb"]
    else:
        words = ["missing.pb", *more.get(name, [])]
    done = call(name, *words)
    if done.returncode != 2:
        fault(name, *words, "exit code", str(done.returncode))
    if done.stdout.strip() and "0 " not in done.stdout:
        fault(name, *words, "prints", done.stdout[:100])
    if "missing.pb" not in done.stderr + done.stdout:
        fault(name, *words, "does not say what is missing:", (done.stderr + done.stdout)[:200])

# One document, with the same names for one sample as for many.
single = {"check": [], "stats": [], "hash": [], "lint": [], "find": [], "run": [], "shapes": [], "opt": ["-p", "dce"],
          "convert": ["-o", "made.gn"], "bench": ["--backend", "jit", "-o", "bench", "--trials", "1", "--warmup", "0"]}
for name, words in single.items():
    for path in (sample, "two"):
        given = [*words]
        if name in ("opt",) and path == "two":
            given += ["-o", "opted"]
        if name == "bench" and path == "two":
            given[3] = "bench_two"
        if name == "convert" and path == "two":
            given = ["-o", "converted", "--to", "text"]
        done = call(name, *(["relu(%)"] if name == "find" else []), path, *given, "--json")
        try:
            document = json.loads(done.stdout)
        except ValueError:
            fault(name, path, "--json prints", done.stdout[:200], done.stderr[:200])
            continue
        if name == "shapes" and path != "two":
            continue
        if name == "bench":  # lists backends: the results of samples are in their logs
            if [backend["samples"] for backend in document["backends"]] != [1 if path == sample else 2]:
                fault(name, path, "--json prints", done.stdout[:200])
            continue
        if not isinstance(document.get("samples"), list):
            fault(name, path, "--json has no samples:", str(list(document))[:200])
            continue
        want = 1 if path == sample else 2
        if len(document["samples"]) != want and name not in ("find",):
            fault(name, path, "--json has", str(len(document["samples"])), "samples")
        for one in document["samples"]:
            if "path" not in one and "sample" not in one:
                fault(name, path, "--json: a sample without a path:", str(list(one))[:200])
print("\n".join(faults))
sys.exit(1 if faults else 0)
END
echo PASSED
