"""`graphnet corpus import` reads what `export --parquet` wrote, and trusts nothing in it."""

import json
import os
import pathlib
import shutil
import unittest
from typing import Any, Callable, Dict, List
from unittest import mock

import pyarrow as pa
import torch
from pyarrow import parquet

import graphnet_ir
from graphnet_ir.corpus import Corpus, exporting, importing

from corpus_case import CorpusTest, command, sample
from corpus_weights_test import of_every_dtype, with_weights


def tables(path: pathlib.Path) -> Dict[str, Any]:
    """All rows of a corpus, and its weights."""
    corpus = Corpus(path)
    made: Dict[str, Any] = {}
    for kind, key in (("graphs", "hash"), ("sources", "id"), ("jsons", "id")):
        rows = getattr(corpus, kind).dataset.to_table().to_pylist()
        made[kind] = sorted(rows, key=lambda row: row[key])
    made["weights"] = {file.name: file.read_bytes() for file in path.rglob("*.safetensors")}
    return made


def renamed(made: graphnet_ir.Sample, name: str) -> graphnet_ir.Sample:
    """The same graph with another name of a value, so that its bytes are others."""
    other = graphnet_ir.parse(str(made).replace("%v0", f"%{name}"))
    other.name = name
    return other


class ImportTest(CorpusTest):

    def exported(self, *items: Any, **names: Any) -> pathlib.Path:
        corpus = Corpus.create(self.path)
        corpus.add(list(items), **names)
        corpus.export(self.folder / "out", "parquet")
        return self.folder / "out"

    def damaged(self, change: Callable[[List[Dict[str, Any]]], object], *items: Any
                ) -> pathlib.Path:
        """An export in which someone changed rows."""
        out = self.exported(*items)
        path = out / "data" / "graphs-00000.parquet"
        table = parquet.read_table(path)
        rows = table.to_pylist()
        change(rows)
        schema = pa.schema([field.with_nullable(True) for field in table.schema],
                           metadata=table.schema.metadata)
        parquet.write_table(pa.Table.from_pylist(rows, schema=schema), path)
        return out

    def imported(self, out: pathlib.Path) -> "graphnet_ir.corpus.Added":
        corpus = Corpus.create(self.folder / "new")
        done = corpus.import_parquet(out)
        self.assertEqual(list(corpus.verify()), [])
        return done

    def test_an_import_equals_what_was_exported(self) -> None:
        corpus = Corpus.create(self.path)
        corpus.add([sample(number) for number in range(40)], licence="mit", revision="r1")
        corpus.add([renamed(sample(5), "p"), renamed(sample(6), "q")], licence="bsd")
        corpus.add([with_weights(1, of_every_dtype()), with_weights(1, {"w": torch.ones(3)}),
                    with_weights(2, {"w": torch.ones(3)}), with_weights(3, {})], source="a")
        sample(1).save(self.folder / "one.pb")
        pieces = graphnet_ir.decompose(sample(2), pieces=1).pieces
        corpus.add([self.folder / "one.pb", *pieces])
        # The bytes that the corpus keeps of a graph are then of no occurrence.
        corpus.add(renamed(with_weights(9, {}), "r"), source="gone")
        corpus.add([with_weights(9, {}, name="a2")])
        corpus.remove(source="gone")
        corpus.export(self.folder / "out", "parquet")
        self.assertEqual(len(list((self.folder / "out" / "weights").rglob("*.*"))), 2)
        new = self.folder / "new"
        code, out, errors = command("import", new, self.folder / "out")
        self.assertEqual(code, 0, errors)
        self.assertIn(f"{len(corpus)} graphs in {new}\n", out)
        self.assertEqual(tables(new), tables(self.path))
        self.assertEqual(list(Corpus(new).verify()), [])
        # Again, nothing changes.
        done = Corpus(new, "a").import_parquet(self.folder / "out")
        self.assertEqual((done.added, done.occurrences, done.refused), (0, 0, []))
        code, _, errors = command("import", self.folder / "bare", self.folder / "out",
                                  "--no-weights", "--json")
        self.assertEqual((code, tables(self.folder / "bare")["weights"]), (0, {}), errors)

    def test_an_export_without_weights(self) -> None:
        corpus = Corpus.create(self.path)
        corpus.add([with_weights(1, {"w": torch.ones(3)}), with_weights(2, {})])
        for form in ("--protobuf", "--parquet", "--folders"):
            code, _, errors = command("export", self.path, "-o", self.folder / form[2:], form,
                                      "--no-weights")
            self.assertEqual((code, errors), (0, ""))
        self.assertEqual(list(self.folder.glob("p*/**/*.safetensors")), [])
        self.assertEqual(self.imported(self.folder / "parquet").added, 2)

    def test_a_folder_has_no_place_for_weights(self) -> None:
        corpus = Corpus.create(self.path)
        corpus.add([with_weights(1, {"w": torch.ones(3)}), with_weights(2, {}),
                    with_weights(3, {"w": torch.ones(3)})])
        code, out, errors = command("export", self.path, "-o", self.folder / "out")
        self.assertEqual((code, errors), (0, (
            "note: 2 occurrences have values of weights, for which a GraphNet folder has no place: "
            "--protobuf and --parquet keep them\n")))
        self.assertIn("3 samples written", out)

    def test_a_damaged_row_is_refused_alone(self) -> None:
        def change(rows: List[Dict[str, Any]]) -> None:
            rows[0]["blob"] = rows[0]["blob"][:-5]
            rows[1]["hash"] = rows[2]["hash"]
            rows[3]["blob"] = None
            rows[4]["occurrences"][0]["blob"] = rows[5]["blob"]
            rows[6]["occurrences"] = []

        out = self.damaged(change, *(with_weights(number, {}) for number in range(8)))
        done = self.imported(out)
        self.assertEqual(len(Corpus(self.folder / "new")), 3)
        self.assertEqual(len(done.refused), 5)
        for (name, reason), (row, words) in zip(done.refused, (
                (0, ""), (1, "its graph has the hash "), (3, ""),
                (4, "it is an occurrence of another graph"), (6, "it has no occurrence"))):
            self.assertRegex(name, rf"/data/graphs-00000\.parquet, group 0, row {row}\b")
            self.assertIn(words, reason)

    def test_columns_that_lie_are_made_anew(self) -> None:
        def change(rows: List[Dict[str, Any]]) -> None:
            for row in rows:
                row.update(shape_hash="00" * 32, targets=["rm"], counts=[7], nodes=-1,
                           dtypes=[], ranks=[9], edges=["a>b"], args=[], licences=["lie"])

        out = self.damaged(change, sample(1), sample(2))
        self.assertEqual(self.imported(out).refused, [])
        self.assertEqual(tables(self.folder / "new"), tables(self.path))

    def test_paths_stay_below_an_export(self) -> None:
        def change(rows: List[Dict[str, Any]]) -> None:
            rows[0]["occurrences"][0]["path"] = "../../../evil"
            rows[1]["occurrences"][0]["path"] = "/tmp/evil"
            rows[2]["occurrences"][0].update(path=None, name=None, parents=None, place=None)

        out = self.damaged(change, *(with_weights(number, {}) for number in range(3)))
        self.assertEqual(self.imported(out).refused, [])
        before = set(self.folder.iterdir())
        Corpus(self.folder / "new").export(self.folder / "back", "protobuf")
        self.assertEqual(set(self.folder.iterdir()) - before, {self.folder / "back"})
        self.assertEqual(len(list((self.folder / "back").rglob("*.pb"))), 3)

    def test_weights_that_lie_are_refused(self) -> None:
        def change(rows: List[Dict[str, Any]]) -> None:
            ids = {row["occurrences"][0]["name"]: row["occurrences"][0] for row in rows}
            ids["sample1"]["weights"] = "../" * 20 + "etc/passwd"
            ids["sample2"]["weights"] = "ab"
            ids["sample3"]["weights"] = "00" * 32

        out = self.damaged(change, *(with_weights(number, {"w": torch.full((4,), number)})
                                     for number in range(1, 8)))
        rows = {row["occurrences"][0]["name"]: row["occurrences"][0]["weights"]
                for row in parquet.read_table(out / "data").to_pylist()}
        place = {name: out / "weights" / str(id)[:2] / f"{id}.safetensors"
                 for name, id in rows.items()}
        place["sample4"].unlink()
        place["sample4"].symlink_to("/etc/passwd")
        place["sample5"].unlink()
        os.mkfifo(place["sample5"])
        place["sample6"].write_bytes(place["sample6"].read_bytes()[:-1] + b"x")
        done = self.imported(out)
        self.assertEqual((done.added, len(done.refused)), (1, 6))
        for words in ("is no id of weights", "they are not there", "their hash differs",
                      "non-hexadecimal"):
            self.assertTrue(any(words in reason for _, reason in done.refused), done.refused)

    def test_files_that_cannot_be_read_are_refused_alone(self) -> None:
        out = self.exported(*(sample(number) for number in range(6)))
        data = out / "data"
        whole = (data / "graphs-00000.parquet").read_bytes()
        (data / "graphs-00001.parquet").write_bytes(whole[:-100])
        (data / "graphs-00002.parquet").write_bytes(b"")
        (data / "graphs-00003.parquet").mkdir()
        os.mkfifo(data / "graphs-00004.parquet")
        parquet.write_table(pa.table({"hash": ["a"], "text": ["b"]}),
                            data / "graphs-00005.parquet")
        parquet.write_table(pa.table({"hash": ["a"], "blob": [b"b"], "occurrences": [[1]]}),
                            data / "graphs-00006.parquet")
        broken = bytearray(whole)
        broken[40:400] = bytes(360)
        (data / "graphs-00007.parquet").write_bytes(bytes(broken))
        done = self.imported(out)
        self.assertEqual(tables(self.folder / "new"), tables(self.path))
        self.assertEqual({int(name.split("graphs-0000")[1][0]) for name, _ in done.refused},
                         {1, 2, 3, 4, 5, 6, 7})
        for words in ("it has no column blob", "it is not a file"):
            self.assertTrue(any(words in reason for _, reason in done.refused), done.refused)
        with mock.patch.object(importing, "_MAX_GROUP_BYTES", 10):
            done = Corpus(self.folder / "new", "a").import_parquet(out)
        self.assertIn("bytes are over the limit of 10", done.refused[0][1])
        with self.refuses("is no export of a corpus: it has no files data/"):
            Corpus(self.folder / "new", "a").import_parquet(self.folder)

    def test_texts_that_are_not_utf8_are_refused_alone(self) -> None:
        out = self.exported(with_weights(1, {}, name="mark@@@"), with_weights(2, {}))
        path = out / "data" / "graphs-00000.parquet"
        rows = parquet.read_table(path)
        parquet.write_table(rows, path, compression="none", use_dictionary=False)
        path.write_bytes(path.read_bytes().replace(b"mark@@@", b"mark\xff\xff\xff"))
        done = self.imported(out)
        self.assertEqual((done.added, len(done.refused)), (1, 1))

    def test_hashes_of_another_version_are_not_compared(self) -> None:
        out = self.damaged(lambda rows: rows[0].update(hash="11" * 32), sample(1), sample(2))
        path = out / "data" / "graphs-00000.parquet"
        table = parquet.read_table(path)
        for told in ({"hash_version": -1}, {"hash_version": "x"}, [], None):
            metadata = {} if told is None else {exporting.VERSIONS: json.dumps(told)}
            parquet.write_table(table.replace_schema_metadata(metadata), path)
            shutil.rmtree(self.folder / "new", ignore_errors=True)
            self.assertEqual(self.imported(out).refused, [])
            self.assertEqual(set(Corpus(self.folder / "new")), set(Corpus(self.path)))


if __name__ == "__main__":
    unittest.main()
