#!/usr/bin/env python3
"""Puts samples, their pieces and a harvest into one corpus, and checks its answers.

usage: check_corpus.py SAMPLES OUT [--every N,…] [--harvest SOURCE …] [--prelude FILE.py]
                       [--queries N] [--most N] [--whole N] [--scans N] [--near N]
                       [--no-exports] [--seed N] [--jobs N]

SAMPLES is a folder of GraphNet samples, and OUT a folder, in which what is there already is used
again: pieces/N, pieces of N operators as `graphnet decompose` makes them; harvest; corpus.
The Python that runs it has the wheel with its extra `corpus`, and torch. Three things are checked:

- Random queries about calls of the graphs. They are answered from the files, one after the other,
  by a matcher in this script, which has its own table of the meanings of calls. Each answer of the
  corpus must name the same files, and as many matches in each. Some of them are also asked of
  `graphnet find` over the files, and of the corpus with `scan`.
- Near duplicates of random graphs. The features of all graphs are made anew by this script, by the
  definition in docs/corpus.md, and the pairs are those of comparing each with each. The graphs that
  are similar to some of them are compared with all others, too.
- What is exported is what was added. Folders have the files that `graphnet convert` makes of the
  folders that were added, with the same bytes. Said is also how many of them have the bytes of the
  files that were added; `graphnet convert` writes the rest in its own way. Pieces
  have the bytes of the files that were added, when these are written again without the places in
  source files, which a corpus does not keep.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import hashlib
import inspect
import multiprocessing
import os
import pathlib
import random
import shutil
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

import numpy as np
import torch

import graphnet_ir
from graphnet_ir.corpus import Corpus
from graphnet_ir.corpus.near import near_pairs

TOOL = pathlib.Path(graphnet_ir.__file__).parent / "bin/graphnet"

# --- What a call does, by a table of its own ------------------------------------------------------

OPERATORS = {"truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "pos": "positive",
             "invert": "bitwise_not", "and": "bitwise_and", "or": "bitwise_or",
             "xor": "bitwise_xor", "lshift": "bitwise_left_shift",
             "rshift": "bitwise_right_shift"}
PLAIN = {"add", "sub", "mul", "matmul", "pow", "neg", "abs", "eq", "ne", "lt", "le", "gt", "ge"}
SECOND_NAMES = {"multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "div",
                "absolute": "abs", "negative": "neg", "clip": "clamp", "concat": "cat",
                "concatenate": "cat", "greater": "gt", "greater_equal": "ge", "less": "lt",
                "less_equal": "le", "not_equal": "ne", "swapaxes": "transpose",
                "swapdims": "transpose", "moveaxis": "movedim", "fix": "trunc"}


def meaning(op: str, target: str) -> Tuple[str, bool]:
    """Returns what a call does, and whether its first two operands are in the other order."""
    parts = target.split(".")
    if target.startswith("torch.ops.") and len(parts) == 5 or (
            parts[0] == "aten" and len(parts) == 3):
        parts.pop()
    name = parts[-1]
    if parts[0] in ("operator", "_operator") or (op == "call_method" and name.startswith("__")):
        name = name.strip("_")
        for begin, is_reflected in (("", False), ("i", False), ("r", True)):
            base = name[len(begin):]
            if name.startswith(begin) and (base in OPERATORS or base in PLAIN):
                return OPERATORS.get(base, base), is_reflected
        return name, False
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    if name == "rsub":
        return "sub", True
    return SECOND_NAMES.get(name, name), False


# --- What is known of a graph ---------------------------------------------------------------------

@dataclass
class Call:
    """A call: its operands are numbers of nodes, as Operand, or constants."""

    name: str
    is_method: bool
    target: str
    args: List[Any]
    kwargs: Dict[str, Any]

    def argument(self, place: int, name: str, default: Any) -> Any:
        if place < len(self.args):
            return self.args[place]
        return self.kwargs.get(name, default)


@dataclass(frozen=True)
class Operand:
    node: int


class Other:
    """Is a constant that no query of this script asks for."""


@dataclass
class Facts:
    """What the nodes of a sample are, with those of its bodies."""

    labels: List[Any]  # what each node is: its kind, or what it calls
    operands: List[List[int]]
    types: List[Optional[Tuple[str, Sequence[Any]]]]  # dtype and sizes of each value
    calls: Dict[int, Call]


def operands_of(value: Any) -> Iterator[Any]:
    if isinstance(value, graphnet_ir.Node):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from operands_of(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from operands_of(one)
    elif isinstance(value, slice):
        for one in (value.start, value.stop, value.step):
            yield from operands_of(one)


def plain(value: Any, numbers: Dict[str, int]) -> Any:
    if isinstance(value, graphnet_ir.Node):
        return Operand(numbers[value.name])
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(one, numbers) for one in value]
    return Other()


def facts_of(sample: graphnet_ir.Sample) -> Facts:
    made = Facts([], [], [], {})
    for graph in sample.module.graphs:
        numbers: Dict[str, int] = {}
        for node in graph.nodes:
            number = len(made.labels)
            numbers[node.name] = number
            args, kwargs, op = node.args, node.kwargs, node.op
            made.operands.append([numbers[one.name] for one in operands_of([args, kwargs])])
            meta = node.tensor_meta
            made.types.append(None if meta is None or meta.shape is None else
                              (str(meta.dtype), meta.shape))
            if op not in ("call_function", "call_method"):
                made.labels.append(("kind", op))
                continue
            name, is_reflected = meaning(op, str(node.target))
            made.labels.append(("calls", name))
            call = Call(name, op == "call_method", str(node.target),
                        [plain(one, numbers) for one in args],
                        {key: plain(value, numbers) for key, value in kwargs.items()})
            if is_reflected and len(call.args) > 1:
                call.args[:2] = call.args[1::-1]
            made.calls[number] = call
    return made


# --- Queries --------------------------------------------------------------------------------------

# Constants that are at the same place in every spelling of the call: place, and default.
PARAMETERS: Dict[str, Dict[str, Tuple[int, Any]]] = {
    "conv2d": {"stride": (3, 1), "padding": (4, 0), "dilation": (5, 1), "groups": (6, 1)},
    "conv1d": {"stride": (3, 1), "padding": (4, 0), "dilation": (5, 1), "groups": (6, 1)},
    "batch_norm": {"training": (5, None), "momentum": (6, None), "eps": (7, None)},
    "layer_norm": {"eps": (4, 1e-05)}, "group_norm": {"num_groups": (1, None)},
    "softmax": {"dim": (1, None)}, "transpose": {"dim0": (1, None), "dim1": (2, None)},
    "unsqueeze": {"dim": (1, None)}, "flatten": {"start_dim": (1, 0), "end_dim": (2, -1)},
    "cat": {"dim": (1, 0)}, "stack": {"dim": (1, 0)},
    "gelu": {"approximate": (1, "none")}, "leaky_relu": {"negative_slope": (1, 0.01)},
    "chunk": {"chunks": (1, None), "dim": (2, 0)},
}
DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "bool": "bool"}
Test = Callable[[Call, Facts], bool]


@dataclass
class Query:
    text: str
    kind: str
    names: Set[str]  # the calls that it is about
    test: Test


@functools.lru_cache(maxsize=None)
def names_at(call: str, place: int) -> Set[str]:
    """Returns the names that PyTorch has for a parameter of a call."""
    names = {schema.arguments[place].name
             for schema in torch._C._jit_get_schemas_for_operator(f"aten::{call}")
             if len(schema.arguments) > place}
    with contextlib.suppress(AttributeError, TypeError, ValueError):
        names.add(list(inspect.signature(getattr(torch.nn.functional, call)).parameters)[place])
    return names


def operand_at(call: Call, place: int) -> Optional[Operand]:
    """Returns an operand that is the value of a node, also if it is given by name."""
    if place < len(call.args):
        value = call.args[place]
    else:
        value = next((call.kwargs[name] for name in call.kwargs
                      if name in names_at(call.name, place)), None)
    return value if isinstance(value, Operand) else None


def name_at(call: Call, place: int, facts: Facts) -> Optional[str]:
    """Returns what the call does whose value another call takes."""
    operand = operand_at(call, place)
    known = None if operand is None else facts.calls.get(operand.node)
    return None if known is None else known.name


def chained(call: Call, facts: Facts) -> Optional[str]:
    """Returns what the call does whose value the call takes whose value this call takes."""
    operand = operand_at(call, 0)
    above = None if operand is None else facts.calls.get(operand.node)
    return None if above is None else name_at(above, 0, facts)


def compares(value: Any, sign: str, wanted: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(compares(one, sign, wanted) for one in value)
    if sign == "in":
        return any(compares(value, "=", one) for one in wanted)
    if isinstance(value, str) or isinstance(wanted, str):
        return sign == "=" and isinstance(value, str) and value == wanted
    if not isinstance(value, (bool, int, float)):
        return False
    return bool({"=": value == wanted, ">": value > wanted, "<": value < wanted,
                 ">=": value >= wanted, "<=": value <= wanted}[sign])


def condition(parameter: str, place: int, default: Any, sign: str, wanted: Any) -> Test:
    return lambda call, facts: compares(call.argument(place, parameter, default), sign, wanted)


def written(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def type_at(call: Call, place: int, facts: Facts) -> Optional[Tuple[str, Sequence[Any]]]:
    """Returns the dtype and the sizes of an operand."""
    operand = operand_at(call, place)
    return None if operand is None else facts.types[operand.node]


def type_test(place: int, dtype: str, sizes: Sequence[Optional[int]]) -> Test:
    def test(call: Call, facts: Facts) -> bool:
        known = type_at(call, place, facts)
        return known is not None and known[0] == dtype and len(known[1]) == len(sizes) and all(
            wanted is None or (type(size) is int and size == wanted)
            for size, wanted in zip(known[1], sizes))
    return test


def random_query(facts: Facts, draw: random.Random) -> Optional[Query]:
    """Returns a query that a call of a graph matches, or nearly so."""
    by_name: Dict[str, List[Call]] = {}
    for call in facts.calls.values():
        by_name.setdefault(call.name, []).append(call)
    if not by_name:
        return None
    # Rare calls count as much as frequent ones.
    name = draw.choice(sorted(by_name))
    call = draw.choice(by_name[name])
    if not name.isidentifier() or name.startswith("_"):
        return None
    kind = draw.choice(["name", "either", "neighbour", "neighbour", "second", "second", "second",
                        "chain", "constant", "constant", "type", "type", "in place", "in place"])
    other = draw.choice(sorted(by_name))
    if kind == "name":
        return Query(name, kind, {name}, lambda call, facts: True)
    if kind == "either" and other.isidentifier() and not other.startswith("_"):
        return Query(f"{name}|{other}", kind, {name, other}, lambda call, facts: True)
    if kind == "in place" and name in ("add", "sub", "mul", "div", "masked_fill", "clamp", "relu"):
        return Query(f"{name}_", kind, {name}, lambda call, facts: call.target.endswith("_") or (
            call.target.startswith("operator.i") and call.target[10:] in PLAIN | {"truediv"}))
    if kind in ("neighbour", "second", "chain"):
        place = 1 if kind == "second" else 0
        inner = name_at(call, place, facts)
        if inner is None or not inner.isidentifier() or inner.startswith("_"):
            return None
        if kind != "chain":
            before = "?, " if place else ""
            return Query(f"{name}({before}{inner}())", kind, {name},
                         lambda call, facts: name_at(call, place, facts) == inner)
        below = chained(call, facts)
        if below is None or not below.isidentifier() or below.startswith("_"):
            return None
        return Query(f"{name}({inner}({below}()))", kind, {name}, lambda call, facts: (
            name_at(call, 0, facts) == inner and chained(call, facts) == below))
    if kind == "constant":
        known = [one for one in sorted(by_name) if one in PARAMETERS]
        if not known:
            return None
        name = draw.choice(known)
        call = draw.choice(by_name[name])
        parameter = draw.choice(sorted(PARAMETERS[name]))
        place, default = PARAMETERS[name][parameter]
        value = call.argument(place, parameter, default)
        if isinstance(value, list):
            value = value[0] if value and all(one == value[0] for one in value) else None
        if not isinstance(value, (bool, int, float, str)):
            return None
        if isinstance(value, (bool, str)):
            sign = "="
        else:
            sign = draw.choice(["=", "=", "=", ">", "<", ">=", "<=", "in"])
        if sign == "in":
            wanted: Any = sorted({value, value + draw.choice([-1, 1, 2])})
            text = f"{parameter} in [{', '.join(map(written, wanted))}]"
        else:
            wanted = value
            if sign in (">", "<") and draw.random() < 0.5:
                wanted = value - 1 if sign == ">" else value + 1
            text = f"{parameter}{sign}{written(wanted)}"
        return Query(f"{name}({text})", kind, {name},
                     condition(parameter, place, default, sign, wanted))
    if kind == "type":
        place = draw.randrange(2)
        known_type = type_at(call, place, facts)
        if known_type is None or known_type[0] not in DTYPES or not known_type[1]:
            return None
        sizes = [size if type(size) is int and draw.random() < 0.3 else None
                 for size in known_type[1]]
        shape = ", ".join("*" if size is None else str(size) for size in sizes)
        return Query(f"{name}({'?, ' * place}%: {DTYPES[known_type[0]]}[{shape}])", kind, {name},
                     type_test(place, known_type[0], sizes))
    return None


# --- Features -------------------------------------------------------------------------------------

DEPTH, OCCURRENCES = 3, 8


@functools.lru_cache(maxsize=None)
def number_of(label: Tuple[str, str]) -> int:
    return int.from_bytes(hashlib.blake2b(repr(label).encode(), digest_size=7).digest(), "big")


def features_of(facts: Facts) -> Set[int]:
    """Makes the features of a graph: labels of depth 0 to 3 with their occurrences, up to 8. Each
    is a number of 64 bits, the hash of a tuple of numbers."""
    counts: collections.Counter[Tuple[int, int]] = collections.Counter()
    labels: List[List[int]] = []  # for each node, its label of each depth
    for own, operands in zip(facts.labels, facts.operands):
        made = [number_of(own)]
        for depth in range(1, DEPTH + 1):
            below = tuple(labels[one][depth - 1] for one in operands)
            made.append(hash((made[0], below)) if below else made[0])
        labels.append(made)
        for depth, label in enumerate(made):
            if depth > 0 and label == made[depth - 1]:
                break
            counts[depth, label] += 1
    return {hash((depth, label, time)) for (depth, label), count in counts.items()
            for time in range(min(count, OCCURRENCES))}


# --- The corpus -----------------------------------------------------------------------------------

def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, words))[:300]}\n{done.stderr[-2000:]}")
    return done.stdout


def prepare(samples: pathlib.Path, out: pathlib.Path,
            args: argparse.Namespace) -> List[pathlib.Path]:
    """Makes what is not there yet. Returns the folders of which the corpus is made."""
    made = [samples]
    for number, size in enumerate(args.every.split(",")):
        place = out / "pieces" / size
        if not place.exists():
            # Only the first ones state what is inferred of their values, which takes long.
            run(TOOL, "decompose", samples, "--every", size, "--to", "protobuf", "-o", place,
                "--ports", "none" if number else "shapes")
    made.append(out / "pieces")
    if args.harvest and not (out / "harvest").exists():
        run(sys.executable, "-P", "-m", "graphnet_ir.harvest", *args.harvest, "-o",
            out / "harvest", *(["--prelude", args.prelude] if args.prelude else []))
    if (out / "harvest").exists():
        made.append(out / "harvest/samples")
    return made


def find_files(folders: Sequence[pathlib.Path]) -> Dict[str, str]:
    """Returns the file of each occurrence, by its path in the corpus."""
    return {os.path.relpath(path, folder): path
            for folder in folders for path in graphnet_ir.find_samples([folder])}


class Report:
    def __init__(self) -> None:
        self.wrong = 0
        self.begun = self.now()

    @staticmethod
    def now() -> float:
        """Returns the processor time of this process and of those that it waited for."""
        return sum(os.times()[:4])

    def fault(self, text: str) -> None:
        self.wrong += 1
        if self.wrong <= 30:
            print(f"WRONG: {text}", flush=True)

    def say(self, text: str) -> None:
        print(f"{text} ({self.now() - self.begun:.0f} s of processor time until here)",
              flush=True)


@dataclass
class Truth:
    """What the files say, without the corpus."""

    queries: Dict[str, Query]
    matches: Dict[str, Dict[str, int]]  # of each query: the files, and how many matches each has
    graphs: Dict[str, Tuple[Set[int], Set[str]]]  # features and calls of each graph


_asked: Dict[str, List[Query]] = {}


def match_file(item: Tuple[str, str]) -> Tuple[str, str, Dict[str, int], Set[int], Set[str]]:
    """Matches all queries in a file."""
    path, file = item
    sample = graphnet_ir.load(file)
    facts = facts_of(sample)
    matches: collections.Counter[str] = collections.Counter()
    for call in facts.calls.values():
        for query in _asked.get(call.name, ()):
            if query.test(call, facts):
                matches[query.text] += 1
    return (path, graphnet_ir.canonical_hash(sample, metas=True), dict(matches), features_of(facts),
            {call.name for call in facts.calls.values()})


def truth_of(files: Dict[str, str], args: argparse.Namespace) -> Truth:
    draw = random.Random(args.seed)
    paths = sorted(files)
    made = Truth({}, {}, {})
    wanted = 3 * args.queries if args.most else args.queries
    for _ in range(100 * wanted):
        if len(made.queries) == wanted:
            break
        query = random_query(facts_of(graphnet_ir.load(files[draw.choice(paths)])), draw)
        if query is not None and query.text not in made.queries:
            made.queries[query.text] = query
            made.matches[query.text] = {}
            for name in query.names:
                _asked.setdefault(name, []).append(query)
    # The engine of a corpus does not outlive a fork, and is not in use yet. It warns nevertheless.
    warnings.filterwarnings("ignore", "lance is not fork-safe")
    with multiprocessing.get_context("fork").Pool(args.jobs) as pool:
        for path, hash, matches, features, names in pool.imap_unordered(
                match_file, [(path, files[path]) for path in paths], chunksize=100):
            for text, count in matches.items():
                made.matches[text][path] = count
            made.graphs.setdefault(hash, (features, names))
    kept = [text for number, text in enumerate(made.queries)
            if not args.most or number < 20 or len(made.matches[text]) <= args.most]
    made.queries = {text: made.queries[text] for text in kept[:args.queries]}
    return made


def check_queries(corpus: Corpus, truth: Truth, files: Dict[str, str],
                  whole: Sequence[pathlib.Path], everywhere: Sequence[pathlib.Path],
                  args: argparse.Namespace, report: Report) -> None:
    queries, true = truth.queries, truth.matches
    if set(corpus) != set(truth.graphs):
        report.fault(f"the corpus has {len(corpus)} graphs, the files {len(truth.graphs)}")
    for row in corpus.graphs.dataset.to_table(columns=["hash", "targets"]).to_pylist():
        if set(row["targets"]) != truth.graphs[row["hash"].hex()][1]:
            report.fault(f"{row['hash'].hex()} calls {row['targets']}")

    kinds: collections.Counter[str] = collections.Counter()
    candidates = found = with_match = without_terms = 0
    for text, query in queries.items():
        hits = corpus.find(text)
        there = list(hits)
        answer = {name: hit.matches for hit in there for name in hit.names}
        if answer != true[text]:
            missing = sorted(set(true[text]) - set(answer))
            extra = sorted(set(answer) - set(true[text]))
            report.fault(f"{text}: the corpus lacks {len(missing)} {missing[:2]}, has besides "
                         f"{len(extra)} {extra[:2]}, or has other numbers of matches")
        kinds[query.kind] += 1
        candidates += hits.candidates()
        found += len(there)
        with_match += bool(answer)
        without_terms += not hits.terms
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    report.say(f"{len(queries)} queries ({told}): {with_match} have a match, {without_terms} have "
               f"no term; {found} graphs match of {candidates} candidates")

    # Some queries are also asked of graphnet, over the files, and of the corpus without its index.
    texts = list(queries)
    random.Random(args.seed).shuffle(texts)
    in_whole = set(find_files(whole))
    for text in texts[:args.whole]:
        said = set(run(TOOL, "find", text, "-l", *whole).splitlines())
        if said != {files[path] for path in true[text] if path in in_whole}:
            report.fault(f"{text}: graphnet find has {len(said)} of the whole samples")
    for text in texts[:args.scans]:
        said = set(run(TOOL, "find", text, "-l", *everywhere).splitlines())
        if said != {files[path] for path in true[text]}:
            report.fault(f"{text}: graphnet find has {len(said)} of all files")
        indexed = list(corpus.find(text).hashes())
        if list(corpus.find(text, scan=True).hashes()) != indexed:
            report.fault(f"{text}: a scan of the corpus has another answer")
    report.say(f"{args.whole} queries asked of graphnet find over {len(in_whole)} samples, and "
               f"{args.scans} over all files and by a scan")


def check_near(corpus: Corpus, truth: Truth, args: argparse.Namespace, report: Report) -> None:
    graphs = truth.graphs
    for row in corpus.graphs.dataset.to_table(columns=["hash", "features"]).to_pylist():
        if len(graphs[row["hash"].hex()][0]) != row["features"]:
            report.fault(f"{row['hash'].hex()} has {row['features']} features")
    hashes = sorted(graphs)
    posted: Dict[int, List[int]] = {}
    sizes = np.array([len(graphs[hash][0]) for hash in hashes])
    for place, hash in enumerate(hashes):
        for feature in graphs[hash][0]:
            posted.setdefault(feature, []).append(place)
    arrays = {feature: np.array(places) for feature, places in posted.items()}

    def jaccards(place: int) -> Any:
        """Returns the similarity of a graph to each: what both have is counted for each other."""
        both = np.zeros(len(hashes), np.int64)
        for feature in graphs[hashes[place]][0]:
            both[arrays[feature]] += 1
        either = sizes + sizes[place] - both
        return np.where(either > 0, both / np.maximum(either, 1), 0.0)

    draw = random.Random(args.seed)
    chosen = sorted(draw.sample(range(len(hashes)), min(args.near, len(hashes))))
    inside = np.zeros(len(hashes), bool)
    inside[chosen] = True
    asked = set(draw.sample(chosen, min(50, len(chosen))))
    true: Dict[float, Dict[Tuple[str, str], float]] = {0.9: {}, 0.8: {}}
    similar = 0
    for place in chosen:
        values = jaccards(place)
        for at, pairs in true.items():
            for other in np.flatnonzero((values >= at) & inside):
                if other < place:
                    pairs[hashes[other], hashes[place]] = float(values[other])
        if place in asked:
            said = dict(corpus.similar(corpus[hashes[place]], 0.9))
            wanted = {hashes[other]: values[other] for other in np.flatnonzero(values >= 0.9)}
            similar += len(wanted)
            if said.keys() != wanted.keys() or any(
                    abs(said[hash] - wanted[hash]) > 1e-12 for hash in said):
                report.fault(f"{hashes[place]}: {len(said)} graphs are similar, not {len(wanted)}")
    wanted_hashes = {hashes[place] for place in chosen}
    counts = []
    for at, pairs in true.items():
        made = {tuple(sorted((a.hex(), b.hex()))): value for a, b, value in near_pairs(corpus, at)
                if a.hex() in wanted_hashes and b.hex() in wanted_hashes}
        if made.keys() != pairs.keys():
            report.fault(f"{len(made)} pairs of {len(pairs)} at {at}: "
                         f"{sorted(made.keys() ^ pairs.keys())[:2]}")
        for pair in made.keys() & pairs.keys():
            if abs(made[pair] - pairs[pair]) > 1e-12:  # type: ignore[index]
                report.fault(f"{pair} has the similarity {made[pair]}")
        counts.append(f"{len(pairs)} pairs of at least {at}")
    report.say(f"{len(chosen)} graphs, each compared with each, have {' and '.join(counts)}; "
               f"{len(asked)} of them have {similar} similar ones among {len(hashes)}")


def bytes_without_places(path: str) -> bytes:
    sample = graphnet_ir.load(path)
    for graph in sample.module.graphs:
        for node in graph.nodes:
            node.location = None
    return graphnet_ir.to_bytes(sample)


def check_exports(corpus: Corpus, samples: pathlib.Path, folders: Sequence[pathlib.Path],
                  out: pathlib.Path, report: Report) -> None:
    for name in ("exported", "files", "converted"):
        shutil.rmtree(out / name, ignore_errors=True)
    # The folders: all occurrences of the graphs that whole samples are.
    run(TOOL, "convert", samples, "-o", out / "converted", "--to", "graphnet")
    paths = set(find_files([samples]))
    wanted = [row["hash"].hex() for row in corpus.sources.dataset.to_table(
        columns=["hash", "path"]).to_pylist() if row["path"] in paths]
    corpus.export(out / "exported", graphs=sorted(set(wanted)))
    same = others = 0
    for path in sorted(paths):
        names = sorted(one.name for one in (samples / path).iterdir())
        if not (out / "exported" / path).is_dir() or names != sorted(
                one.name for one in (out / "exported" / path).iterdir()):
            report.fault(f"{path} was exported with other files")
            continue
        for name in names:
            added, back = samples / path / name, out / "exported" / path / name
            if back.read_bytes() != (out / "converted" / path / name).read_bytes():
                report.fault(f"{back} has other bytes than graphnet convert writes")
            if added.read_bytes() == back.read_bytes():
                same += 1
            else:
                others += 1
    report.say(f"{len(paths)} folders came back: {same} files have the same bytes, and {others} are as "
               "graphnet convert writes them")
    shutil.rmtree(out / "exported")
    shutil.rmtree(out / "converted")

    # The pieces, and all else, as protobuf files.
    corpus.export(out / "files", "protobuf")
    exact = 0
    for path, file in find_files(folders).items():
        back = out / "files" / (path if path.endswith(".pb") else path + ".pb")
        if not file.endswith(".pb"):
            continue
        if back.exists() and back.read_bytes() == bytes_without_places(file):
            exact += 1
        else:
            report.fault(f"{back} is not {file}")
    count = len(graphnet_ir.find_samples([out / "files"]))
    if count != len(corpus.sources):
        report.fault(f"{count} files were exported of {len(corpus.sources)} occurrences")
    report.say(f"{exact} files of protobuf came back with the same bytes, of {count} samples")
    shutil.rmtree(out / "files")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("samples", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--every", default="64,48,32,24", help="sizes of pieces, in operators")
    parser.add_argument("--harvest", nargs="*", default=[], help="sources of graphnet harvest")
    parser.add_argument("--prelude", help="for graphnet harvest")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--most", type=int, default=0,
                        help="leave out queries that more files match, but for the first 20")
    parser.add_argument("--whole", type=int, default=60,
                        help="queries that are asked of graphnet find over whole samples")
    parser.add_argument("--scans", type=int, default=10, help="queries that are asked of all files")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--near", type=int, default=5000, help="graphs that are compared")
    parser.add_argument("--no-exports", action="store_true", help="check answers only")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    report = Report()
    folders = prepare(args.samples, args.out, args)
    files = find_files(folders)
    if args.queries or args.near:
        truth = truth_of(files, args)
        report.say(f"{len(files)} files were matched with queries, without the corpus")
    if (args.out / "corpus").exists():
        corpus = Corpus(args.out / "corpus", "a")
    else:
        corpus = Corpus.create(args.out / "corpus")
        for folder in folders:
            added = corpus.add(folder)
            if added.refused:
                report.fault(f"{added.refused[0]} and others of {folder} are refused")
            report.say(f"{folder}: {added}")
        corpus.compact()
        corpus = Corpus(args.out / "corpus", "a")
    report.say(f"{len(files)} samples, {len(corpus)} graphs, {len(corpus.sources)} occurrences")
    if args.queries:
        whole = [folder for folder in folders if folder.name != "pieces"]
        check_queries(corpus, truth, files, whole, folders, args, report)
    if args.near:
        check_near(corpus, truth, args, report)
    if not args.no_exports:
        check_exports(corpus, args.samples, folders, args.out, report)
        for finding in corpus.verify():
            report.fault(str(finding))
    print(f"{report.wrong} wrong")
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
