"""What a repair saves of corpora that are damaged in each way, and what it says is lost."""

import json
import os
import pathlib
import random
import shutil
import unittest
from typing import Any, Dict, Set

import torch

import graphnet_ir
from graphnet_ir.corpus import Corpus
from graphnet_ir.corpus.verifying import Finding

from corpus_case import CorpusTest, command, sample


class RepairTest(CorpusTest):

    def setUp(self) -> None:
        super().setUp()
        self.new = self.folder / "new"
        corpus = Corpus.create(self.path)
        for first in (0, 20):  # two fragments
            items = [sample(number) for number in range(first, first + 20)]
            items[0].set_weight("w", torch.full((3,), float(first)))
            corpus.add(items, licence="mit")
        corpus.add([sample(3, "again")], licence="bsd")
        corpus.save_view("some", list(map(bytes.fromhex, corpus))[:5])
        corpus.map("corpus_jobs:calls", name="calls")
        self.rows = self.occurrences(self.path)

    def occurrences(self, path: pathlib.Path) -> Dict[bytes, Dict[str, Any]]:
        return {row["id"]: row for row in
                Corpus(path).sources.dataset.to_table().to_pylist()}

    @staticmethod
    def key(row: Dict[str, Any]) -> Any:
        """What an occurrence keeps if its graph_net.json or its weights are lost."""
        return tuple(row[name] for name in ("hash", "path", "place", "name", "source", "licence"))

    def check(self, lossless: bool = False) -> Set[str]:
        """Repairs, checks the new corpus, and returns which kinds of rows were lost."""
        before = {path: path.read_bytes() for path in self.path.rglob("*") if path.is_file()}
        shutil.rmtree(self.new, ignore_errors=True)
        done = Corpus.repair(self.path, self.new)
        self.assertEqual({path: path.read_bytes() for path in self.path.rglob("*")
                          if path.is_file()}, before)
        new = Corpus(self.new)
        self.assertEqual(list(new.verify()), [])
        self.assertEqual((done.graphs, done.occurrences), (len(new), len(new.sources)))
        # Each row that is there is as it was. Each other row is named, or is among rows that are named.
        there = {self.key(row) for row in self.occurrences(self.new).values()}
        named = "\n".join(map(str, done.dropped))
        for id, row in self.rows.items():
            if self.key(row) not in there:
                self.assertTrue(id.hex() in named or row["hash"].hex() in named
                                or "weights" in named or "rows" in named or "row " in named,
                                named)
        if lossless:
            self.assertEqual((done.dropped, set(there)), ([], set(map(self.key, self.rows.values()))))
        return {finding.table for finding in done.dropped}

    def data(self, table: str) -> pathlib.Path:
        """The largest file of a table's data."""
        return max((self.path / f"{table}.lance" / "data").iterdir(),
                   key=lambda path: path.stat().st_size)

    def test_a_sound_corpus_loses_nothing(self) -> None:
        self.check(lossless=True)
        new = Corpus(self.new)
        self.assertEqual(new.view("some"), Corpus(self.path).view("some"))
        self.assertEqual(new.count(where="calls IS NULL"), 0)
        for hash in new:
            self.assertEqual([graphnet_ir.folder_files(one) for one in new.originals(hash)],
                             [graphnet_ir.folder_files(one)
                              for one in Corpus(self.path).originals(hash)])
        with self.refuses("is there already"):
            Corpus.repair(self.path, self.new)

    def test_flipped_and_truncated_bytes(self) -> None:
        draw = random.Random(4)
        whole = self.folder / "whole"
        shutil.copytree(self.path, whole)
        saved = lost = 0
        for number in range(12):
            shutil.rmtree(self.path)
            self.path = self.folder / f"damaged{number}"
            self.new = self.folder / f"new{number}"
            shutil.copytree(whole, self.path)
            path = self.data(("graphs", "sources", "jsons")[number % 3])
            data = bytearray(path.read_bytes())
            if number % 4 == 3:
                del data[draw.randrange(len(data)):]
            else:
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            path.write_bytes(data)
            self.check()
            found = len({self.key(row) for row in self.occurrences(self.new).values()}
                        & {self.key(row) for row in self.rows.values()})
            saved += found
            lost += len(self.rows) - found
        self.assertGreater(saved, lost)

    def test_a_lost_fragment(self) -> None:
        data = sorted((self.path / "graphs.lance" / "data").iterdir(),
                      key=lambda path: path.stat().st_size)
        os.unlink(data[-1])
        self.assertIn("graphs", self.check())

    def test_columns_that_lie_are_made_anew(self) -> None:
        graphs = Corpus(self.path).graphs.dataset
        rows = graphs.to_table()
        place = rows.column_names.index("nodes")
        rows = rows.set_column(place, graphs.schema.field("nodes"),
                               rows.column("nodes").combine_chunks().cast("int32").take(
                                   list(reversed(range(len(rows))))))
        graphs.merge_insert("hash").when_matched_update_all().execute(rows)
        self.assertTrue(list(Corpus(self.path).verify()))
        self.check(lossless=True)

    def test_a_lost_table_of_jsons_or_sources(self) -> None:
        shutil.rmtree(self.path / "jsons.lance")
        self.assertEqual(self.check(), {"jsons"})
        self.assertEqual(len(Corpus(self.new).sources), len(self.rows))
        shutil.rmtree(self.path / "sources.lance")
        self.assertEqual(self.check(), {"jsons", "sources"})
        self.assertEqual(set(Corpus(self.new)), {row["hash"].hex() for row in self.rows.values()})

    def test_lost_indexes_and_a_manifest_that_is_cut(self) -> None:
        for table in ("graphs", "sources", "jsons"):
            for folder in (self.path / f"{table}.lance" / "_indices").iterdir():
                shutil.rmtree(folder)
        self.check(lossless=True)
        versions = sorted((self.path / "sources.lance" / "_versions").glob("*.manifest"))
        versions[0].write_bytes(versions[0].read_bytes()[:20])
        self.check()
        self.assertGreater(len(Corpus(self.new)), 10)

    def test_damaged_weights(self) -> None:
        path = min((self.path / "weights").rglob("*.safetensors"))
        path.write_bytes(path.read_bytes()[:-1])
        self.assertEqual(self.check(), {"weights"})
        self.assertEqual(len(Corpus(self.new).sources), len(self.rows))

    def test_jobs_and_views_that_were_half_written(self) -> None:
        part = self.path / "jobs" / "calls" / "part-000000.parquet"
        part.write_bytes(part.read_bytes()[:-9])
        part.with_suffix(".parquet.77.new").write_bytes(b"half")
        (self.path / "jobs" / "other").mkdir()
        (self.path / "jobs" / "other" / "job.json").write_text("{")
        view = self.path / "views" / "some.parquet"
        view.write_bytes(view.read_bytes()[:30])
        self.assertEqual(self.check(), {"jobs", "views"})
        self.assertEqual(sorted(path.name for path in (self.new / "jobs").rglob("*.*")),
                         ["graphs.bin", "job.json"])
        # A job whose list of graphs is cut begins anew.
        (self.path / "jobs" / "other" / "job.json").write_text("{}")
        (self.path / "jobs" / "other" / "graphs.bin").write_bytes(b"no hash")
        self.check()
        self.assertIn("graphs.bin is cut", str(Corpus.repair(self.path, self.folder / "third").dropped))
        # The job does its task again.
        Corpus(self.new, "a").map("corpus_jobs:calls", name="calls")
        self.assertTrue((self.new / "jobs" / "calls" / "part-000000.parquet").exists())

    def test_the_command_says_what_is_lost(self) -> None:
        code, out, errors = command("repair", self.path, "-o", self.new)
        self.assertEqual((code, errors), (0, ""))
        self.assertIn(f"{len(self.rows)} occurrences saved, 0 losses", out)
        shutil.rmtree(self.path / "jsons.lance")
        code, out, errors = command("repair", self.path, "-o", self.folder / "other", "--json")
        told = json.loads(out)
        self.assertEqual((code, told["occurrences"]), (1, len(self.rows)))
        self.assertEqual(len(errors.splitlines()), len(told["dropped"]))
        self.assertIsInstance(Finding(**told["dropped"][0]), Finding)


if __name__ == "__main__":
    unittest.main()
