"""Corpora: what is added is found, equal to a scan of the files, and nothing that was acknowledged
is lost."""

import collections
import contextlib
import hashlib
import importlib.util
import io
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Iterator, Set
from unittest import mock

import lance
import torch
import pyarrow as pa
import yaml
from pyarrow import parquet

import graphnet_ir
from graphnet_ir import _core
from graphnet_ir.corpus import (Corpus, cards, durable, finding, jobs, layout, near, schedule,
                                tables, verifying)
from graphnet_ir.corpus.__main__ import main
from graphnet_ir.corpus.covering import cover

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
TOOL = os.environ.get("GRAPHNET_TOOL", str(pathlib.Path(sys.prefix, "bin", "graphnet")))
QUERIES = [
    "relu", "conv2d", "matmul", "add", "conv2d(groups=4)", "conv2d(groups>1)", "relu(conv2d())",
    "softmax(matmul(?, ?))", "softmax(?, -1)", "mul|add", "add(?, 1)", "dropout", "relu_",
    "conv2d(stride=2)", "matmul(%: f16[...], ?)", "softmax(%: f32[*, *], dim in [-1, 3])",
    "add(%x, %x)", "cat(dim=1)", "torch.relu", "matmul(%, %): f32[4, 4]"]


def text(number: int) -> str:
    """The text form of a small graph; equal numbers give equal graphs."""
    draw = random.Random(number)
    lines, values = [], ["x", "y"]
    for index in range(draw.randrange(1, 12)):
        a, b = draw.choice(values), draw.choice(values)
        call = draw.choice([
            f"torch.relu(%{a})", f".relu(%{a})", f"torch.relu_(%{a})", f"torch.matmul(%{a}, %{b})",
            f"operator.matmul(%{a}, %{b})", f"torch.add(%{a}, %{b})", f"operator.add(%{a}, 1)",
            f"operator.mul(%{a}, 2.0)", f"torch.nn.functional.softmax(%{a}, -1)",
            f"torch.nn.functional.softmax(%{a}, dim = 0)", f"torch.cat([%{a}, %{b}], 1)",
            f"torch.nn.functional.dropout(%{a}, 0.1, False, False)",
            f"torch.conv2d(%{a}, %{b}, None, 2, 0, 1, {draw.choice([1, 4])})",
            f"torch.conv2d(%{a}, %{b}, groups = {draw.choice([1, 2, 4])})"])
        lines.append(f"  %v{index} = {call}\n")
        values.append(f"v{index}")
    dtype = draw.choice(["f32", "f16"])
    return (f"graph @forward(%x : {dtype}[4, 4], %y : {dtype}[4, 4]) {{\n{''.join(lines)}"
            f"  return (%{values[-1]},)\n}}\n")


def sample(number: int, name: str = "") -> graphnet_ir.Sample:
    made = graphnet_ir.parse(text(number))
    made.name = name or f"sample{number}"
    made.graph_net_json = json.dumps({"source": f"source{number % 3}", "model_name": f"m{number}"})
    return made


def command(*arguments: object) -> tuple[int, str, str]:
    """Runs the command in this process: its exit code and what it printed."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), errors.getvalue()


class CorpusTest(unittest.TestCase):

    def setUp(self) -> None:
        # Processes that the tests start import functions from here.
        patch = mock.patch.dict(os.environ, PYTHONPATH=os.pathsep.join(
            filter(None, [str(HERE), os.environ.get("PYTHONPATH")])))
        patch.start()
        self.addCleanup(patch.stop)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "corpus"

    def files(self, count: int, first: int = 0) -> pathlib.Path:
        """A folder of samples: GraphNet folders, protobuf and text."""
        samples = self.folder / "samples"
        for number in range(first, first + count):
            made = sample(number)
            place = samples / f"part{number % 4}"
            place.mkdir(parents=True, exist_ok=True)
            made.save(place / (made.name + ["", ".pb", ".gn"][number % 3]))
        return samples

    def made(self, count: int, first: int = 0) -> Corpus:
        corpus = Corpus.create(self.path)
        corpus.add([sample(number) for number in range(first, first + count)])
        return corpus

    def parts(self, name: str) -> dict[str, bytes]:
        """The files of a job's tasks."""
        return {path.name: path.read_bytes()
                for path in (self.path / "jobs" / name).glob("part-*")}

    def refuses(self, words: str) -> Any:
        return self.assertRaisesRegex(graphnet_ir.Error, words)


