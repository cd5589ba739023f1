"""Coverage, buckets, draws and splits, beside brute force that is written apart."""

import collections
import csv
import io
import itertools
import json
import random
import re
import unittest
from typing import Any, Dict, List, Set, Tuple

import pyarrow as pa
import torch
from torch.utils import flop_counter

import graphnet_ir
from corpus_case import CorpusTest, command, text
from graphnet_ir import _core
from graphnet_ir.corpus import Corpus, covering

# Spellings of calls that return a value like their first operand, with their meaning and whether
# they take another value.
CALLS = [("torch.relu(%{a})", "relu", False), (".relu(%{a})", "relu", False),
         ("torch.add(%{a}, %{b})", "add", True), ("operator.add(%{a}, %{b})", "add", True),
         ("aten.mul_.Tensor(%{a}, %{b})", "mul", True), ("torch.softmax(%{a}, 0)", "softmax", False),
         ("torch.matmul(%{a}, %{b})", "matmul", True), ("my.own_call(%{a})", "own_call", False)]


def typed(draw: random.Random) -> Tuple[graphnet_ir.Sample, Set[Any], Set[Any]]:
    """A random graph, its calls, each with dtype and rank, and its flows. Some calls do not state
    these: relu then has those of its operand, and nothing is known of own_call."""
    lines, calls, flows = [], set(), set()
    values: List[Tuple[str, Any]] = [("x", (None, "float32", 2)), ("y", (None, "float32", 2))]
    for index in range(draw.randrange(1, 9)):
        (a, of_a), (b, of_b) = draw.choice(values), draw.choice(values)
        form, meaning, takes_b = draw.choice(CALLS)
        short, dtype = draw.choice([("f32", "float32"), ("f16", "float16"), ("i64", "int64")])
        rank = draw.choice([0, 1, 2, 4])
        kind = (meaning, dtype, rank)
        note = f" : {short}[{', '.join('2' * rank)}]"
        if meaning in ("relu", "own_call") and draw.random() < 0.4:
            kind, note = (meaning, *(of_a[1:] if meaning == "relu" else (None, None))), ""
        lines.append(f"  %v{index} = {form.format(a=a, b=b)}{note}\n")
        calls.add(kind)
        flows.update((*of, meaning) for of in [of_a, *([of_b] if takes_b else [])] if of[0])
        values.append((f"v{index}", kind))
    returned = ", ".join(f"%{name}" for name, _ in values)
    return graphnet_ir.parse(f"graph @forward(%x : f32[2, 2], %y : f32[2, 2]) {{\n{''.join(lines)}"
                             f"  return ({returned},)\n}}\n"), calls, flows


def found(rows: List[Dict[str, Any]], column: str) -> Dict[Any, int]:
    parts = ["value"] if column not in covering.KINDS else ["value", "dtype", "rank"] + (
        ["user"] if column == "flows" else [])
    return {tuple(row[part] for part in parts): row["graphs"]
            for row in rows if row["column"] == column}


