#!/usr/bin/env python3
"""Runs every command, pass and format of the tool on programs whose values are shared so often
that a walk which takes them for trees never ends (amplify_shapes.py).

    tests/cli/amplify_test.py --graphnet bazel-bin/graphnet/cli/graphnet [--quick] [--asan]
        [--in-turn N] [--shapes REGEX] [--commands REGEX] [--jobs N] [--keep DIR]

Each run has to end with an answer (exit code 0), or with one line and exit code 1 or 2. A crash,
more than 10 seconds of processor time or 2 GiB is a fault (of a build with ASan: 60 s, 6 GiB; with
--quick 20 s, as processors differ and others may use them).
What is linear in the shared program has to answer; what may refuse because its result is larger
than a budget is listed in docs/shared_values.md, and no other refusal by a budget is allowed.

Commands come from `graphnet --help`, formats from `--help` of each command, passes from
`graphnet passes`, so that new ones are taken up by themselves. --quick takes smaller shapes.
--quick and --in-turn give each shape some of the commands, in turn, so that every shape and every
command occurs: under ASan all commands on all shapes take a day.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import List, NamedTuple, Optional

HERE = pathlib.Path(os.path.abspath(__file__)).parent
sys.path.insert(0, str(HERE))
import amplify_files  # noqa: E402, F401  adds its shapes
import amplify_shapes  # noqa: E402

ROOT = HERE.parents[1]

# How a command is called: {in} is the shape, {out} a path that nothing is at, {pieces} what
# `decompose` wrote. One that is not here is called with {in}, and with -o {out} if it has that.
CALLS = {
    "backends": ["backends"],
    "bench": ["bench {in} --backend eager -o {out} --warmup 0 --trials 1 --timeout 5"],
    "check": ["check {in}", "check --calls {in}"],
    "completion": ["completion bash"],
    "compose": ["compose {pieces} -o {out}.pb"],
    "decompose": ["decompose {in} -o {out} --pieces 3 --to graphnet", "decompose {in} -o {out} --pieces 3 --to protobuf",
                  "decompose {in} --dry-run --single-op", "decompose {in} --dry-run --blocks",
                  "decompose {in} --dry-run --balanced 3", "decompose {in} --dry-run --by-module 1"],
    "diff": ["diff {in} {in}", "diff {in} {in} --normal-form"],
    "diff-run": ["diff-run {in} {in}"],
    "extract": ["extract {in} -o {out} --input f32[3,3]",
                "extract {in} -o {out} --input f32[3,3] --dynamic 0:0=n"],
    "find": ["find relu(%) {in}"],
    "hash": ["hash {in}", "hash --metas {in}", "hash --normal-form {in}"],
    "lint": ["lint {in}"],
    "man": ["man"],
    "passes": ["passes"],
    "reduce": ["reduce {in} -o {out}.pb --command true --max-time 2"],
    "resize": ["resize {in} -o {out} --symbols --no-run"],
    "roundtrip": ["roundtrip {in} -o {out}"],
    "run": ["run {in}", "run {in} --profile"],
    "shapes": ["shapes {in}", "shapes {in} --check", "shapes {in} --cost-by target"],
    "shard": ["shard {in} --mesh 2 -o {out}"],
    "score": ["score {in}"],
    "show": ["show {in}", "show {in} --json", "show {in} --depth 1 --to svg"],
    "stats": ["stats {in}", "stats {in} --json", "stats {in} --cost-by target"],
    "subgraph": ["subgraph {in} -o {out}.pb --range 0:2"],
    "validate": ["validate {in} {pieces}", "validate {in} {pieces} --run"],
}
# Options that a pass does not do without.
PASS_OPTIONS = {"change-device": "{to=cpu}", "change-dtype": "{to=bf16}", "rewrite": "{rules={rules}}"}

# What is linear in the shared program. It answers for each shape that can be read.
LINEAR = re.compile(
    r"(check|stats|hash|hash --metas|find|show|show --json|show --to (text|tabular)|"
    r"convert --to (text|protobuf)|opt -p (dce|cse|canonical-arguments|canonical-names|"
    r"constrain-domains|constrain-variance|remove-aliases|rename|simplify))")
# What the tool says when a budget is spent.
BUDGET = re.compile(r"budget|larger than|too large|more than \d+")


class Command(NamedTuple):
    label: str
    words: List[str]


class Result(NamedTuple):
    shape: str
    label: str
    kind: str  # answer, refusal, fault
    why: str
    seconds: float
    mebibytes: int


def lines_of_help(text: str) -> List[str]:
    return [m.group(1) for m in re.finditer(r"^  ([a-z][a-z-]*)  +\S", text, re.M)]


def commands_of(graphnet: str, rules: pathlib.Path) -> List[Command]:
    def said(*words: str) -> str:
        return subprocess.run([graphnet, *words], check=True, capture_output=True, text=True).stdout

    commands = []

    def add(line: str) -> None:
        label = re.sub(r" (-o )?\{\w+\}(\.pb)?", "", line)
        commands.append(Command(label, line.split()))

    for name in lines_of_help(said("--help")):
        about = said(name, "--help")
        calls = CALLS.get(name)
        if calls is None and name not in ("convert", "opt"):
            calls = [f"{name} {{in}}" + (" -o {out}" if "-o,--out" in about else "")]
        for line in calls or []:
            add(line)
        formats = re.search(r"--to(?:,--\w+)? ([a-z0-9-]+(?:\|[a-z0-9-]+)+)", about)
        if formats and name in ("convert", "show"):
            for to in formats.group(1).split("|"):
                add(f"{name} {{in}} -o {{out}} --to {to}")
    for one in json.loads(said("passes", "--json"))["passes"]:
        name = one["pass"]
        options = PASS_OPTIONS.get(name, "").replace("{rules}", str(rules))
        commands.append(Command(f"opt -p {name}", ["opt", "{in}", "-p", name + options, "-o", "{out}.pb"]))
    return commands


class Runner:
    def __init__(self, graphnet: str, scratch: pathlib.Path, asan: bool, quick: bool):
        self.graphnet, self.scratch = graphnet, scratch
        self.seconds, self.mebibytes = (60, 6144) if asan else (20 if quick else 10, 2048)
        # The program has to refuse sizes that cannot be allocated, as it does without a sanitizer.
        # What compilers and PyTorch's exporter of ONNX take is theirs: none is installed. Threads of
        # PyTorch wait for each other by spinning, which is no work.
        self.environment = {**os.environ, "ASAN_OPTIONS": "allocator_may_return_null=1",
                            "OMP_NUM_THREADS": "1",
                            "GRAPHNET_BACKENDS": str(scratch / "backends")}
        self.count = itertools.count()

    def run(self, words: List[str]) -> "tuple[int, str, str, float, int, str]":
        """Exit code, both streams, seconds, MiB and what limit it broke."""

        def limit() -> None:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds + 5))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            # Tensors may be as large as memory: the tool is told how much of it there is.
            resource.setrlimit(resource.RLIMIT_RSS, (self.mebibytes << 20, self.mebibytes << 20))

        broke = ""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([self.graphnet, *words], stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, preexec_fn=limit, cwd=self.scratch,
                                       env=self.environment)
            begin = time.monotonic()
            usage = None
            while usage is None:
                pid, status, used = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    usage = used
                    break
                resident = resident_mebibytes(process.pid)
                late = time.monotonic() - begin > 10 * self.seconds
                if resident > self.mebibytes or late:
                    broke = "hangs" if late else f"takes {resident} MiB"
                    os.killpg(process.pid, signal.SIGKILL)
                    _, status, usage = os.wait4(process.pid, 0)
                    break
                time.sleep(0.01)
            process.returncode = os.waitstatus_to_exitcode(status)
            try:
                os.killpg(process.pid, signal.SIGKILL)  # what it left behind
            except ProcessLookupError:
                pass
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read(1 << 20).decode(errors="replace"))
        seconds, mebibytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024
        if not broke and mebibytes > self.mebibytes:
            broke = f"takes {mebibytes} MiB"
        if process.returncode == -signal.SIGXCPU or seconds > self.seconds + 1 and not broke:
            broke = f"takes {seconds:.1f} s"
        return process.returncode, texts[0], texts[1], seconds, mebibytes, broke

    def judge(self, shape: str, command: Command, path: pathlib.Path, pieces: pathlib.Path) -> Result:
        out = self.scratch / f"out{next(self.count)}"
        words = [word.replace("{in}", str(path)).replace("{out}", str(out))
                 .replace("{pieces}", str(pieces)) for word in command.words]
        code, stdout, stderr, seconds, mebibytes, broke = self.run(words)
        keeps = command.label == "decompose --pieces 3 --to protobuf" and code == 0
        for left in self.scratch.glob(out.name + "*"):
            if keeps and left == out:
                left.rename(pieces)
            elif left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink()

        def result(kind: str, why: str) -> Result:
            return Result(shape, command.label, kind, why, seconds, mebibytes)

        errors = [line for line in stderr.splitlines() if line.startswith("graphnet: ")]
        last = (errors or stderr.splitlines() or stdout.splitlines() or [""])[-1]
        if broke:
            return result("fault", broke)
        if code < 0:
            return result("fault", f"ended by {signal.Signals(-code).name}")
        if code == 0:
            return result("answer", "")
        # A warning of ASan that memory cannot be allocated is none: the tool says so itself.
        if code not in (1, 2) or re.search(r"ERROR: \w*Sanitizer|runtime error: ", stderr):
            return result("fault", f"exit code {code}: {stderr[:2000]}")
        if len(errors) > 1:
            return result("fault", f"{len(errors)} lines of error")
        if not last:
            return result("fault", f"exit code {code} without a word")
        if len(last) > 4000:
            return result("fault", f"a line of {len(last)} bytes: {last[:100]}")
        return result("refusal", last)


def resident_mebibytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize() >> 20
    except (OSError, IndexError):
        return 0


def may_refuse() -> "re.Pattern[str]":
    """The commands of the table in docs/shared_values.md that refuse what is larger than a budget."""
    rows = re.findall(r"^\| ((?:`[^`]+`,? ?)+) \|", (ROOT / "docs/shared_values.md").read_text(), re.M)
    words = [word for row in rows for word in re.findall(r"`([^`]+)`", row)]
    return re.compile("(" + "|".join(re.escape(word) for word in words) + ")( |$)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphnet", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--asan", action="store_true")
    parser.add_argument("--in-turn", type=int, metavar="N",
                        help="of the commands each shape gets N, in turn (--quick: 4; default: all)")
    parser.add_argument("--shapes", default="")
    parser.add_argument("--commands", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="write the shapes here and keep them; run nothing")
    parser.add_argument("--log", help="a JSON line of each run")
    options = parser.parse_args()
    graphnet = str(pathlib.Path(options.graphnet).resolve())
    size = amplify_shapes.Size.quick() if options.quick else amplify_shapes.Size.full()
    step = options.in_turn or (4 if options.quick else 0)
    allowed = may_refuse()

    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        rules = scratch / "rules.gn"
        rules.write_text("graph @pattern(%x) {\n  %y = torch.relu(%x)\n  return %y\n}\n\n"
                         "graph @replacement(%x) {\n  %y = torch.clamp(%x, 0)\n  return %y\n}\n")
        runner = Runner(graphnet, scratch, options.asan, options.quick)

        def convert(source: pathlib.Path, target: pathlib.Path) -> None:
            subprocess.run([graphnet, "convert", str(source), str(target)], check=True, capture_output=True)

        bases = amplify_shapes.Bases(convert, scratch)
        shapes = [s for s in amplify_shapes.SHAPES.values() if re.search(options.shapes, s.name)]
        if options.keep:
            kept = pathlib.Path(options.keep)
            kept.mkdir(parents=True, exist_ok=True)
            for shape in shapes:
                print(shape.write(kept, size, bases))
            return 0
        commands = commands_of(graphnet, rules)
        alone = [c for c in commands if "{in}" not in c.words and "{pieces}" not in c.words]
        on_shapes = [c for c in commands if c not in alone and re.search(options.commands, c.label)]
        cut = next((c for c in on_shapes if c.label == "decompose --pieces 3 --to protobuf"), None)
        results: List[Result] = []
        log = open(options.log, "w") if options.log else None
        lock = threading.Lock()

        def work(number: int, shape: Optional[amplify_shapes.Shape]) -> None:
            if shape is None:
                for command in alone:
                    take(runner.judge("(none)", command, scratch, scratch))
                return
            home = scratch / f"in{number}"
            home.mkdir()
            path = shape.write(home, size, bases)
            pieces = home / "pieces"
            chosen = on_shapes
            if step:  # checks, and some others in turn
                others = [c for c in on_shapes if c.label != "check"]
                chosen = [c for c in on_shapes if c.label == "check"]
                chosen += [others[(number * step + i) % len(others)] for i in range(min(step, len(others)))]
                if cut and cut not in chosen and any("{pieces}" in c.words for c in chosen):
                    chosen.insert(0, cut)
            for command in sorted(chosen, key=lambda c: "{pieces}" in c.words):
                take(runner.judge(shape.name, command, path, pieces))
            shutil.rmtree(home)

        def take(result: Result) -> None:
            if result.kind == "refusal" and not may_be_unreadable(result):
                if BUDGET.search(result.why) and not allowed.match(result.label):
                    result = result._replace(kind="fault", why="not in docs/shared_values.md: " + result.why)
                elif LINEAR.fullmatch(result.label):
                    result = result._replace(kind="fault", why="has to answer: " + result.why)
            with lock:
                results.append(result)
                if log:
                    log.write(json.dumps(result._asdict()) + "\n")
                    log.flush()
                if result.kind == "fault":
                    print(f"{result.shape}: {result.label}: {result.why[:300]}", flush=True)

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            list(pool.map(work, range(len(shapes) + 1), [*shapes, None]))

    counts = collections.Counter(result.kind for result in results)
    slowest = max(results, key=lambda r: r.seconds)
    largest = max(results, key=lambda r: r.mebibytes)
    print(f"slowest: {slowest.shape}: {slowest.label}, {slowest.seconds:.1f} s; "
          f"largest: {largest.shape}: {largest.label}, {largest.mebibytes} MiB")
    print(f"{len(shapes)} shapes x {len({r.label for r in results})} commands: {len(results)} runs, "
          f"{counts['answer']} answers, {counts['refusal']} refusals, {counts['fault']} faults")
    return 1 if counts["fault"] else 0


def may_be_unreadable(result: Result) -> bool:
    return amplify_shapes.SHAPES[result.shape].unreadable if result.shape in amplify_shapes.SHAPES else False


if __name__ == "__main__":
    sys.exit(main())