class AddingTest(CorpusTest):

    def test_each_graph_is_there_once_and_each_occurrence(self) -> None:
        samples = self.files(40)
        hashes = {str(path.relative_to(samples)): graphnet_ir.canonical_hash(
            graphnet_ir.load(path), metas=True)
            for path in map(pathlib.Path, graphnet_ir.find_samples([samples]))}
        corpus = Corpus.create(self.path)
        done = corpus.add(samples, licence="mit")
        self.assertEqual((done.added, done.added + done.known, done.occurrences, done.refused),
                         (len(set(hashes.values())), 40, 40, []))
        self.assertEqual(len(corpus), done.added)
        rows = corpus.sources.dataset.to_table().to_pylist()
        self.assertEqual({row["path"]: row["hash"].hex() for row in rows}, hashes)
        self.assertEqual({row["licence"] for row in rows}, {"mit"})
        self.assertEqual({row["source"] for row in rows if row["path"].endswith(("0", "3", "9"))},
                         {"source0"})
        self.assertEqual(list(corpus.verify()), [])

    def test_adding_again_changes_nothing(self) -> None:
        samples = self.files(20)
        corpus = Corpus.create(self.path)
        corpus.add(samples)
        before = corpus.sources.dataset.to_table(), len(corpus)
        again = Corpus(self.path, "a").add(samples)
        self.assertEqual((again.added, again.known, again.occurrences), (0, 20, 0))
        corpus.refresh()
        self.assertEqual((corpus.sources.dataset.to_table(), len(corpus)), before)

    def test_known_graphs_are_found_by_the_index_and_without_it(self) -> None:
        first, then = ([sample(number) for number in some] for some in (range(30), range(20, 45)))
        hashes = {graphnet_ir.canonical_hash(one, metas=True) for one in first}
        added = {graphnet_ir.canonical_hash(one, metas=True) for one in then} - hashes
        made = []
        for rows in (0, 1 << 40):
            with mock.patch.object(tables, "_ROWS_A_KEY", rows):
                corpus = Corpus.create(self.folder / f"corpus{rows}")
                corpus.add(first)
                done = corpus.add(then)
            self.assertEqual((done.added, done.known, done.occurrences),
                             (len(added), 25 - len(added), 15))
            self.assertEqual(set(corpus), hashes | added)
            self.assertEqual(list(corpus.verify()), [])
            made.append([table.dataset.to_table() for table in (corpus.graphs, corpus.sources)])
        self.assertEqual(*made)

    def test_what_cannot_be_read_is_refused_with_its_reason(self) -> None:
        samples = self.files(9)
        (samples / "bad.pb").write_bytes((samples / "part1" / "sample1.pb").read_bytes()[:-20])
        (samples / "worse.gn").write_text(
            "graphnet.module 1\ngraph @f(%x) {\n  return %z\n}\nend\n")
        corpus = Corpus.create(self.path)
        done = corpus.add([samples, self.folder / "nothing", sample(7), b"no protobuf"])
        self.assertEqual(done.added + done.known, 10)
        self.assertEqual(sorted(pathlib.Path(name).name for name, _ in done.refused),
                         ["<sample>", "bad.pb", "nothing", "worse.gn"])
        for name, reason in done.refused:
            self.assertTrue(reason, name)
        self.assertEqual(list(corpus.verify()), [])

    def test_a_corpus_takes_another(self) -> None:
        corpus = self.made(20)
        corpus.add([sample(3, "again")], licence="mit")
        other = Corpus.create(self.folder / "other")
        other.add([sample(number) for number in range(15, 25)])
        for _ in range(2):
            done = other.add(self.path)
            self.assertEqual((done.added + done.known, done.refused), (21, []))
            self.assertEqual((len(other.sources), list(other.verify())), (26, []))
        there = {row["id"]: row for row in other.sources.dataset.to_table().to_pylist()}
        for row in corpus.sources.dataset.to_table().to_pylist():
            self.assertEqual(there[row["id"]]["licence"], row["licence"])

    def test_a_harvest_says_model_and_licence(self) -> None:
        place = self.folder / "out" / "samples" / "org--net"
        place.mkdir(parents=True)
        sample(3).save(place / "graph0")
        (place / "provenance.json").write_text(json.dumps({
            "format": "graphnet harvest", "version": 1, "model": "org/net", "licence": "apache-2.0",
            "revision": "abc", "library": "transformers"}))
        corpus = Corpus.create(self.path)
        corpus.add(self.folder / "out")
        row, = corpus.sources.dataset.to_table().to_pylist()
        self.assertEqual((row["model"], row["licence"], row["revision"], row["source"]),
                         ("org/net", "apache-2.0", "abc", "transformers"))

    def test_it_is_synced_before_it_is_acknowledged(self) -> None:
        corpus = self.made(3)
        sync, synced, all = durable.sync, set[str](), []

        def note(path: str) -> None:
            sync(path)
            synced.add(path)

        there = {os.path.join(folder, name) for folder, _, names in os.walk(self.path)
                 for name in ["", *names]}

        def check(done: object) -> None:
            new = {os.path.join(folder, name) for folder, _, names in os.walk(self.path)
                   for name in names} - there
            self.assertLessEqual(new | {os.path.dirname(path) for path in new}, synced)
            self.assertGreater(len(new), 5)

        with mock.patch.object(durable, "sync", note):
            corpus.add([sample(number) for number in range(10, 15)], told=check)
        # What another process wrote may not be synced.
        with mock.patch.object(durable, "sync_file_system", all.append):
            Corpus(self.path, "a").add([sample(number) for number in range(10, 15)])
        self.assertEqual(len(all), 3)

    def test_a_manifest_comes_after_what_it_names_is_synced(self) -> None:
        corpus = self.made(3)
        sync, synced = durable.sync, set[str]()
        there = {os.path.join(folder, name) for folder, _, names in os.walk(self.path)
                 for name in names}
        before, commits = tables.Table._before_commit, 0

        def note(path: str) -> None:
            sync(path)
            synced.add(path)

        @contextlib.contextmanager
        def check(table: tables.Table, version: int) -> Iterator[None]:
            nonlocal commits
            with before(table, version):
                new = {os.path.join(folder, name) for folder, _, names in os.walk(table.path)
                       for name in names} - there
                self.assertGreater(len(new), commits == 0)
                self.assertLessEqual(new | {os.path.dirname(path) for path in new}, synced)
                commits += 1
                yield

        # The engine has the lock since the tables were opened.
        with mock.patch.object(durable, "sync", note), \
                mock.patch.object(tables.Table, "_before_commit", check):
            corpus = Corpus(self.path, "a")
            for table in (corpus.jsons, corpus.graphs, corpus.sources):
                table.settle()
            corpus.add([sample(number) for number in range(10, 15)])
            corpus.map("corpus_jobs:calls")
            corpus.compact()
            corpus.remove(source="source1")
        self.assertGreater(commits, 8)

    def test_a_full_disk_is_said_in_one_line_and_loses_nothing(self) -> None:
        samples = self.files(40)
        self.made(3, first=100)
        script = ("import resource, signal, sys\nfrom graphnet_ir.corpus.__main__ import main\n"
                  "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
                  "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
                  "sys.exit(main(['add', *sys.argv[2:]]))\n")
        for limit in (500, 5000, 12_000):
            done = subprocess.run([sys.executable, "-c", script, str(limit), str(self.path),
                                   str(samples)], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("File too large", done.stderr)
            corpus = Corpus(self.path)
            self.assertEqual({finding.kind for finding in corpus.verify()} - {"unfinished"}, set())
            self.assertEqual(len(corpus.sources), 3)
        self.assertEqual(Corpus(self.path, "a").add(samples).occurrences, 40)
        self.assertEqual(list(Corpus(self.path).verify()), [])

    def test_four_processes_add_the_same_graphs(self) -> None:
        Corpus.create(self.path)
        script = (f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
                  "import corpus_test\nfrom graphnet_ir.corpus import Corpus, adding\n"
                  "adding.ROWS_A_COMMIT = 5; adding.ROWS_A_CALL = 5\n"
                  f"corpus = Corpus({str(self.path)!r}, 'a')\n"
                  "print(corpus.add([corpus_test.sample(n) for n in range(30)]))\n")
        workers = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True) for _ in range(4)]
        for worker in workers:
            _, errors = worker.communicate()
            self.assertEqual(worker.returncode, 0, errors)
        corpus = Corpus(self.path)
        self.assertEqual(len(corpus), len({graphnet_ir.canonical_hash(sample(n), metas=True)
                                           for n in range(30)}))
        self.assertEqual(len(corpus.sources), 30)
        self.assertEqual(list(corpus.verify()), [])

    def test_an_addition_that_was_cut_short_is_completed(self) -> None:
        corpus = Corpus.create(self.path)
        items = [sample(number) for number in range(12)]
        for table in ("graphs", "sources"):
            with mock.patch.object(getattr(corpus, table), "insert", side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    corpus.add(items)
        reader = Corpus(self.path)
        self.assertEqual({finding.kind for finding in reader.verify()}, {"unfinished"})
        corpus.add(items)
        reader.refresh()
        self.assertEqual((list(reader.verify()), len(reader.sources)), ([], 12))


class FindingTest(CorpusTest):

    def test_it_finds_what_a_scan_of_the_files_finds(self) -> None:
        samples = self.files(120)
        corpus = Corpus.create(self.path)
        corpus.add(samples)
        helped = 0
        for query in QUERIES:
            said = subprocess.run([TOOL, "find", query, "-l", str(samples)], capture_output=True,
                                  text=True, check=False)
            self.assertIn(said.returncode, (0, 1), said.stderr)
            files = {os.path.relpath(line, samples) for line in said.stdout.splitlines()
                     if line.startswith(str(samples))}
            found = corpus.find(query)
            self.assertEqual({name for hit in found for name in hit.names}, files, query)
            self.assertEqual(found.notes if found.terms else [], [])
            self.assertEqual(set(corpus.find(query, scan=True).hashes()), set(found.hashes()),
                             query)
            self.assertEqual(corpus.count(query), len(list(found)))
            self.assertLessEqual(found.count(), found.candidates())
            helped += bool(found.terms) and found.candidates() < len(corpus)
        self.assertGreater(helped, len(QUERIES) / 2)

    def test_only_graphs_that_are_asked_for_are_read(self) -> None:
        corpus = self.made(80)
        with mock.patch.object(_core, "_match_blobs", wraps=_core._match_blobs) as match:

            def read() -> int:
                count = sum(len(call.args[1]) for call in match.call_args_list)
                match.reset_mock()
                return count

            next(iter(corpus.find("relu", scan=True)))
            self.assertLess(read(), len(corpus) / 2)
            with mock.patch.object(finding, "_HASHES_A_FILTER", 0):
                hits = list(corpus.find("relu", source="source1", scan=True))
            self.assertEqual(read(), corpus.count(source="source1"))
            self.assertTrue(0 < len(hits) < len(corpus))

    def test_conditions(self) -> None:
        corpus = self.made(60)
        loaded = {number: sample(number) for number in range(60)}
        hashes = {number: graphnet_ir.canonical_hash(made, metas=True) for number, made in loaded.items()}

        def found(**conditions: Any) -> Set[str]:
            hits = {hit.hash for hit in corpus.find(**conditions)}
            self.assertEqual(corpus.count(**conditions), len(hits))
            return hits

        self.assertEqual(found(nodes=(5, 8)), {hashes[number] for number, made in loaded.items()
                                               if 5 <= len(made.graph) <= 8})
        self.assertEqual(found(source="source1"), {hashes[n] for n in loaded if n % 3 == 1})
        self.assertEqual(found(model="m7"), {hashes[7]})
        self.assertEqual(found(source="'; DROP--\\"), set())
        self.assertEqual(found(query="relu", source="source1"),
                         found(query="relu") & found(source="source1"))
        self.assertEqual(found(where="array_has(dtypes, 'float16') AND nodes < 7"),
                         {hashes[number] for number, made in loaded.items()
                          if "f16" in text(number) and len(made.graph) < 7})
        for wrong in ({"where": "nodes <"}, {"where": "no_column = 1"}, {"query": "relu("}):
            with self.assertRaises(graphnet_ir.Error) as caught:
                found(**wrong)  # type: ignore[arg-type]
            self.assertNotIn("\n", str(caught.exception))
            self.assertNotIn(".rs", str(caught.exception))

    def test_views(self) -> None:
        corpus = self.made(40)
        hits = {hit.hash for hit in corpus.find("relu")}
        code, out, errors = command("find", self.path, "relu", "--save", "relus")
        self.assertEqual((code, out), (0, f"{len(hits)} graphs in view relus\n"), errors)
        self.assertEqual((set(corpus.view("relus")), corpus.views()), (hits, ["relus"]))
        self.assertEqual({hit.hash for hit in corpus.find("add", view="relus")},
                         {hit.hash for hit in corpus.find("add")} & hits)
        self.assertEqual(corpus.count(view="relus", source="source1"),
                         len({hit.hash for hit in corpus.find(source="source1")} & hits))
        self.assertEqual(corpus.map("corpus_jobs:calls", graphs=corpus.view("relus")).graphs,
                         len(hits))
        self.assertEqual(command("export", self.path, "--view", "relus", "-o",
                                 self.folder / "out")[0], 0)
        self.assertEqual({graphnet_ir.canonical_hash(one, metas=True)
                          for one in graphnet_ir.load_samples(self.folder / "out")}, hits)
        for name in ("../x", "", "nothing"):
            self.assertEqual(command("find", self.path, "--view", name)[0], 2)
        (self.path / "views" / "bad.parquet").write_bytes(b"PAR1")
        with self.refuses("cannot be read"):
            corpus.view("bad")

    def test_features_that_lie_change_no_answer(self) -> None:
        corpus = self.made(30)
        graphs = corpus.graphs.dataset
        true = {query: set(corpus.find(query, scan=True).hashes()) for query in QUERIES}
        rows = graphs.to_table()
        # Each graph claims all words of all graphs, so that the index excludes none.
        for column in ("targets", "args", "edges", "dtypes"):
            words = sorted({word for words in rows.column(column).to_pylist() for word in words})
            lie = pa.array([words] * len(rows), pa.list_(pa.utf8()))
            rows = rows.set_column(rows.column_names.index(column), graphs.schema.field(column),
                                   lie)
        graphs.merge_insert("hash").when_matched_update_all().execute(rows)
        liar = Corpus(self.path)
        for query in QUERIES:
            self.assertEqual(set(liar.find(query).hashes()), true[query], query)
        self.assertEqual({finding.kind for finding in liar.verify()}, {"differs"})

    def test_a_reader_sees_one_version(self) -> None:
        corpus = self.made(10)
        reader = Corpus(self.path)
        hashes = {hit.hash for hit in reader.find()}
        corpus.add([sample(number) for number in range(10, 30)])
        corpus.compact()
        self.assertEqual({hit.hash for hit in reader.find()}, hashes)
        self.assertEqual(len(reader.sources), 10)
        reader.refresh()
        self.assertEqual(len(reader), len(corpus))


class ReadingTest(CorpusTest):

    def test_a_graph_comes_back_by_its_hash(self) -> None:
        corpus = self.made(20)
        for number in range(20):
            original = sample(number)
            hash = graphnet_ir.canonical_hash(original, metas=True)
            self.assertIn(hash, corpus)
            back = corpus[hash]
            self.assertEqual(list(graphnet_ir.diff(original, back, metas=True).differences), [])
            self.assertEqual(graphnet_ir.canonical_hash(back, metas=True), hash)
        with self.assertRaises(KeyError):
            corpus[64 * "0"]
        self.assertNotIn(64 * "0", corpus)
        with self.refuses("64 hexadecimal digits"):
            corpus["abc"]

    def test_exports_are_equal_to_what_was_added(self) -> None:
        samples = self.files(24)
        corpus = Corpus.create(self.path)
        corpus.add(samples)
        for to in ("folders", "protobuf"):
            out = self.folder / to
            self.assertEqual(corpus.export(out, to), 24)
            for path in map(pathlib.Path, graphnet_ir.find_samples([samples])):
                place = out / path.relative_to(samples)
                place = place.with_suffix("" if to == "folders" else ".pb")
                original, back = graphnet_ir.load(path), graphnet_ir.load(place)
                self.assertEqual(list(graphnet_ir.diff(original, back, metas=True).differences), [])
                self.assertEqual((back.name, back.graph_net_json),
                                 (original.name, original.graph_net_json))
        with self.refuses("there already"):
            corpus.export(self.folder / "folders")

    def test_samples_of_one_graph_come_back_each_as_it_was(self) -> None:
        texts = [text(5).replace("f16[4, 4]", "f32[4, 4]")]
        texts.append(texts[0].replace("%y", "%other").replace("%v", "%w"))
        texts.append(texts[0].replace("f32[4, 4]", "f32[4, 4] {mean = 0.5, std = 2.0}"))
        texts += texts
        samples = self.folder / "samples"
        samples.mkdir()
        for number, one in enumerate(texts):
            made = graphnet_ir.parse(one)
            made.graph_net_json = json.dumps({"number": number})
            made.save(samples / f"s{number}")
        corpus = Corpus.create(self.path)
        for _ in range(2):
            corpus.add(samples)
            self.assertEqual((len(corpus), len(corpus.sources)), (1, 6))
            self.assertEqual(list(corpus.verify()), [])
        hash, = (hit.hash for hit in corpus.find())
        originals = corpus.originals(hash)
        corpus.export(self.folder / "folders")
        corpus.export(self.folder / "protobuf", "protobuf")
        for number, back in enumerate(originals):
            original = graphnet_ir.load(samples / f"s{number}")
            self.assertEqual(graphnet_ir.folder_files(back), graphnet_ir.folder_files(original))
            for path in (samples / f"s{number}").iterdir():
                self.assertEqual((self.folder / "folders" / f"s{number}" / path.name).read_bytes(),
                                 path.read_bytes())
            self.assertEqual(graphnet_ir.folder_files(graphnet_ir.load(
                self.folder / "protobuf" / f"s{number}.pb")), graphnet_ir.folder_files(original))
        self.assertEqual(corpus.sources.dataset.count_rows("blob IS NOT NULL"), 4)

    def test_pieces_come_back_with_what_they_were_cut_from(self) -> None:
        # The second pieces are one graph that was cut from two samples.
        whole, other = sample(5, "whole"), sample(5, "other")
        pieces = [piece for one in (whole, other)
                  for piece in graphnet_ir.decompose(one, size=1, style="dag").pieces]
        for number, piece in enumerate(pieces):
            piece.name = f"piece{number}"
            piece.save(self.folder / f"{number}.pb")
        twice = graphnet_ir.decompose(pieces[0], size=1, style="dag").pieces[0]
        twice.save(self.folder / "twice.pb")
        files = sorted(self.folder.glob("*.pb"))
        corpus = Corpus.create(self.path)
        corpus.add(files)
        self.assertLess(len(corpus), len(files))
        corpus.export(self.folder / "out", "protobuf")
        copy = Corpus.create(self.folder / "copy")
        copy.add(self.path)
        for path in files:
            added, back = graphnet_ir.load(path), graphnet_ir.load(self.folder / "out" / path.name)
            self.assertGreater(len(added.provenance), 0)
            self.assertEqual(back.provenance, added.provenance, path)
            self.assertEqual(graphnet_ir.to_bytes(back), (self.folder / "out" / path.name).read_bytes())
            for one in (corpus, copy):
                self.assertIn(added.provenance, [
                    original.provenance
                    for original in one.originals(graphnet_ir.canonical_hash(added, metas=True))])

    def test_names_of_strangers_stay_below_the_folder(self) -> None:
        corpus = Corpus.create(self.path)
        names = ["../../up", "/etc/passwd", "a/../../b", "", ".", "..", "new\nline", "x" * 999,
                 "\x1b[31mred", "é/ü"]
        corpus.add([sample(number, name) for number, name in enumerate(names)])
        out = self.folder / "out"
        self.assertEqual(corpus.export(out), len(names))
        self.assertEqual(len(graphnet_ir.find_samples([out])), len(names))
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"corpus", "out"})
        _, said, _ = command("find", self.path, "-l")
        self.assertNotIn("\x1b", said)

    def test_tags(self) -> None:
        corpus = self.made(10)
        corpus.tag("v1")
        corpus.add([sample(number) for number in range(10, 20)])
        corpus.compact()
        old = Corpus(self.path, version="v1")
        self.assertEqual((len(old.sources), list(old.verify())), (10, []))
        self.assertEqual(list(corpus.tags()), ["v1"])
        self.assertEqual([row["tags"] for row in corpus.log() if row["tags"]], [["v1"]])
        with self.refuses("v1"):
            corpus.tag("v1")
        with self.refuses("v2"):
            Corpus(self.path, version="v2")

    def test_parquet_has_graphs_with_their_occurrences(self) -> None:
        corpus = Corpus.create(self.path)
        corpus.add([sample(number) for number in range(15)], licence="mit")
        corpus.add([sample(3, "again")], licence="x|y\n")
        corpus.map("corpus_jobs:calls")
        out = self.folder / "out"
        self.assertEqual(corpus.export(out, "parquet"), len(corpus))
        rows = parquet.read_table(out / "data").to_pylist()
        self.assertEqual({row["hash"] for row in rows}, {hit.hash for hit in corpus.find()})
        for row in rows:
            back = graphnet_ir.load_bytes(row["blob"])
            self.assertEqual(graphnet_ir.canonical_hash(back, metas=True), row["hash"])
            self.assertEqual(row["calls"], len(back.graph.find_nodes(op="call_function")))
            self.assertEqual({(one["name"], one["licence"], one["graph_net_json"])
                              for one in row["occurrences"]},
                             {(one["name"], one["licence"], sample(3).graph_net_json
                               if one["name"] == "again" else
                               sample(int(one["name"][6:])).graph_net_json)
                              for one in corpus.occurrences([bytes.fromhex(row["hash"])])[
                                  bytes.fromhex(row["hash"])]})
            of_row = corpus.occurrences([bytes.fromhex(row["hash"])])[bytes.fromhex(row["hash"])]
            self.assertEqual(row["licences"], sorted({one["licence"] for one in of_row}))
            self.assertEqual(row["sources"], sorted({one["source"] for one in of_row}))

    def test_an_export_describes_itself(self) -> None:
        corpus = Corpus.create(self.path)
        corpus.add([sample(number) for number in range(15)], licence="MIT")
        corpus.add([sample(3, "again")], licence="x|y\n---\nno: `yes`\n")
        corpus.add([sample(4, "more")])
        corpus.map("corpus_jobs:calls")
        out = self.folder / "out"
        corpus.export(out, "parquet")
        _, head, body = (out / "README.md").read_text().split("---\n", 2)
        told = yaml.safe_load(head)
        self.assertEqual(told["license"], ["mit", "other", "unknown"])
        self.assertEqual(told["size_categories"], ["n<1K"])
        paths = sorted(out.glob(told["configs"][0]["data_files"][0]["path"]))
        self.assertEqual(paths, sorted((out / "data").iterdir()))
        self.assertIn(f"{len(corpus)} computation graphs of PyTorch programs, each once, with 17\n",
                      body)
        self.assertEqual([line for line in body.splitlines() if line.startswith("| `")],
                         ["| `MIT` | 15 |", "| `unknown` | 1 |",
                          r"| `x/y\n---\nno: 'yes'\n` | 1 |"])
        made = json.loads((out / "croissant.json").read_text())
        self.assertEqual((made["@type"], made["conformsTo"]),
                         ("sc:Dataset", "http://mlcommons.org/croissant/1.0"))
        files = [one for one in made["distribution"] if one["@type"] == "cr:FileObject"]
        self.assertEqual([(one["contentUrl"], one["sha256"]) for one in files],
                         [(f"data/{path.name}", hashlib.sha256(path.read_bytes()).hexdigest())
                          for path in paths])
        rows = parquet.read_schema(paths[0])
        fields = made["recordSet"][0]["field"]
        self.assertEqual({one["name"] for one in fields},
                         set(rows.names) - {"blob", "occurrences"})
        for one in fields:
            kind = rows.field(one["name"]).type
            self.assertEqual(pa.types.is_list(kind), one.get("repeated", False))
            value = kind.value_type if pa.types.is_list(kind) else kind
            self.assertEqual(one["dataType"], "sc:Integer" if pa.types.is_integer(value) else
                             "sc:Text")
            self.assertEqual(one["source"]["extract"], {"column": one["name"]})

    def test_an_export_of_no_graphs_has_the_columns(self) -> None:
        corpus = self.made(3)
        self.assertEqual(corpus.export(self.folder / "out", "parquet", graphs=[]), 0)
        self.assertEqual(parquet.read_table(self.folder / "out" / "data").num_rows, 0)

    def test_sizes_of_data_cards(self) -> None:
        for count, words in [(0, "n<1K"), (999, "n<1K"), (1000, "1K<n<10K"),
                             (999_999, "100K<n<1M"), (10 ** 8, "100M<n<1B"), (10 ** 9, "n>1B")]:
            self.assertEqual(json.loads(cards._size(count)), words)

    def test_what_is_removed_is_gone_and_the_rest_stays(self) -> None:
        corpus = self.made(30)
        corpus.add([sample(number) for number in range(0, 30, 5)], source="source1")
        corpus.tag("all")
        shared = {hit.hash for hit in corpus.find(source="source0")}
        gone = {hit.hash for hit in corpus.find(source="source1")} - shared - {
            hit.hash for hit in corpus.find(source="source2")}
        done = corpus.remove(source="source1")
        self.assertEqual((done.occurrences, done.graphs), (14, len(gone)))  # two were known
        self.assertEqual(corpus.count(source="source1"), 0)
        self.assertFalse(gone & {hit.hash for hit in corpus.find()})
        self.assertEqual(list(corpus.verify()), [])
        self.assertEqual(len(Corpus(self.path, version="all").sources), 34)
        with layout.at_work(str(self.path)), self.refuses("another process changes it"):
            corpus.remove(source="source2")

    def test_reading_needs_no_right_to_write(self) -> None:
        self.made(5)
        before = {path: path.stat().st_mtime_ns for path in self.path.rglob("*")}
        reader = Corpus(self.path)
        list(reader.verify()), list(reader.find("relu")), reader.duplicates("near")
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.path.rglob("*")}, before)
        with self.refuses("mode 'a'"):
            reader.add([sample(7)])


