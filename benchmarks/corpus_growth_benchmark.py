#!/usr/bin/env python3
"""Measures how a corpus grows: adding, size, queries, opening and memory, from 1,000 rows upwards.

    PY benchmarks/corpus_growth_benchmark.py CORPUS SAMPLES OUT [--rows N] [--minutes N]

PY has the wheel with its extra `corpus`. CORPUS has real graphs, and OUT is a new folder. The rows
that are added are those that C++ makes of these graphs. When all are in, they come again as other
graphs, with another hash and shape hash. Their bytes and words are the same, so each query finds so
many times as many graphs. All that Corpus.add does behind C++ is done for them. At 10^3, 3·10^3, …
rows, a process of its own asks the corpus. All times are processor time, with all threads; those of
queries are the least of 7.

The baselines are a Python loop that makes rows of each eighth folder below SAMPLES, and grep and a
Python loop that look for a call in them. Exits with 1 if a goal is missed at the largest size.
"""
import argparse
import ast
import hashlib
import itertools
import json
import math
import os
import pathlib
import random
import resource
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
from graphnet_ir import _core
from graphnet_ir.corpus import Corpus
from graphnet_ir.corpus.adding import ROWS_A_CALL, Addition, Rows
from graphnet_ir.corpus.origins import Origin

QUERIES = ["softmax(matmul(?, ?))", "conv2d(groups=384)", "relu(conv2d())"]
TRIES = 7
FIRST = 20  # answers that `first` waits for
GOALS = {"find ms": 20, "count ms": 5, "MiB to ask": 1024, "MiB to add": 1024}


def seconds(work):
    """Returns the least processor seconds of some tries, and the result."""
    times = []
    for _ in range(TRIES):
        begin = time.process_time()
        result = work()
        times.append(time.process_time() - begin)
    return min(times), result


