"""Suites of compare.py on GraphNet samples: as they are, as Python, in pieces, and after passes."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from typing import Any, Counter, Dict, Iterator, List, Optional, Tuple

import torch

import in_pytorch
from compare import Failed, Run, Suite


class OnSamples(Suite):
    """Takes samples from folders or a list, in random order if a number of them is asked for."""

    sample: Optional[int] = None
    max_bytes = 2 << 30
    timeout = 300

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER", help="a sample, or searched for some")
        parser.add_argument("--list", type=pathlib.Path, metavar="FILE", help="samples, one a line")
        parser.add_argument("--sample", type=int, default=self.sample, metavar="N", help="compare N random samples (default: all)")
        parser.add_argument("--stride", type=int, default=1, help="take every Nth sample")
        parser.add_argument("--max-bytes", type=int, default=self.max_bytes,
                            help="leave out samples with inputs of more bytes (default: %(default)s)")
        parser.add_argument("--max-memory", type=int, default=16 << 30, help="address space that Python may take (default: %(default)s)")
        parser.add_argument("--timeout", type=int, default=self.timeout, help="seconds of the processor for each run (default: %(default)s)")

    def samples(self, run: Run) -> Iterator[pathlib.Path]:
        """Those that are not too large, until as many are compared as are asked for."""
        args = run.args
        samples = in_pytorch.find_samples(args.folders)
        if args.list is not None:
            samples += [pathlib.Path(line) for line in args.list.read_text().splitlines() if line]
        samples = samples[:: args.stride]
        if args.sample is not None:
            random.Random(args.seed).shuffle(samples)
        torch.set_num_threads(1)
        for sample in samples:
            if run.counts["equal"] + run.counts["different"] == args.sample:
                break
            if in_pytorch.declared_bytes(in_pytorch.read_metas(sample)) <= args.max_bytes:
                yield sample

    def compare(self, run: Run, sample: pathlib.Path, made: pathlib.Path) -> str:
        """What differs between two samples in PyTorch; "skipped: " and why the first does not run here."""
        what, why = in_pytorch.in_process(differ, sample, made, run.args.seed, seconds=2 * run.args.timeout,
                                          memory=run.args.max_memory)
        return f"skipped: {why}" if why else what


def inputs_of(sample: pathlib.Path, model: Any, seed: int) -> Dict[str, torch.Tensor]:
    metas = in_pytorch.read_metas(sample)
    return {name: in_pytorch.draw(metas[name], seed) for name in in_pytorch.parameters(model)}


def values_of(sample: pathlib.Path, seed: int) -> List[Tuple[str, Any]]:
    """What is returned, and what inputs are afterwards."""
    model, metas = in_pytorch.load(sample), in_pytorch.read_metas(sample)
    given = in_pytorch.arguments(model, inputs_of(sample, model, seed))
    torch.manual_seed(seed)
    with torch.no_grad():
        returned = model(**given)
    return [*in_pytorch.flatten(returned, "output"), *((f"input {metas[n].original_name}", v) for n, v in given.items())]


def differ(sample: pathlib.Path, made: pathlib.Path, seed: int) -> str:
    try:
        expected = values_of(sample, seed)
    except Exception as error:  # Whatever the model raises is a result.
        return f"skipped: {in_pytorch.one_line(error)}"
    try:
        actual = values_of(made, seed)
    except Exception as error:
        return f"only what was made fails: {in_pytorch.one_line(error)}"
    if [label for label, _ in expected] != [label for label, _ in actual]:
        return "the results have different parts"
    for (label, x), (_, y) in zip(expected, actual):
        if what := in_pytorch.difference(x, y):
            return f"{label}: {what}"
    return ""


class Samples(OnSamples):
    """Runs GraphNet samples in eager PyTorch and by graphnet.

Both sides get the same inputs, by way of a safetensors file, the same seed and one thread. Outputs must
agree bit for bit, and so must what the graph writes to its inputs when it returns them. With --through-pt2
graphnet writes the sample as a program of torch.export, after --passes, and PyTorch runs that.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--through-pt2", action="store_true", help="graphnet writes, and PyTorch runs what it wrote")
        parser.add_argument("--passes", default="change-device{to=cpu}", help="before a .pt2 is written (default: %(default)s)")

    def run(self, run: Run) -> None:
        for sample in self.samples(run):
            run.tell(sample, self.check(run, sample))

    def check(self, run: Run, sample: pathlib.Path) -> str:
        args, given = run.args, run.scratch / "given.safetensors"
        given.unlink(missing_ok=True)
        expected = run.scratch / "expected.safetensors"

        def in_python() -> None:
            model = in_pytorch.load(sample)
            inputs = inputs_of(sample, model, args.seed)
            in_pytorch.write_safetensors(inputs, given)
            in_pytorch.write_safetensors(in_pytorch.outputs(in_pytorch.call(model, inputs, args.seed)), expected)

        _, failed = in_pytorch.in_process(in_python, seconds=args.timeout, memory=args.max_memory)
        if failed:
            return f"skipped: Python: {failed}"
        try:
            if args.through_pt2:
                run.graphnet("opt", sample, "--passes", args.passes, "-o", run.scratch / "written.pt2")
                program = torch.export.load(str(run.scratch / "written.pt2"))
                found = in_pytorch.call_exported(program, in_pytorch.read_safetensors(given), args.seed)
            else:
                found = run.outputs(sample, given, seed=args.seed, timeout=4 * args.timeout)
        except Failed as error:
            return str(error)
        return in_pytorch.compare(in_pytorch.read_safetensors(expected), found)