class DamageTest(CorpusTest):

    def test_a_manifest_of_another_kind_is_refused_in_one_line(self) -> None:
        self.made(1)
        path = self.path / "corpus.json"
        told = json.loads(path.read_text())
        for text, words in (
                (json.dumps({**told, "version": 3}), "is a corpus of version 3"),
                (json.dumps({**told, "version": 0}), "there is no version 0"),
                (json.dumps({"format": "graphnet corpus", "version": 99}), "of version 99"),
                ("{", "cannot be read"), ("[" * 100_000, "cannot be read"),
                (json.dumps({**told, "format": "x"}), "another format"),
                (json.dumps({**told, "near_at": "0.9"}), "near_at"),
                (json.dumps({**told, "version": True}), "cannot be read"),
                (json.dumps({"format": "graphnet corpus", "version": 1}), "cannot be read")):
            path.write_text(text)
            code, out, errors = command("find", self.path, "relu")
            self.assertEqual((code, out, errors.count("\n")), (2, "", 1), errors)
            self.assertIn(words, errors)
        path.unlink()
        self.assertIn("is not a corpus", command("verify", self.path)[2])

    def test_other_features_are_read_without_the_index(self) -> None:
        corpus = self.made(20)
        true = set(corpus.find("relu").hashes())
        path = self.path / "corpus.json"
        path.write_text(path.read_text().replace('"feature_version": ', '"feature_version": 9'))
        old = Corpus(self.path)
        self.assertEqual((set(old.find("relu").hashes()), old.find("relu").terms), (true, []))
        self.assertEqual(list(old.verify()), [])
        with self.refuses("another version"):
            Corpus(self.path, "a")

    def test_damaged_graphs_are_named_and_left_out(self) -> None:
        corpus = self.made(30)
        graphs = corpus.graphs.dataset
        rows = graphs.to_table()
        blobs = rows.column("blob").to_pylist()
        true = dict(corpus.find("relu|matmul|add|mul|softmax|conv2d|cat|dropout",
                                scan=True).hashes())
        damaged = rows.column("hash").to_pylist()[3:6]
        blobs[3] = blobs[3][:-1] + bytes([blobs[3][-1] ^ 1])
        blobs[4] = blobs[4][:10]
        blobs[5] = b""
        rows = rows.set_column(rows.column_names.index("blob"), graphs.schema.field("blob"),
                               pa.array(blobs, pa.binary()))
        graphs.merge_insert("hash").when_matched_update_all().execute(rows)
        reader = Corpus(self.path)
        self.assertEqual({finding.row for finding in reader.verify()
                          if finding.kind == "damaged"}, {hash.hex() for hash in damaged})
        found = reader.find("relu|matmul|add|mul|softmax|conv2d|cat|dropout")
        self.assertEqual(dict(found.hashes()),
                         {hash: count for hash, count in true.items() if hash not in damaged})
        self.assertEqual(len(found.notes), len(set(true) & set(damaged)))
        for hash in damaged:
            with self.refuses("digest"):
                reader[hash]
        code, out, errors = command("duplicates", self.path, "--by", "range", "--calls", "1..4")
        self.assertEqual(code, 0)
        self.assertEqual(set(errors.splitlines()), {
            f"note: {hash.hex()} is left out: its digest differs" for hash in damaged})
        self.assertNotIn("0 of 0", out)

    def test_bytes_of_files_that_flip_are_found(self) -> None:
        corpus = self.made(40)
        whole = corpus.graphs.dataset.to_table()
        file, = (self.path / "graphs.lance" / "data").iterdir()
        draw = random.Random(5)
        found = 0
        for number in range(24):
            copy = self.folder / f"copy{number}"  # The engine may keep what it has read.
            shutil.copytree(self.path, copy)
            place = copy / file.relative_to(self.path)
            data = bytearray(place.read_bytes())
            if number % 4 == 0:
                del data[draw.randrange(len(data)):]
            else:
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            place.write_bytes(data)
            code, out, errors = command("verify", copy)
            self.assertNotIn("Traceback", errors)
            if code == 0:  # Then the byte is one that no reader needs.
                self.assertEqual(lance.dataset(str(copy / "graphs.lance")).to_table(), whole)
            found += code != 0
        self.assertGreater(found, 12)

    def test_tables_of_other_columns_are_refused(self) -> None:
        self.made(3)
        whole = lance.dataset(str(self.path / "sources.lance")).to_table()
        for rows in (whole.drop_columns(["path"]),
                     whole.set_column(2, "path", pa.array([1] * len(whole))),
                     whole.set_column(2, "path", pa.array([None] * len(whole), pa.utf8()))):
            shutil.rmtree(self.path / "sources.lance")
            lance.write_dataset(rows, str(self.path / "sources.lance"))
            code, _, errors = command("find", self.path, "relu")
            self.assertEqual((code, errors.count("\n")), (2, 1), errors)
            self.assertIn("no column path", errors)

    def test_verify_sees_every_row(self) -> None:
        corpus = self.made(40)
        corpus.remove(source="source1")
        seen = [batch.num_rows for batch in verifying.batches(corpus.graphs, ["hash"], "graphs")]
        self.assertEqual(sum(seen), len(corpus))
        self.assertLess(len(corpus), 40)
        # All graphs of a batch may be damaged.
        rows = corpus.graphs.dataset.to_table()
        field = corpus.graphs.dataset.schema.field("blob")
        rows = rows.set_column(rows.column_names.index("blob"), field,
                               pa.array([b""] * len(rows), pa.binary()))
        corpus.graphs.dataset.merge_insert("hash").when_matched_update_all().execute(rows)
        self.assertEqual(len([finding for finding in Corpus(self.path).verify()
                              if finding.kind == "damaged"]), len(rows))

    def test_a_table_of_files_elsewhere_is_refused(self) -> None:
        self.made(5)
        graphs = self.path / "graphs.lance"
        os.rename(graphs, self.folder / "elsewhere")
        lance.dataset(str(self.folder / "elsewhere")).shallow_clone(
            str(graphs), lance.dataset(str(self.folder / "elsewhere")).version)
        with self.refuses("outside of its folder"):
            Corpus(self.path)