class CoverageTest(CorpusTest):

    def typed(self, count: int) -> Tuple[Corpus, Dict[str, Set[Any]], Dict[str, Set[Any]]]:
        """A corpus with its calls and flows by hash; the same samples are in the folder `typed`."""
        draw = random.Random(3)
        corpus = Corpus.create(self.path)
        samples, calls, flows = {}, {}, {}
        for _ in range(count):
            one, own_calls, own_flows = typed(draw)
            hash = graphnet_ir.canonical_hash(one, metas=True)
            samples[hash], calls[hash], flows[hash] = one, own_calls, own_flows
        (self.folder / "typed").mkdir()
        for hash, one in samples.items():
            one.save(self.folder / "typed" / f"{hash}.pb")
        corpus.add(samples.values())
        return corpus, calls, flows

    def test_calls_and_flows_are_those_of_the_graphs(self) -> None:
        corpus, calls, flows = self.typed(80)
        expected = {column: collections.Counter(item for of in sets.values() for item in of)
                    for column, sets in (("calls", calls), ("flows", flows))}
        rows = corpus.coverage(["calls", "flows"])
        for column in ("calls", "flows"):
            self.assertEqual(found(rows, column), expected[column])
        kinds = corpus.coverage(["calls"])
        self.assertGreater(len(kinds), 50)
        for row in kinds:
            of = {hash for hash, own in calls.items()
                  if (row["value"], row["dtype"], row["rank"]) in own}
            hits = corpus.find(kind=covering.kind(row))
            self.assertEqual({hit.hash for hit in hits}, of)
            if row["dtype"] is not None:  # A query of types finds what the graph states.
                short = {"float32": "f32", "float16": "f16", "int64": "i64"}[row["dtype"]]
                query = f"{row['value']}(): {short}[{', '.join('*' * row['rank'])}]"
                stated = {hit.hash for hit in corpus.find(query)}
                self.assertLessEqual(stated, of)
                self.assertTrue(stated == of or row["value"] == "relu", query)
                self.assertEqual(corpus.count(query, kind=covering.kind(row)), len(stated))
        row = kinds[0]
        self.assertEqual(command("find", self.path, "--kind", covering.kind(row), "--count")[1],
                         f"{row['graphs']}\n")
        code, _, errors = command("find", self.path, "--kind", "relu")
        self.assertEqual(code, 2)
        self.assertIn("a kind of call is an operator, a dtype and a rank", errors)
        # Folders, paths and samples give the same.
        folder = self.folder / "typed"
        for graphs in (folder, [folder], sorted(folder.iterdir()), graphnet_ir.load_samples(folder)):
            self.assertEqual(graphnet_ir.coverage(graphs, ["calls", "flows"]), rows)
        self.assertEqual(graphnet_ir.coverage(folder), corpus.coverage())

    def test_the_smallest_subset_of_a_corpus_and_of_a_folder(self) -> None:
        corpus, calls, flows = self.typed(40)
        all_calls = set().union(*calls.values())
        for graphs in (corpus, self.folder / "typed"):
            made = graphnet_ir.smallest(graphs, ["calls"])
            chosen = [re.findall("[0-9a-f]{64}", key)[0] for key in made.chosen]
            self.assertEqual(set().union(*(calls[hash] for hash in chosen)), all_calls)
            self.assertEqual((made.items, made.graphs), (len(all_calls), len(calls)))
            self.assertTrue(1 <= made.at_least <= len(made.chosen) < len(calls))
        # No subset of fewer graphs than the bound has all.
        few = list(calls)[:9]
        samples = [graphnet_ir.load(self.folder / "typed" / f"{hash}.pb") for hash in few]
        for one in samples:
            one.name = "alike"
        made = graphnet_ir.smallest(iter(samples), ["calls"])
        some = set().union(*(calls[hash] for hash in few))
        self.assertEqual(set().union(*(calls[few[int(key)]] for key in made.chosen)), some)
        self.assertFalse(any(set().union(*chosen) == some for chosen in itertools.combinations(
            [calls[hash] for hash in few], made.at_least - 1)))

    def test_the_command(self) -> None:
        corpus, calls, _ = self.typed(30)
        expected = collections.Counter(item for of in calls.values() for item in of)
        folder = self.folder / "typed"
        for place in (self.path, folder):
            code, out, _ = command("stats", place, "--coverage", "--csv")
            self.assertEqual((code, {
                (row["value"], row["dtype"] or None, int(row["rank"]) if row["rank"] else None):
                    int(row["graphs"]) for row in csv.DictReader(io.StringIO(out))}),
                (0, expected))
            code, out, _ = command("stats", place, "--of", "calls", "--json")
            told = json.loads(out)
            self.assertEqual((code, found(told["coverage"], "calls"), told["graphs"]),
                             (0, expected, len(calls)))
            code, out, errors = command("stats", place, "--coverage", "--smallest")
            made = graphnet_ir.smallest(corpus if place == self.path else folder, ["calls"])
            self.assertEqual((code, out.split()), (0, made.chosen))
            self.assertIn(f"{len(made.chosen)} of {len(calls)} graphs have all {made.items} values of "
                          f"calls; at least {made.at_least} are needed", errors)
            self.assertEqual(json.loads(command(
                "stats", place, "--coverage", "--smallest", "--json")[1]), vars(made))
        lines = command("stats", self.path, "--of", "calls,flows")[1].splitlines()
        self.assertTrue(any(re.fullmatch(r" +\d+  calls     relu float16 2", line)
                            for line in lines), lines)
        self.assertTrue(any(re.fullmatch(r" +\d+  flows     add \S+ \S+ > relu", line)
                            for line in lines), lines)
        self.assertTrue(any(line.endswith("relu ? ?") for line in lines), lines)
        self.assertRegex(lines[-1], fr"{len(calls)} graphs, {len(calls)} occurrences, \d+ values")

    def test_what_cannot_be_read_is_left_out_and_named(self) -> None:
        corpus, calls, _ = self.typed(12)
        folder = self.folder / "typed"
        bad = sorted(folder.iterdir())[3]
        bad.write_bytes(bad.read_bytes()[:-9])
        code, out, errors = command("stats", folder, "--coverage")
        self.assertEqual((code, out.splitlines()[-1].split(",")[0]), (2, f"{len(calls) - 1} graphs"))
        self.assertRegex(errors, f"note: {bad} is left out: (?!{folder})")
        with self.assertWarnsRegex(UserWarning, f"{bad} is left out: "):
            graphnet_ir.coverage(folder)
        self.assertEqual(command("stats", self.folder / "nothing")[0], 2)
        # The blob of a row is cut, and that of another one is no graph.
        rows = corpus.graphs.dataset.to_table()
        hashes, blobs = rows.column("hash").to_pylist(), rows.column("blob").to_pylist()
        blobs[2] = blobs[2][:-1]
        blobs[5] = b"\xff"
        digests = rows.column("digest").to_pylist()
        digests[5] = covering.digests(pa.array([blobs[5]], pa.binary()))[0].as_py()
        for column, values in (("blob", blobs), ("digest", digests)):
            place = rows.column_names.index(column)
            field = corpus.graphs.dataset.schema.field(column)
            rows = rows.set_column(place, field, pa.array(values, field.type))
        corpus.graphs.dataset.merge_insert("hash").when_matched_update_all().execute(rows)
        left = {hash: kinds for hash, kinds in calls.items()
                if hash not in (hashes[2].hex(), hashes[5].hex())}
        told: Dict[str, str] = {}
        self.assertEqual(
            found(graphnet_ir.coverage(Corpus(self.path), ["calls"], told.__setitem__), "calls"),
            collections.Counter(item for of in left.values() for item in of))
        self.assertEqual(set(told), {hashes[2].hex(), hashes[5].hex()})
        self.assertEqual(told[hashes[2].hex()], "its digest differs")

    def test_a_column_that_is_not_there_is_refused(self) -> None:
        self.made(1)
        code, _, errors = command("stats", self.path, "--of", "targets,colours")
        self.assertEqual(code, 2)
        self.assertIn("not of 'colours'", errors)