class Runnable(Suite):
    """Runs the Python that `graphnet show --runnable` writes, which needs the package safetensors, and
compares its results with those of `graphnet run`, bit for bit.
"""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("samples", nargs="+", type=pathlib.Path)

    def run(self, run: Run) -> None:
        program, found = run.scratch / "net.py", run.scratch / "python.safetensors"
        for sample in run.args.samples:
            try:
                run.graphnet("show", sample, "-o", program, "--runnable")
                done = subprocess.run([sys.executable, program, found], capture_output=True, text=True,
                                      env={**os.environ, "OMP_NUM_THREADS": "1"})
                if done.returncode != 0:
                    raise Failed((done.stderr.strip() or done.stdout.strip()).splitlines()[-1])
                run.tell(sample, in_pytorch.compare(run.outputs(sample, None), in_pytorch.read_safetensors(found)))
            except Failed as error:
                run.tell(sample, str(error))


class Pieces(OnSamples):
    """Decomposes GraphNet samples and runs the pieces in PyTorch.

PyTorch runs the sample's model.py and those of the pieces eagerly, one after the other, on the same inputs
and seed. A chain's pieces take by position what the one before returns, a DAG's take values by name.
"""

    max_bytes = 512 << 20

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--pieces", type=int, default=4, help="of each sample (default: %(default)s)")
        parser.add_argument("--style", choices=["chain", "dag"], default="dag")

    def run(self, run: Run) -> None:
        torch.set_grad_enabled(False)
        for sample in self.samples(run):
            run.tell(sample, self.check(run, sample))

    def check(self, run: Run, sample: pathlib.Path) -> str:
        try:
            expected = in_pytorch.outputs(in_pytorch.call(model := in_pytorch.load(sample), inputs_of(sample, model, run.args.seed),
                                                          run.args.seed))
        except Exception as error:  # Whatever the model raises is a reason to skip it.
            return f"skipped: {in_pytorch.one_line(error)}"
        with tempfile.TemporaryDirectory(dir=run.scratch) as folder:
            try:
                run.graphnet("decompose", sample, "-o", f"{folder}/pieces", "--pieces", run.args.pieces, "--style", run.args.style)
                return in_pytorch.compare(expected, in_pytorch.outputs(together(sample, pathlib.Path(folder) / "pieces", run.args.seed)))
            except Exception as error:
                return str(error) if isinstance(error, Failed) else in_pytorch.one_line(error)


def together(sample: pathlib.Path, folder: pathlib.Path, seed: int) -> Any:
    """What the pieces of a sample return, one after the other."""
    config = json.loads((folder / "decompose_config.json").read_text())
    # Drawn as the original says. Parameters of forward keep their names in every piece.
    original = in_pytorch.load(sample)
    inputs = in_pytorch.arguments(original, inputs_of(sample, original, seed))
    handed_on: Dict[str, Any] = {}
    models = [in_pytorch.load(folder / piece["name"]) for piece in config["subgraphs"]]
    torch.manual_seed(seed)
    returned: Any = None
    for i, (model, piece) in enumerate(zip(models, config["subgraphs"])):
        if i > 0 and config["chain_style"]:
            returned = model(*returned)
            continue
        returned = model(*[inputs[parameter] if parameter in inputs else handed_on[name]
                           for parameter, name in zip(in_pytorch.parameters(model), piece["inputs"])])
        if i + 1 < len(models) and not config["chain_style"]:
            handed_on.update(zip(piece["outputs"], returned))
    return returned