class OldCorporaTest(CorpusTest):

    def test_corpora_of_all_versions(self) -> None:
        """Each was made by the first graphnet of its version, and is never made again."""
        for version in (1, 2):
            shutil.rmtree(self.path, ignore_errors=True)
            shutil.copytree(HERE / f"corpus_v{version}", self.path)
            self.assertEqual(json.loads((self.path / "corpus.json").read_text())["version"],
                             version)
            with self.subTest(version=version):
                self.check()
            self.assertEqual(Corpus(self.path, "a").add([sample(n) for n in range(20)]).refused, [])
            corpus = Corpus(self.path, "a")
            corpus.compact()
            self.assertEqual(list(corpus.verify()), [])
            self.assertEqual(
                {frozenset(pair[:2]) for pair in near.near_pairs(corpus, 0.9)},
                {frozenset(pair[:2]) for pair in near.near_pairs(corpus, 0.89) if pair[2] >= 0.9})
        groups, = (hit.hash for hit in corpus.find("conv2d(groups=4)", licence="apache-2.0"))
        self.assertEqual(list(torch.from_dlpack(corpus[groups].weights["w"])), list(range(36)))

    def check(self) -> None:
        corpus = Corpus(self.path, version="v1")
        names = {"softmax(matmul(?, ?))": ["attention"], "conv2d(groups=4)": ["groups"],
                 "relu": ["branch", "groups", "larger"], "relu_(conv2d())": ["groups"],
                 "add(?, 1)": ["branch", "larger"], "relu(%: f16[9, 9])": ["larger"],
                 "sigmoid": []}
        for query, expected in names.items():
            self.assertEqual(sorted(name for hit in corpus.find(query)
                                    for name in set(hit.names)), expected, query)
        self.assertEqual(list(corpus.verify()), [])
        shape, = corpus.duplicates("shape")
        self.assertEqual({corpus[hash].name for hash in shape.hashes}, {"branch", "larger"})
        exact, = corpus.duplicates()
        self.assertEqual(exact.hashes, [
            "043b72cd328afef07cbc40c3d91304deb11961e5b1e35986b31663e20a1b8af2"])
        attention = corpus[exact.hashes[0]]
        self.assertEqual([node.target for node in attention.graph.find_nodes(op="call_function")],
                         ["torch.matmul", "torch.nn.functional.softmax"])
        self.assertEqual(json.loads(attention.graph_net_json)["model_name"], "attention")
        self.assertEqual(corpus.count(licence="apache-2.0", source="made"), 4)
        # It can be added to.
        done = Corpus(self.path, "a").add([attention, sample(1)])
        self.assertEqual((done.added, done.known), (1, 1))
        self.assertEqual(list(Corpus(self.path).verify()), [])