class BucketsTest(CorpusTest):

    def test_they_are_those_of_the_graphs(self) -> None:
        corpus = self.made(60)
        first = ["conv2d", "matmul", "softmax", "relu add mul dropout", "cat"]
        names = ["convolution", "matmul", "normalisation", "pointwise", "movement"]
        expected = {}
        for row in corpus.graphs.dataset.to_table().to_pylist():
            size = next(f"{2**power}..{2**(power + 1) - 1}" for power in range(20)
                        if row["nodes"] < 2**(power + 1))
            work = next(name for name, has in zip(names, first)
                        if set(has.split()) & set(row["targets"]))
            expected[row["hash"]] = size, work
        for column, of in (("sizes", lambda pair: pair[0]), ("classes", lambda pair: pair[1]),
                           ("buckets", lambda pair: f"{pair[1]} {pair[0]}")):
            self.assertEqual(found(corpus.coverage([column]), column), collections.Counter(
                (of(pair),) for pair in expected.values()))
        sizes = [row["value"] for row in corpus.coverage(["sizes"])]
        self.assertEqual(sizes, sorted(sizes, key=lambda size: int(size.split("..")[0])))

        def bucket(hash: str) -> Any:
            return expected[bytes.fromhex(hash)]

        for by, of in (("size", lambda hash: bucket(hash)[0]), ("class", lambda hash: bucket(hash)[1]),
                       ("bucket", bucket)):
            there = collections.Counter(of(hash) for hash in corpus)
            drawn = corpus.sample(len(there) * 2, seed=4, by=by)
            self.assertEqual(drawn, corpus.sample(len(there) * 2, seed=4, by=by))
            self.assertNotEqual(drawn, corpus.sample(len(there) * 2, seed=5, by=by))
            got = collections.Counter(map(of, drawn))
            least = min(got[value] for value in there if there[value] > max(got.values()))
            self.assertLessEqual(max(got.values()) - least, 1)
            self.assertEqual(set(got), set(there))
            self.assertEqual(sorted(corpus.sample(999, by=by)), sorted(corpus))
            self.assertEqual(command("sample", self.path, 9, "--seed", 4, "--by", by)[1].split(),
                             corpus.sample(9, seed=4, by=by))
        with self.refuses("by is one of source, model, licence, size, class, bucket, not 'colour'"):
            corpus.sample(1, by="colour")

    def test_classes_are_those_that_pytorch_knows(self) -> None:
        kinds = {"mm_flop": "matmul", "addmm_flop": "matmul", "bmm_flop": "matmul",
                 "baddbmm_flop": "matmul", "_scaled_mm_flop": "matmul", "conv_flop": "convolution",
                 "conv_backward_flop": "convolution", "sdpa_flop": "attention",
                 "sdpa_backward_flop": "attention"}
        asked = 0
        for packet, formula in flop_counter.flop_registry.items():
            name = getattr(formula, "__name__", "")
            if str(packet).startswith("aten.") and name in kinds:
                asked += 1
                work, = _core._work_classes([str(packet)[5:]])
                # No program calls this one, so that nothing counts it.
                self.assertEqual(work, "other" if str(packet) == "aten._slow_conv2d_forward" else
                                 kinds[name], packet)
        self.assertGreater(asked, 15)
        # torch.ops.aten lists only those that the process has used.
        operators = sorted({name[len("aten::"):].split(".")[0]
                            for name in torch._C._dispatch_get_all_op_names()
                            if name.startswith("aten::")})
        pointwise = [name for name in operators if any(
            torch.Tag.pointwise in getattr(getattr(torch.ops.aten, name), overload).tags
            for overload in getattr(torch.ops.aten, name).overloads())]
        self.assertGreater(len(pointwise), 150)
        others = {name: work for name, work in zip(pointwise, _core._work_classes(pointwise))
                  if work != "pointwise"}
        # Some compute nothing, and some only have an overload that is pointwise.
        self.assertEqual(others, {"clone": "movement", "equal": "reduction", "frexp": "other",
                                  "masked_fill": "movement", "max": "reduction",
                                  "min": "reduction", "where": "movement"})