class PiecesAlone(OnSamples):
    """Decomposes GraphNet samples in several ways, and has graphnet run each piece by itself."""

    max_bytes, timeout = 512 << 20, 600
    WAYS = [["--pieces", "4", "--style", "chain"], ["--pieces", "6", "--style", "dag"],
            ["--balanced", "3", "--style", "dag"], ["--blocks", "--style", "dag"]]

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--format", default="graphnet", help="of the pieces")
        parser.add_argument("--more", default="", help="options of graphnet decompose")

    def run(self, run: Run) -> str:
        samples = list(self.samples(run))[: run.args.sample]
        pieces = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = {pool.submit(self.check, run, sample, way): (sample, way) for sample in samples for way in self.WAYS}
            for job in concurrent.futures.as_completed(jobs):
                sample, way = jobs[job]
                count, failed = job.result()
                pieces += count
                run.tell(f"{sample} {' '.join(way)}", "; ".join(failed))
        return f"{len(jobs)} decompositions of {len(samples)} samples, {pieces} pieces"

    def check(self, run: Run, sample: pathlib.Path, way: List[str]) -> Tuple[int, List[str]]:
        """How many pieces there are, and why one does not run."""
        with tempfile.TemporaryDirectory(dir=run.scratch) as folder:
            try:
                run.graphnet("decompose", sample, "-o", f"{folder}/pieces", "--format", run.args.format, *run.args.more.split(),
                             *way, timeout=run.args.timeout)
            except Failed as error:
                return 0, [] if "no repeated" in str(error) else [str(error)]
            try:
                done = subprocess.run([run.args.graphnet, "run", f"{folder}/pieces", "--threads", "1", "--json"],
                                      capture_output=True, text=True, timeout=run.args.timeout)
            except subprocess.TimeoutExpired:
                return 0, ["run: too slow"]
            if not done.stdout:
                return 0, [f"run: {done.stderr.strip()[:300]}"]
            found = json.loads(done.stdout)["samples"]
            return len(found), [f"{os.path.basename(one['path'])}: {one['error']['message']}" for one in found if "error" in one]


class Functional(OnSamples):
    """Runs samples before and after `functionalize`, which must not change what they return and what they
leave in their inputs. Says how many of them had a write.
"""

    max_bytes, timeout = 300 << 20, 60

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--only-rewritten", action="store_true", help="samples without a write are not run")

    def run(self, run: Run) -> str:
        rewritten = left = 0
        for sample in self.samples(run):
            with tempfile.TemporaryDirectory(dir=run.scratch) as folder:
                made = pathlib.Path(folder) / "made"
                try:
                    step = run.opt(sample, "functionalize", made)[-1]
                except Failed as error:
                    run.tell(sample, str(error))
                    continue
                if run.args.only_rewritten and not step["changed"]:
                    continue
                what = self.compare(run, sample, made)
            run.tell(sample, what)
            if not what.startswith("skipped"):
                rewritten += bool(step["changed"])
                left += bool(step["notes"])
        return f"{rewritten} of those compared were rewritten, {left} with something left as it is"


class Fused(OnSamples):
    """Takes samples in which `fuse` finds an operator, so that each operator has its turn.

PyTorch runs a sample as it is, and what `fuse` and `expand-fused` make of it, with the same bits; `graphnet
run` runs it with the fused calls and must yield what it yields without them. --count tells instead how many
samples have calls that make up each fused operator, and how many calls `fuse` makes of them.
"""

    sample, max_bytes, timeout = 40, 100 << 20, 60

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        super().arguments(parser)
        parser.add_argument("--count", action="store_true")

    def run(self, run: Run) -> str:
        if run.args.count:
            return self.count(run)
        turns: Counter[str] = collections.Counter()
        for sample in self.samples(run):
            with tempfile.TemporaryDirectory(dir=run.scratch) as name:
                folder = pathlib.Path(name)
                try:
                    notes = run.opt(sample, "fuse", folder / "fused.pb")[0]["notes"]
                    found = [note["what"].removeprefix("calls of fused.") for note in notes]
                    # One whose operators all had their turn more often than others may wait.
                    if not found or min(turns[one] for one in found) > run.args.sample // 4:
                        continue
                    run.opt(sample, "fuse,expand-fused", folder / "made")
                    what = self.compare(run, sample, folder / "made") or self.interpreted(run, sample, folder / "fused.pb")
                except Failed as error:
                    what = str(error)
            if not what.startswith("skipped"):
                turns.update(found)
            run.tell(sample, what)
        return "\n".join(f"{count:4} samples with {name}" for name, count in turns.most_common())

    def interpreted(self, run: Run, sample: pathlib.Path, fused: pathlib.Path) -> str:
        limit = 20 * run.args.timeout
        try:
            plain = run.outputs(sample, None, seed=run.args.seed, timeout=limit)
        except Failed as error:
            return f"skipped: it does not run without fused calls: {error}"
        return in_pytorch.compare(plain, run.outputs(fused, None, seed=run.args.seed, timeout=limit))

    def count(self, run: Run) -> str:
        samples: Counter[str] = collections.Counter()
        calls: Counter[str] = collections.Counter()
        paths = [str(sample) for sample in self.samples(run)]
        found = json.loads(run.graphnet("opt", *paths, "--passes", "fuse", "--json"))["samples"]
        for sample in found:
            run.tell(sample["path"], "")
            for note in (note for step in sample["passes"] for note in step["notes"]):
                if name := re.fullmatch(r"calls of fused\.(\w+)", note["what"]):
                    samples[name[1]] += 1
                    calls[name[1]] += note["count"]
        return "\n".join(["| operator | samples | calls |", "|---|---:|---:|",
                          *(f"| {name} | {samples[name]} | {count} |" for name, count in calls.most_common())])