class NearTest(CorpusTest):

    def test_near_pairs_and_similar_equal_brute_force(self) -> None:
        corpus = self.made(150)
        rows = {row["hash"]: set(row["features"]) for row in pa.array(_core._corpus_rows(
            [corpus[hit.hash] for hit in corpus.find()])).to_pylist()}
        hashes = sorted(rows)

        def jaccard(a: bytes, b: bytes) -> float:
            return len(rows[a] & rows[b]) / len(rows[a] | rows[b])

        for at in (1.0, 0.9, 0.5):
            true = {frozenset((a, b)) for i, a in enumerate(hashes) for b in hashes[:i]
                    if jaccard(a, b) >= at}
            pairs = near.near_pairs(corpus, at)
            self.assertEqual({frozenset((a, b)) for a, b, _ in pairs}, true)
            for a, b, similarity in pairs:
                self.assertAlmostEqual(similarity, jaccard(a, b))
            for one in hashes[:10]:
                self.assertEqual({hash for hash, _ in corpus.similar(corpus[one], at)},
                                 {b.hex() for b in hashes if jaccard(one, b) >= at})

    def test_duplicates(self) -> None:
        corpus = Corpus.create(self.path)
        small = graphnet_ir.parse(text(5))
        large = graphnet_ir.parse(text(5).replace("4, 4", "8, 8"))
        corpus.add([sample(3, "a"), sample(3, "b"), sample(4), small, large])
        exact, = corpus.duplicates()
        self.assertEqual((exact.hashes, exact.occurrences),
                         ([graphnet_ir.canonical_hash(sample(3), metas=True)], 2))
        shape, = corpus.duplicates("shape")
        self.assertEqual(shape.hashes, sorted(graphnet_ir.canonical_hash(one, metas=True)
                                              for one in (small, large)))


