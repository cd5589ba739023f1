"""Corpora: what is added is found, equal to a scan of the files, and nothing that was acknowledged
is lost."""

import contextlib
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import unittest
from typing import Any, Iterator, Set
from unittest import mock

import pyarrow as pa
import yaml
from pyarrow import parquet

import graphnet_ir
from graphnet_ir import _core
from graphnet_ir.corpus import (Corpus, cards, durable, finding, layout, tables)

from corpus_case import HERE, QUERIES, TOOL, CorpusTest, command, sample, text


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