class SplitTest(CorpusTest):

    def test_nothing_alike_is_divided(self) -> None:
        for seed in range(8):
            with self.subTest(seed=seed):
                self.path = self.folder / f"corpus{seed}"
                self.check_split(random.Random(seed))

    def check_split(self, draw: random.Random) -> None:
        corpus = Corpus.create(self.path)
        # A name, the text of the graph, its source, model, and the name and hash of its parent.
        rows: List[Tuple[str, str, str, Any, Any]] = []
        for number in range(draw.randrange(12, 40)):
            own = text(draw.randrange(500))
            if rows and draw.random() < 0.3:
                own = rows[draw.randrange(len(rows))][1]
            if draw.random() < 0.2:
                own = own.replace("4, 4", "8, 8")
            if draw.random() < 0.3 and "%more" not in own:  # It is perhaps similar to another one.
                value = re.findall(r"return \(%(\w+),\)", own)[0]
                own = own.replace(f"  return (%{value},)", f"  %more = torch.tanh(%{value})\n"
                                                           "  return (%more,)")
            parent = None
            if rows and draw.random() < 0.2:
                name, of = draw.choice(rows)[:2]
                whole = graphnet_ir.parse(of)
                parent = (name, draw.choice(["", graphnet_ir.canonical_hash(whole), graphnet_ir.canonical_hash(
                    whole, metas=True), "0" * 64]))
            rows.append((f"s{number}", own, draw.choice("ab"),
                         draw.choice([None, None, None, "m", "n"]), parent))
        hashes, without_metas = [], []
        for name, own, source, model, parent in rows:
            one = graphnet_ir.parse(own)
            one.name = name
            if parent is not None:
                one.provenance = [{"parent": parent[0], "parent_hash": parent[1], "start": 0,
                                   "end": 1}]
            corpus.add([one], source=source, model=model)
            hashes.append(graphnet_ir.canonical_hash(one, metas=True))
            without_metas.append(graphnet_ir.canonical_hash(one))
        features = [set(row["features"]) for row in pa.array(_core._corpus_rows(
            [graphnet_ir.parse(own) for _, own, *_ in rows])).to_pylist()]
        at = draw.choice([0.5, 0.8, 0.9, 1.0])

        def alike(a: int, b: int) -> bool:
            (name, own, source, model, parent), (_, other, its_source, its_model, its_parent) = (
                rows[a], rows[b])
            both = features[a] & features[b]
            return (hashes[a] == hashes[b] or own.replace("8, 8", "4, 4") == other.replace(
                "8, 8", "4, 4") or len(both) >= at * len(features[a] | features[b]) or
                (model is not None and (model, source) == (its_model, its_source)) or
                (its_parent is not None and (
                    its_parent[1] in (hashes[a], without_metas[a]) if its_parent[1] else
                    (name, source) == (its_parent[0], its_source))) or
                (parent is not None and its_parent is not None and (
                    (source, parent[0]) == (its_source, its_parent[0]) or
                    (parent[1] != "" and parent[1] == its_parent[1]))))

        # A graph has one number for its set, which spreads until nothing changes.
        number = list(range(len(rows)))
        changes = True
        while changes:
            changes = False
            for a, b in itertools.permutations(range(len(rows)), 2):
                if number[a] < number[b] and (alike(a, b) or alike(b, a)):
                    number[b], changes = number[a], True
        shares = draw.choice([{"train": 8.0, "test": 2.0}, {"a": 1.0, "b": 1.0, "c": 3.0}])
        made = corpus.split(shares, seed=draw.randrange(9), at=at)
        place = {hash: part for part, some in made.parts.items() for hash in some}
        self.assertEqual(sorted(place), sorted(set(hashes)))
        self.assertEqual(len(place), sum(map(len, made.parts.values())))
        sets: Dict[int, Set[str]] = {}
        for own_number, hash in zip(number, hashes):
            sets.setdefault(own_number, set()).add(hash)
        for some in sets.values():
            self.assertEqual(len({place[hash] for hash in some}), 1)
        self.assertEqual((made.groups, made.largest), (len(sets), max(map(len, sets.values()))))
        # Each part exceeds its share by less than the size of the largest group.
        for part, share in shares.items():
            wanted = len(place) * share / sum(shares.values())
            self.assertLess(len(made.parts[part]) - wanted, made.largest)