class RecurringTest(CorpusTest):

    def recurring(self) -> Corpus:
        corpus = Corpus.create(self.path)
        corpus.add([sample(number) for number in range(30)])
        corpus.add([sample(number, "again") for number in range(0, 30, 5)], model="other")
        return corpus

    def test_ranges_name_graphs_and_models(self) -> None:
        corpus = self.recurring()
        hashes = list(corpus)
        plain = graphnet_ir.recurring(corpus.samples(), calls=(1, 8))
        found = corpus.recurring(calls=(1, 8))
        self.assertTrue(found.ranges)
        self.assertEqual(found.found, plain.found)
        sources = corpus.occurrences(map(bytes.fromhex, hashes))
        for one, other in zip(found.ranges, plain.ranges):
            self.assertEqual(one.graphs, [hashes[place] for place in other.graphs])
            self.assertEqual((one.graph, one.start, one.end, one.nodes, one.occurrences),
                             (hashes[other.graph], other.start, other.end, other.nodes,
                              other.occurrences))
            self.assertEqual(one.models, sorted({
                source["model"] for hash in one.graphs for source in sources[bytes.fromhex(hash)]}))

    def test_the_command_lists_what_subgraph_cuts_out(self) -> None:
        corpus = self.recurring()
        code, out, errors = command("duplicates", self.path, "--by", "range", "--calls", "1..6",
                                    "--limit", 5, "--json")
        self.assertEqual((code, errors), (0, ""))
        told = json.loads(out)
        self.assertEqual(len(told["ranges"]), 5)
        self.assertGreater(told["found"], 5)
        file, out = self.folder / "whole.pb", self.folder / "piece.pb"

        def cut(path: object, start: int, end: int) -> str:
            subprocess.run([TOOL, "subgraph", path, "--ports", "none", "--range", f"{start}:{end}",
                            "-o", out], check=True, capture_output=True)
            return graphnet_ir.canonical_hash(graphnet_ir.load(out), metas=True)

        for one in told["ranges"]:
            first = cut(f"{self.path}/{one['graph']}", one["start"], one["end"])
            # The last graph that has the range has it somewhere.
            last = corpus[one["graphs"][-1]]
            last.save(file)
            operators = sum(node.op.startswith("call_") for node in last.graph.nodes)
            calls = one["end"] - one["start"]
            self.assertIn(first, [cut(file, start, start + calls)
                                  for start in range(operators - calls + 1)])
        code, out, errors = command("duplicates", self.path, "--by", "range", "--calls", "1..6",
                                    "--limit", 5)
        self.assertEqual((code, errors), (0, ""))
        lines = out.splitlines()
        first = told["ranges"][0]
        self.assertRegex(lines[0], f"^ *{first['occurrences']} times .* {first['graph']} "
                                   f"{first['start']}:{first['end']}  {first['nodes'][0]}")
        self.assertEqual(lines[-1], f"5 of {told['found']} ranges that occur more than once in "
                                    f"{len(corpus)} graphs")

    def test_modules(self) -> None:
        corpus = Corpus.create(self.path)
        layers = graphnet_ir.parse("""graph @forward(%v : f32[4], %w : f32[4], %x : f32[4]) {
          %a = torch.mul(%x, %v) : f32[4]
          %b = torch.relu(%a) : f32[4]
          %c = torch.mul(%b, %w) : f32[4]
          %d = torch.relu(%c) : f32[4]
          return (%d,)
        }""")
        for layer, node in enumerate(layers.graph.placeholders[:2]):
            node.target = f"h.{layer}.weight"
        corpus.add([layers], model="m")
        code, out, _ = command("duplicates", self.path, "--by", "module")
        self.assertEqual(code, 0)
        self.assertRegex(out, "^ +2 times +2 calls +1 graphs +1 models  [0-9a-f]{64} 0:2  "
                              "h.0: a b\n1 of 1 ranges")

    def test_ranges_that_are_too_large_are_said(self) -> None:
        corpus = Corpus.create(self.path)
        inputs = [f"%x{i}" for i in range(9000)]
        calls = "".join(f"  %c{i} = torch.cat([{', '.join(inputs)}])\n" for i in range(2))
        corpus.add([graphnet_ir.parse(f"graph @forward({', '.join(inputs)}) {{\n{calls}"
                                      "  return (%c0, %c1)\n}\n"), sample(1)])
        code, out, errors = command("duplicates", self.path, "--by", "range")
        self.assertEqual((code, out),
                         (0, "0 of 0 ranges that occur more than once in 2 graphs\n"))
        self.assertEqual(errors, "note: places from which longer ranges have too many values to be "
                                 "compared: 1\n")


