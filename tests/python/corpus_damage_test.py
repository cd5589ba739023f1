"""Corpora that are damaged, of another make, or of an older version."""

import json
import os
import random
import shutil
import unittest

import lance
import torch
import pyarrow as pa

from graphnet_ir.corpus import (Corpus, near, verifying)

from corpus_case import HERE, CorpusTest, command, sample


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


if __name__ == "__main__":
    unittest.main()