class SmallTest(CorpusTest):

    def test_find_doubts_what_graphnet_find_doubts(self) -> None:
        self.made(10)
        for query, words in (("softmx", "note: PyTorch has nothing that is called softmx; did you mean softmax?"), ("conv2d(group=2)",
                                                                 "did you mean groups?")):
            for more in ([], ["--count"], ["--json"]):
                code, _, errors = command("find", self.path, query, *more)
                self.assertEqual(code, 1)
                self.assertIn(words, errors)
        for query in ("relu", None):
            self.assertNotIn("note", command("find", self.path, *filter(None, [query]))[2])

    def test_a_column_without_a_value_is_left_out(self) -> None:
        corpus = self.made(6)
        done = corpus.map("corpus_jobs:first_or_nothing", name="one")
        self.assertEqual(done.empty, ["nothing"])
        self.assertNotIn("nothing", corpus.dataset.schema.names)
        code, _, errors = command("map", self.path, "--function", "corpus_jobs:first_or_nothing",
                                  "--name", "two")
        self.assertEqual(code, 0)
        self.assertIn("note: column nothing is left out: no graph has a value", errors)
        # A column that is there keeps its type, and the graphs of the job lose their values.
        corpus.map("corpus_jobs:calls", name="calls")
        corpus.map("corpus_jobs:no_calls", name="no_calls")
        column = corpus.dataset.to_table(columns=["calls"]).column("calls")
        self.assertEqual((column.type, column.null_count), (pa.int64(), len(corpus)))


if __name__ == "__main__":
    unittest.main()