def peak():
    """Returns the largest MiB that this process has had."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def ask(path):
    """Measures one corpus, in a process of its own. Prints JSON."""
    begin = time.process_time()
    corpus = Corpus(path)
    len(corpus)
    told = {"open ms": (time.process_time() - begin) * 1e3}
    rare = rare_word(corpus)
    for query in [rare, *QUERIES]:
        name = "rare" if query == rare else query
        told[f"find {name}"], found = seconds(lambda query=query: len(list(corpus.find(query))))
        told[f"hits {name}"] = found
        told[f"first {name}"] = seconds(
            lambda query=query: list(itertools.islice(corpus.find(query), FIRST)))[0]
        told[f"count {name}"], counted = seconds(lambda query=query: corpus.find(query).candidates())
        assert counted >= found
    hashes = corpus.graphs.dataset.sample(20, columns=["hash"]).column("hash").to_pylist()
    told["get"] = seconds(lambda: [_core.load_bytes(corpus.graphs.where(
        ["blob"], "hash", [one]).column("blob")[0].as_py()) for one in hashes])[0] / len(hashes)
    told["MiB to ask"] = peak()
    print(json.dumps(told))


def rare_word(corpus):
    """Returns the call that the fewest of the first 1,000 graphs have."""
    counts = {}
    for row in corpus.graphs.dataset.head(1000, columns=["targets"]).column("targets").to_pylist():
        for name in row:
            counts[name] = counts.get(name, 0) + 1
    return min((count, name) for name, count in counts.items() if name.isidentifier())[1]


def copied(table, draw):
    """Returns rows as those of other graphs."""
    for column in ("hash", "shape_hash"):
        place = table.column_names.index(column)
        salt = draw.randbytes(8)
        table = table.set_column(place, column, pa.array(
            [hashlib.sha256(one + salt).digest() for one in table.column(column).to_pylist()],
            table.schema.field(column).type))
    return table


def write_base(corpus, path):
    """Writes the rows of all graphs, as C++ makes them, to a file. Returns rows and seconds."""
    begin, count, writer = time.process_time(), 0, None
    for batch in corpus.graphs.rows(["blob"], batch=ROWS_A_CALL):
        blobs = [one.as_py() for one in batch.column("blob")]
        table = pa.Table.from_struct_array(pa.array(_core._corpus_rows(blobs)))
        writer = writer or pa.ipc.new_file(path, table.schema)
        writer.write_table(table.combine_chunks())
        count += table.num_rows
    writer.close()
    return count, time.process_time() - begin


def grow(path, base, marks, minutes):
    """Adds rows, in a process of its own, and prints JSON at each mark. Waits for a line then."""
    corpus, draw = Corpus.create(path), random.Random(0)
    begun, added, turn = time.monotonic(), 0, 0
    for mark, before in zip(marks, [0, *marks]):
        made_apart = 0.0
        begin = time.process_time()
        work = Addition(corpus, Origin(), None, True)
        while added < mark:
            with pa.OSFile(base) as file:  # Not mapped, so that it does not count as memory.
                reader = pa.ipc.open_file(file)
                for number in range(turn % reader.num_record_batches, reader.num_record_batches):
                    start = time.process_time()
                    table = pa.Table.from_batches([reader.get_batch(number)]).slice(0, mark - added)
                    if turn >= reader.num_record_batches:
                        table = copied(table, draw)
                    turn += 1
                    made_apart += time.process_time() - start
                    work.take(Rows(table, lambda places: iter(())))
                    added += table.num_rows
                    if added >= mark or time.monotonic() - begun > 60 * minutes:
                        break
            if time.monotonic() - begun > 60 * minutes:
                break
        work.finish()
        spent = time.process_time() - begin - made_apart
        rate = (added - before) / spent
        begin = time.process_time()
        corpus.compact()
        print(json.dumps({"rows": added, "add rows/s": rate,
                          "compact s": time.process_time() - begin, "MiB to add": peak()}),
              flush=True)
        sys.stdin.readline()
        if added < mark:
            return


def size_of(folder):
    return sum(path.stat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file())


def newest_size(path, corpus):
    """Returns the bytes of the data files and indexes of the newest version of graphs.lance."""
    dataset = corpus.graphs.dataset
    data = sum(os.path.getsize(os.path.join(path, "graphs.lance/data", file.path))
               for fragment in dataset.get_fragments() for file in fragment.data_files())
    indexes = sum(size_of(os.path.join(path, "graphs.lance/_indices", uuid))
                  for uuid in {segment.uuid for index in dataset.describe_indices()
                               for segment in index.segments})
    return data, indexes


def fitted(sizes, values):
    """Returns the power of the number of rows by which a value grows, from 10^4 rows."""
    pairs = [(math.log(size), math.log(value)) for size, value in zip(sizes, values)
             if size >= 10**4 and value > 0]
    return float(np.polyfit(*zip(*pairs), 1)[0]) if len(pairs) > 2 else math.nan


def call_names(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            yield (function.attr if isinstance(function, ast.Attribute) else
                   getattr(function, "id", "")), node


def baselines(folders):
    """Yields a line for each baseline, and for graphnet beside it."""
    begin = time.process_time()
    for folder in folders:
        text = (folder / "model.py").read_text()
        counts, last = {}, None
        for name, _ in call_names(ast.parse(text)):
            counts[name] = counts.get(name, 0) + 1
        last = hashlib.sha256(text.encode()).hexdigest(), counts, \
            (folder / "graph_net.json").read_text()
    python = time.process_time() - begin
    assert last is not None
    begin = time.process_time()
    _core._corpus_rows_of_paths([str(folder) for folder in folders], 1)
    ours = time.process_time() - begin
    yield f"rows of {len(folders)} folders, a Python loop: hash of the text, calls and counts", python
    yield f"rows of {len(folders)} folders, graphnet", ours

    begin = time.process_time()
    hits = 0
    for folder in folders:
        tree = ast.parse((folder / "model.py").read_text())
        hits += any(name == "conv2d" and len(node.args) > 6 and
                    isinstance(node.args[6], ast.Constant) and node.args[6].value == 384
                    for name, node in call_names(tree))
    yield f"conv2d(groups=384) in {len(folders)} folders, a Python loop: {hits} found", \
        time.process_time() - begin
    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = subprocess.run(["grep", "-l", "softmax(", *(folder / "model.py" for folder in folders)],
                          stdout=subprocess.PIPE, text=True).stdout
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    yield f"softmax in {len(folders)} folders, grep, as text: {len(said.splitlines())} found", \
        end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("samples")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--stride", type=int, default=8, help="take each so many-th folder of SAMPLES")
    parser.add_argument("--minutes", type=float, default=60, help="end growing after these")
    parser.add_argument("--work", choices=["ask", "grow"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    path, base = str(args.out / "corpus"), str(args.out / "base.arrow")
    marks = sorted({*(10**power * times for power in range(3, 7) for times in (1, 3)
                      if 10**power * times < args.rows), args.rows})
    if args.work == "ask":
        return ask(path)
    if args.work == "grow":
        return grow(path, base, marks, args.minutes)
    args.out.mkdir(parents=True)
    folders = sorted(path.parent for path in pathlib.Path(args.samples).rglob("model.py"))
    folders = folders[::args.stride]
    for name, value in baselines(folders):
        print(f"{value:9.4f} s  {name}", flush=True)
    small = Corpus.create(args.out / "small")
    small.add(list(map(str, folders)))
    for query in ("conv2d(groups=384)", "softmax"):
        taken, found = seconds(lambda query=query: len(list(small.find(query))))
        print(f"{taken:9.4f} s  {query}, in a corpus of them: {found} found", flush=True)
    count, taken = write_base(Corpus(args.corpus), base)
    print(f"{count} rows made at {count / taken:.0f} a second of processor time", flush=True)

    words = [sys.executable, __file__, args.corpus, args.samples, str(args.out), "--rows",
             str(args.rows), "--minutes", str(args.minutes)]
    growing = subprocess.Popen([*words, "--work", "grow"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    told = []
    for line in growing.stdout:
        row = json.loads(line)
        row.update(json.loads(subprocess.run([*words, "--work", "ask"], stdout=subprocess.PIPE,
                                             check=True).stdout))
        data, indexes = newest_size(path, Corpus(path))
        row.update({"data bytes a row": data / row["rows"], "index bytes a row": indexes / row["rows"]})
        told.append(row)
        print(json.dumps({name: round(value, 5) for name, value in row.items()}), flush=True)
        growing.stdin.write("\n")
        growing.stdin.flush()
    if growing.wait() != 0:
        return 2
    sizes = [row["rows"] for row in told]
    for name in told[0]:
        if name != "rows" and not name.startswith("hits"):
            power = fitted(sizes, [row[name] for row in told])
            print(f"{name}: {told[-1][name]:.4g} at {sizes[-1]} rows, grows as rows^{power:.2f}")
    last = {**told[-1], "find ms": told[-1]["find rare"] * 1e3,
            "count ms": max(told[-1][f"count {name}"] for name in ("rare", *QUERIES)) * 1e3}
    missed = [f"{name} is {last[name]:.1f}, wanted at most {goal}" for name, goal in GOALS.items()
              if last[name] > goal]
    print("\n".join(missed) or f"a rare find, counts and memory reach their goals at {sizes[-1]} rows")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