class SamplingTest(CorpusTest):

    def test_a_sample_depends_on_graphs_and_seed_alone(self) -> None:
        corpus = self.made(40)
        other = Corpus.create(self.folder / "other")
        other.add([sample(number) for number in reversed(range(40))])
        self.assertEqual(corpus.sample(10, seed=3), other.sample(10, seed=3))
        self.assertNotEqual(corpus.sample(10, seed=3), corpus.sample(10, seed=4))
        self.assertEqual(sorted(corpus.sample(999)), sorted(hit.hash for hit in corpus.find()))
        drawn = corpus.sample(9, by="source")
        counts = [len(set(drawn) & {hit.hash for hit in corpus.find(source=f"source{n}")})
                  for n in range(3)]
        self.assertEqual(counts, [3, 3, 3])

    def test_no_split_divides_what_is_alike(self) -> None:
        corpus = Corpus.create(self.path)
        corpus.add([sample(number) for number in range(60)])
        corpus.add([graphnet_ir.parse(text(n).replace("4, 4", "8, 8")) for n in range(0, 60, 7)])
        corpus.add([sample(n) for n in (70, 71, 72)], model="one model", source="s")
        whole = sample(99)
        pieces = list(graphnet_ir.decompose(whole, pieces=3))
        corpus.add([whole, *pieces])
        made = corpus.split({"train": 0.7, "test": 0.3}, at=0.8)
        place = {hash: part for part, hashes in made.parts.items() for hash in hashes}
        self.assertEqual(sorted(place), sorted(hit.hash for hit in corpus.find()))
        self.assertTrue(all(made.parts.values()))
        for groups in (corpus.duplicates("shape"), corpus.duplicates("near", 0.8)):
            self.assertTrue(groups)
            for group in groups:
                self.assertEqual(len({place[hash] for hash in group.hashes}), 1)
        self.assertEqual(len({place[hit.hash] for hit in corpus.find(model="one model")}), 1)
        self.assertEqual(len({place[graphnet_ir.canonical_hash(one, metas=True)]
                              for one in (whole, *pieces)}), 1)

    def test_coverage_and_the_smallest_subset(self) -> None:
        corpus = self.made(50)
        rows = corpus.graphs.dataset.to_table().to_pylist()
        table = corpus.coverage(["targets", "ranks"])
        for column in ("targets", "ranks"):
            self.assertEqual({row["value"]: row["graphs"] for row in table
                              if row["column"] == column},
                             collections.Counter(value for row in rows for value in row[column]))
        made = corpus.smallest(["targets", "edges"])
        chosen = [row for row in rows if row["hash"].hex() in made.chosen]
        for column in ("targets", "edges"):
            self.assertEqual({value for row in chosen for value in row[column]},
                             {value for row in rows for value in row[column]})
        self.assertLessEqual(made.at_least, len(made.chosen))

    def test_a_cover_is_within_its_bound(self) -> None:
        draw = random.Random(1)
        for _ in range(100):
            sets = {name: {draw.randrange(12) for _ in range(draw.randrange(6))}
                    for name in "abcdefgh"}
            all = set().union(*sets.values())
            best = next(size for size in range(9) if any(
                set().union(*(sets[name] for name in some)) == all
                for some in itertools.combinations(sets, size)))
            made = cover(sets)
            self.assertEqual(set().union(*(sets[name] for name in made.chosen)), all)
            self.assertLessEqual(made.at_least, best)
            self.assertLessEqual(best, len(made.chosen))


