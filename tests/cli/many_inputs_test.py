#!/usr/bin/env python3
"""Many inputs: what all commands that take several samples have in common.

    tests/cli/many_inputs_test.py GRAPHNET SAMPLE
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

graphnet, real = map(os.path.abspath, sys.argv[1:3])

SAMPLE = """graphnet.module 1

graph @forward(%x : f32[2, 3] {mean = 0.0, std = 1.0}) {
  %y = torch.relu(%x) : f32[2, 3]
  %z = torch.OPERATOR(%y) : f32[2, 3]
  return (%z,)
}
end
"""
OPERATORS = ["tanh", "exp", "sigmoid", "abs", "neg", "cos"]
BAD = "in/2_bad.gn"
# The words around the inputs, by command; OUT is a new folder. What prints the samples, with what it
# prints of each, and what is written for each.
COMMANDS = {
    "run": [],
    "shapes": [],
    "lint": ["--rule", "unused"],
    "check": [],
    "stats": [],
    "hash": [],
    "convert": ["-o", "OUT", "--to", "protobuf"],
    "opt": ["-p", "dce", "-o", "OUT"],
    "decompose": ["--at", "1", "-o", "OUT"],
    "find": [],
    "subgraph": ["--match", "relu(%)", "-o", "OUT"],
    "dedupe": [],
    "choose": ["--count", "3"],
    "resize": ["-o", "OUT", "--symbols"],
    "validate": None,  # takes a folder of samples alone
    "show": None,  # takes several samples for --to unittest alone, which needs a Python with PyTorch
    "bench": None,  # has tests of its own
}
WRITES = {"convert": "OUT/NAME.pb", "opt": "OUT/NAME.gn", "decompose": "OUT/NAME_decomposed"}
LISTS = ["hash", "find", "stats", "shapes"]  # their standard output is in the order of the inputs


def run(*words, stdin=None):
    return subprocess.run([graphnet, *words], capture_output=True, text=True, input=stdin or "")


def call(command, *inputs, more=(), out="out", stdin=None):
    shutil.rmtree(out, ignore_errors=True)
    words = [out if word == "OUT" else word for word in COMMANDS[command]]
    before = ["relu(%)"] if command == "find" else []
    return run(command, *before, *inputs, *words, *more, stdin=stdin)


def tree(folder):
    return sorted(
        os.path.relpath(os.path.join(at, name), folder)
        for at, _, names in os.walk(folder)
        for name in names
    )


def without_times(text):
    return re.sub(r"\d+\.\d+ (ms|s)\b", "…", text)


def check_bad_in_the_middle(command):
    """A list with one bad sample in the middle: the others are done, and one line says which failed."""
    with open("list.txt", "w") as file:
        file.write("# these\n" + "".join(f"in/{name}  # one\n" for name in sorted(os.listdir("in"))))
    outputs = {}
    for jobs in ("1", "4"):
        for given in (["--list", "list.txt"], ["in"], sorted("in/" + one for one in os.listdir("in"))):
            done = call(command, *given, more=["-j", jobs])
            place = (command, given, jobs, done.stdout[:500], done.stderr[:500])
            assert done.returncode == 2 or (command == "check" and done.returncode == 1), place
            assert "FAIL" not in done.stdout, place
            lines = [line for line in done.stderr.splitlines() if line.startswith("FAIL ")]
            assert len(lines) == 1 and lines[0].startswith(f"FAIL {BAD}:"), place
            assert not re.search(r"^graphnet: ", done.stderr, re.M), place
            assert not done.stdout.startswith("\n"), place
            # The result does not depend on how the samples are named, or on how many run at once.
            by_name = command in WRITES or command in ("choose", "subgraph")  # names begin at what is given
            kind = "list" if given[0] == "--list" and by_name else "names"
            outputs.setdefault(kind, []).append(without_times(done.stdout))
            if command in WRITES:
                folder = "out/in" if given[0] == "--list" else "out"
                found = tree(folder)
                for number, _ in enumerate(OPERATORS):
                    name = f"{number}_{OPERATORS[number]}" if number < 2 else f"{number + 1}_{OPERATORS[number]}"
                    want = WRITES[command].replace("OUT/", "").replace("NAME", name)
                    assert any(one.startswith(want) for one in found), (command, want, found)
    for kind, texts in outputs.items():
        assert len(set(texts)) == 1, (command, kind, texts)
    if command in LISTS:
        at = [texts.find(f"in/{name}") for texts in outputs["names"][:1] for name in sorted(os.listdir("in"))
              if f"in/{name}" != BAD]
        assert at == sorted(at) and -1 not in at, (command, at)
    # As JSON, the error is in the document and not a line.
    document = call(command, "--list", "list.txt", more=["--json"])
    json.loads(document.stdout)
    assert "FAIL" not in document.stderr and BAD in document.stdout, (command, document.stderr)


def check_places():
    """Several samples are not written to one file, and a conversion to Paddle begins again."""
    for words, message in {
        ("convert", "in/0_tanh.gn", "in/1_exp.gn", "-o", "one.pb"): "one.pb is one file; several samples need a folder, and --to",
        ("opt", "in/0_tanh.gn", "in/1_exp.gn", "-p", "dce", "-o", "-"): "the standard output takes one sample, not several",
        ("convert", "in", "-o", "out", "--to", "paddle", "--resume"): "--resume: a conversion to Paddle reports on all samples",
    }.items():
        done = run(*words)
        assert done.returncode == 2 and message in done.stderr, (words, done.stderr)
    # The last operand is the output, as that of cp.
    shutil.rmtree("out", ignore_errors=True)
    done = run("convert", "in/0_tanh.gn", "in/1_exp.gn", "out", "--to", "protobuf")
    assert done.returncode == 0 and tree("out") == ["0_tanh.pb", "1_exp.pb"], (done.stderr, tree("out"))


def check_equal_causes():
    """Equal causes of several failures are counted."""
    done = run("stats", "in/0_tanh.gn", "none/a.gn", "none/b.gn", "none/c.gn")
    assert done.returncode == 2 and "failed 3: no such file or folder\n" in done.stderr, done.stderr
    assert done.stderr.count("FAIL ") == 3


def check_standard_input(command):
    """- is one of several samples, or alone, and can be given once."""
    done = call(command, "-", "in/0_tanh.gn", stdin=SAMPLE.replace("OPERATOR", "erf"))
    assert done.returncode in (0, 1), (command, done.stdout, done.stderr)
    assert "FAIL" not in done.stderr, (command, done.stderr)
    if command in WRITES:
        want = WRITES[command].replace("OUT/", "").replace("NAME", "stdin").replace(".gn", "")
        assert any(one.startswith(want) for one in tree("out")), (command, tree("out"))
    done = call(command, "-", "-")
    assert done.returncode == 2 and "can be given once" in done.stderr, (command, done.stderr)


def check_refused(command):
    """An empty list, no input at all, and a name twice."""
    for text in ("", "# nothing\n\n"):
        with open("empty.txt", "w") as file:
            file.write(text)
        done = call(command, "--list", "empty.txt")
        assert done.returncode == 2 and "names no sample" in done.stderr, (command, done.stderr)
    done = call(command)
    assert done.returncode == 2 and "--list" in done.stderr, (command, done.stderr)
    with open("twice.txt", "w") as file:
        file.write("in/0_tanh.gn\nin/1_exp.gn\nin/0_tanh.gn\n")
    done = call(command, "--list", "twice.txt")
    assert done.returncode == 2 and "twice.txt:3:1: " in done.stderr, (command, done.stderr)
    if command not in WRITES:
        return
    done = call(command, "in/0_tanh.gn", "other/0_tanh.gn")
    assert done.returncode == 2 and "would both be written to" in done.stderr, (command, done.stderr)
    assert not os.path.exists("out"), command


def check_resume(command):
    """What is there is left out and counted, as after a run that was killed."""
    many = [f"many/{number:03}.pb" for number in range(60)]
    os.makedirs("many", exist_ok=True)
    for path in many:
        if not os.path.exists(path):
            shutil.copy(real, path)
            shutil.copy(real.replace(".pb", ".safetensors"), path.replace(".pb", ".safetensors"))
    shutil.rmtree("whole", ignore_errors=True)
    words = {"convert": ["--to", "protobuf"], "opt": ["-p", "dce", "--to", "protobuf"],
             "decompose": ["--pieces", "3"]}[command]
    full = [graphnet, command, "many", *words, "-j", "1"]
    assert run(*full[1:], "-o", "whole").returncode == 0
    for folder in ("killed",):
        shutil.rmtree(folder, ignore_errors=True)
    child = subprocess.Popen([*full, "-o", "killed"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None and not (os.path.isdir("killed") and len(os.listdir("killed")) > 6):
        time.sleep(0.002)
    child.send_signal(signal.SIGKILL)
    child.wait()
    done = run(*full[1:], "-o", "killed", "--resume")
    assert done.returncode == 0, (command, done.stderr)
    there = re.search(r"(\d+) were there", done.stdout)
    assert there and 1 <= int(there[1]) <= 60, (command, done.stdout)
    assert [one for one in tree("killed") if ".tmp" not in one] == tree("whole"), command
    # Nothing is written again.
    before = {one: os.stat(os.path.join("killed", one)).st_mtime_ns for one in tree("killed")}
    done = run(*full[1:], "-o", "killed", "--resume")
    assert "60 were there" in done.stdout, (command, done.stdout)
    assert before == {one: os.stat(os.path.join("killed", one)).st_mtime_ns for one in tree("killed")}
    document = json.loads(run(*full[1:], "-o", "killed", "--resume", "--json").stdout)
    assert all(one["there"] for one in document["samples"]), document


def check_order_of_find():
    """find -l prints in the order of the inputs, in every run."""
    texts = {run("find", "relu(%)", "many", "in", "-l").stdout for _ in range(10)}
    assert len(texts) == 1, texts


def check_random_runs():
    """A sample that draws random numbers has the same outputs, whatever runs beside it."""
    os.makedirs("random", exist_ok=True)
    for number in range(12):
        with open(f"random/{number:02}.gn", "w") as file:
            file.write(SAMPLE.replace("OPERATOR", "rand_like" if number % 2 else "tanh"))
    texts = {run("run", "random", "--json", "-j", jobs).stdout for jobs in ("1", "4") for _ in range(3)}
    assert len(texts) == 1, texts


def check_shared_options():
    """Options that commands share are declared once: they are the same in every help."""
    table = {}
    for name in re.findall(r"^  ([a-z][a-z-]*) {2,}[A-Z]", run("--help").stdout, re.M):
        text = run(name, "--help").stdout
        for entry in re.findall(r"^  (-.*(?:\n {10,}\S.*)*)", text, re.M):
            entry = " ".join(entry.split())
            table.setdefault(re.search(r"--[a-z-]+", entry)[0], {})[name] = entry
    plain = lambda text: re.sub(r"=(\d+|one per CPU)| (Needs|Excludes):( --[a-z-]+)+", "", text)
    for option, least in {"--jobs": 14, "--threads": 4, "--list": 14, "--progress": 14, "--trust": 20}.items():
        # The default may differ, and what it goes with.
        ways = {plain(text) for text in table[option].values()}
        assert len(ways) == 1 and len(table[option]) >= least, (option, len(table[option]), ways)
    resumes = {plain(text) for name, text in table["--resume"].items() if name != "bench"}  # bench names a folder
    assert len(resumes) == 1 and len(table["--resume"]) >= 5, resumes
    # Each command that takes several samples is in this test.
    missing = set(table["--list"]) - set(COMMANDS)
    assert not missing, missing


os.chdir(os.environ.get("TEST_TMPDIR") or tempfile.mkdtemp())
os.makedirs("in")
os.makedirs("other")
for number, operator in enumerate(OPERATORS):
    name = f"{number if number < 2 else number + 1}_{operator}.gn"
    with open(f"in/{name}", "w") as file:
        file.write(SAMPLE.replace("OPERATOR", operator))
with open(BAD, "w") as file:
    file.write(SAMPLE.replace("torch.OPERATOR(%y)", "torch.tanh(%nothing)"))
shutil.copy("in/0_tanh.gn", "other/0_tanh.gn")
for command, words in COMMANDS.items():
    if words is None:
        continue
    check_bad_in_the_middle(command)
    check_refused(command)
    if command not in ("dedupe", "choose", "resize", "subgraph"):  # some read their inputs twice
        check_standard_input(command)
for command in WRITES:
    check_resume(command)
check_places()
check_equal_causes()
check_order_of_find()
check_random_runs()
check_shared_options()
print("PASSED")