class JobsTest(CorpusTest):

    def test_results_become_columns(self) -> None:
        corpus = self.made(30)
        done = corpus.map("corpus_jobs:calls", name="calls")
        self.assertEqual((done.graphs, done.set_aside), (len(corpus), []))
        rows = corpus.graphs.dataset.to_table(columns=["hash", "calls", "first"]).to_pylist()
        for row in rows:
            expected = len(corpus[row["hash"]].graph.find_nodes(op="call_function"))
            self.assertEqual((row["calls"], row["first"]), (expected, "forward"))
        self.assertEqual(corpus.count(where="calls > 4"), sum(row["calls"] > 4 for row in rows))
        # Graphs that come later have none, and the corpus stays sound.
        corpus.add([sample(number) for number in range(100, 110)])
        self.assertEqual(corpus.count(where="calls IS NULL"), len(corpus) - len(rows))
        self.assertEqual(list(corpus.verify()), [])
        with self.refuses("other work"):
            corpus.map("corpus_jobs:slow", name="calls")

    def test_commands_and_other_graphs(self) -> None:
        corpus = self.made(8)
        done = corpus.map([TOOL, "hash", "{}", "--metas"], name="hash")
        self.assertEqual(done.set_aside, [])
        for row in corpus.graphs.dataset.to_table().to_pylist():
            self.assertEqual((row["exit_code"], row["output"][:64]), (0, row["hash"].hex()))
        corpus.map("corpus_jobs:without_dropout", into=self.folder / "smaller")
        smaller = Corpus(self.folder / "smaller")
        self.assertEqual({hit.hash for hit in smaller.find()}, {
            graphnet_ir.canonical_hash(graphnet_ir.opt(one, "dce,cse").sample, metas=True)
            for one in corpus.samples()})

    def test_large_results(self) -> None:
        corpus = self.made(8)
        done = corpus.map("corpus_jobs:large", into=self.folder / "made")
        odd = {hash for hash in corpus if len(corpus[hash].graph) % 2}
        self.assertEqual({hash for hash, reason in done.set_aside
                          if "more than 1000000 bytes" in reason}, odd)
        self.assertEqual(set(Corpus(self.folder / "made")), set(corpus) - odd)
        for text in ("[]", "{", '{"task": 0}', '{"task": "1"}'):
            (self.path / "jobs" / "corpus_jobs_large" / "job.json").write_text(text)
            with self.refuses("cannot be read"):
                corpus.map("corpus_jobs:large")

    def test_graphs_that_end_the_process_are_set_aside(self) -> None:
        corpus = self.made(30)
        nodes = {hit.hash: len(corpus[hit.hash].graph) % 8 for hit in corpus.find()}
        wanted = {0: "signal 11", 1: "more than 3 seconds", 2: "GB held", 3: "exit code 3",
                  4: "ValueError: no such luck", 5: "column list"}
        few: dict[int, str] = {}
        for hash, kind in nodes.items():
            few.setdefault(kind, hash)
        hashes = [*few.values(), *(hash for hash, kind in nodes.items() if kind > 5)]
        done = corpus.map("corpus_jobs:hostile", name="hostile", seconds=3, memory=200 << 20,
                          graphs=hashes)
        aside = dict(done.set_aside)
        self.assertEqual(set(aside), {hash for hash in hashes if nodes[hash] in wanted})
        for hash, reason in aside.items():
            self.assertIn(wanted[nodes[hash]], reason)
        self.assertEqual(corpus.count(where="calls IS NOT NULL"), len(set(hashes)) - len(aside))

    def test_a_job_that_is_killed_goes_on(self) -> None:
        corpus = self.made(40)
        script = ("import sys\nfrom graphnet_ir.corpus import Corpus, jobs\n"
                  "jobs.GRAPHS_A_TASK = 6\n"
                  f"Corpus({str(self.path)!r}, 'a').map('corpus_jobs:slow', name=sys.argv[1],\n"
                  "  processes=2, told=lambda done, all: print(done, flush=True))\n")

        def run(name: str, kill_after: int) -> int:
            """Runs the job, and kills it after some lines of progress."""
            worker = subprocess.Popen([sys.executable, "-c", script, name],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            assert worker.stdout is not None
            with worker.stdout as lines:
                for _ in itertools.islice(lines, kill_after):
                    pass
            if kill_after < 100:
                worker.kill()
            return worker.wait()

        self.assertEqual(run("whole", 100), 0)
        kills = 0
        for lines in (1, 2, 3, 2, 100):
            code = run("killed", lines)
            if code == 0:
                break
            self.assertEqual(code, -9)
            kills += 1
        self.assertGreater(kills, 1)
        # A kill may leave a file that was being written, which goes with the next run.
        (self.path / "jobs" / "killed" / "part-000000.parquet.123.new").touch()
        self.assertEqual(run("killed", 100), 0)
        self.assertEqual(self.parts("killed"), self.parts("whole"))
        self.assertEqual(len(self.parts("whole")), -(-len(corpus) // 6))
        corpus.refresh()
        self.assertEqual(corpus.count(where="calls IS NULL"), 0)
        self.assertEqual(list(corpus.verify()), [])


    def test_tasks_that_lose_each_machine_are_named(self) -> None:
        corpus = self.made(3)
        with mock.patch.object(jobs.Job, "run_task", side_effect=schedule.Lost):
            with self.refuses("task 0 and 0 others lost 5 machines each: try again"):
                corpus.map("corpus_jobs:calls")
        self.assertEqual(corpus.map("corpus_jobs:calls").set_aside, [])


class RayTest(CorpusTest):

    @unittest.skipUnless(importlib.util.find_spec("ray"), "ray is not installed")
    def test_nodes_of_ray_write_the_same_files(self) -> None:
        corpus = self.made(40)
        with mock.patch.object(jobs, "GRAPHS_A_TASK", 8):
            corpus.map("corpus_jobs:calls", name="local")
            code, out, errors = command("map", self.path, "--function", "corpus_jobs:calls",
                                        "--name", "ray", "--ray", "local:2")
        self.assertEqual((code, out), (0, f"{len(corpus)} graphs, 0 set aside\n"), errors)
        self.assertEqual(self.parts("ray"), self.parts("local"))
        self.assertGreater(len(self.parts("ray")), 3)
        code, _, errors = command("map", self.path, "--function", "nothing:calls", "--ray",
                                  "local:1")
        self.assertEqual(code, 2)
        self.assertIn("the job cannot begin: ModuleNotFoundError", errors)
        code, _, errors = command("map", self.path, "--function", "corpus_jobs:calls", "--ray",
                                  "127.0.0.1:9")
        self.assertEqual(code, 2)
        self.assertIn("there is no Ray cluster at 127.0.0.1:9", errors)

    def test_what_is_no_place_is_refused(self) -> None:
        self.made(1)
        for place in ("local:", "local:0", "local:65", "local:-1", "local:x", "local:1e9"):
            code, _, errors = command("map", self.path, "--function", "corpus_jobs:calls", "--ray",
                                      place)
            self.assertEqual((code, errors.count("\n")), (2, 1), errors)
            self.assertIn("is not local:N", errors)

    def test_ray_that_was_imported_before_would_listen_to_other_machines(self) -> None:
        self.made(1)
        with mock.patch.dict(sys.modules, ray=mock.Mock()), mock.patch.dict(os.environ):
            os.environ.pop("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", None)
            code, _, errors = command("map", self.path, "--function", "corpus_jobs:calls", "--ray",
                                      "local:1")
        self.assertEqual(code, 2)
        self.assertIn("ray was imported already, and would listen to other machines: set", errors)

    def test_without_ray_that_works_one_line_says_so(self) -> None:
        self.made(1)
        for text, words in (("raise ImportError('no ray here')", "pip install 'graphnet_ir[ray]'"),
                            ("", "Ray's nodes do not start")):
            (self.folder / "ray.py").write_text(text)
            done = subprocess.run([sys.executable, "-m", "graphnet_ir.corpus", "map",
                                   str(self.path), "--function", "corpus_jobs:calls", "--ray",
                                   "local:2"], capture_output=True, text=True, check=False,
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join(
                                      [str(self.folder), os.environ["PYTHONPATH"]])})
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(words, done.stderr)


class KillsTest(CorpusTest):

    def test_kills_lose_nothing(self) -> None:
        done = subprocess.run([sys.executable, str(ROOT / "tests/tools/break_corpus.py"), "--kills",
                               "4", "--samples", "150"], capture_output=True, text=True,
                              check=False)
        self.assertRegex(done.stdout, r"\A4 kills in .* 0 lost\n\Z", done.stderr)


class ProofTest(CorpusTest):

    def test_answers_and_exports_are_those_of_the_files(self) -> None:
        samples = self.folder / "samples"
        for number in range(20):
            place = samples / f"part{number % 2}"
            place.mkdir(parents=True, exist_ok=True)
            sample(number).save(place / f"sample{number}")
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests/tools/check_corpus.py"), str(samples),
             str(self.folder / "out"), "--every", "3,2", "--queries", "20", "--whole", "2",
             "--scans", "1", "--near", "40", "--jobs", "1"],
            capture_output=True, text=True, check=False)
        self.assertRegex(done.stdout, r"\n0 wrong\n\Z", done.stderr)
        self.assertRegex(done.stdout, r"20 queries \(.*\): (1\d|20) have a match")
        self.assertIn("20 folders came back", done.stdout)


class CommandTest(CorpusTest):

    def test_from_nothing_to_files_again(self) -> None:
        samples = self.files(12)
        (samples / "bad.pb").write_bytes((samples / "part1" / "sample1.pb").read_bytes()[:-20])
        run = lambda *arguments: subprocess.run(  # noqa: E731
            [TOOL, "corpus", *map(str, arguments)], capture_output=True, text=True, check=False)
        self.assertEqual(run("create", self.path).returncode, 0)
        self.assertIn("is there already", run("create", self.path).stderr)
        done = run("add", self.path, samples, "--licence", "mit", "--json")
        self.assertEqual(done.returncode, 2, done.stderr)
        told = json.loads(done.stdout)
        self.assertEqual((told["added"] + told["known"], len(told["refused"])), (12, 1))
        self.assertIn("bad.pb", done.stderr)
        found = run("find", self.path, "relu", "--json", "--licence", "mit")
        self.assertEqual(found.returncode, 0, found.stderr)
        graphs = json.loads(found.stdout)["graphs"]
        self.assertEqual(run("find", self.path, "relu", "--count").stdout, f"{len(graphs)}\n")
        done = run("find", self.path, "avg_pool2d")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", f"0 of {len(Corpus(self.path))} graphs\n"))
        self.assertEqual(run("find", self.path, "relu", "--limit", "1").stderr,
                         "the first 1 graphs that were found\n")
        done = run("similar", self.path, samples / "part1" / "sample1.pb", "--at", "1")
        self.assertIn("  1.0000  part1/sample1.pb", done.stdout)
        self.assertRegex(done.stderr, r"^\d+ of \d+ graphs\n$")
        self.assertEqual(sorted(run("find", self.path, "relu", "-l").stdout.split()),
                         sorted(name for graph in graphs for name in graph["names"]))
        self.assertEqual(run("verify", self.path).returncode, 0)
        self.assertEqual(run("compact", self.path).returncode, 0)
        done = run("export", self.path, "-o", self.folder / "out")
        self.assertIn("12 samples", done.stdout, done.stderr)
        # As a user of the files sees it.
        for tool in ("check", "hash"):
            self.assertEqual(subprocess.run([TOOL, tool, str(self.folder / "out")],
                                            capture_output=True, check=False).returncode, 0)

    def test_without_the_engine_one_line_says_what_to_install(self) -> None:
        (self.folder / "lance.py").write_text("raise ImportError('no lance here')")
        done = subprocess.run([sys.executable, "-m", "graphnet_ir.corpus", "create",
                               str(self.path)], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("pip install 'graphnet_ir[corpus]'", done.stderr)

    def test_importing_the_package_takes_no_engine(self) -> None:
        done = subprocess.run([sys.executable, "-c", "import sys, graphnet_ir, graphnet_ir.corpus\n"
                               "print(sorted({'lance', 'pyarrow', 'numpy'} & set(sys.modules)))"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "[]\n", done.stderr)


if __name__ == "__main__":
    unittest.main()
