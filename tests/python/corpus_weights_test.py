"""The values of weights in a corpus: each once, and back equal bit for bit."""

import datetime
import json
import os
import pathlib
import shutil
import unittest
import zlib
from typing import Any, Dict
from unittest import mock

import torch

import graphnet_ir
from graphnet_ir import _core
from graphnet_ir.corpus import Corpus, layout
from graphnet_ir.corpus.schema import schemas

from corpus_case import CorpusTest, ROOT, command

DTYPES = ["float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
          "uint16", "uint32", "uint64", "bool", "complex64", "float8_e4m3fn", "float8_e5m2",
          "float8_e4m3fnuz", "float8_e5m2fnuz"]


def with_weights(number: int, weights: Dict[str, torch.Tensor], **names: str) -> graphnet_ir.Sample:
    made = graphnet_ir.parse("graph @forward(%x : f32[4, 4]) {\n"
                             f"  %a = torch.add(%x, {number})\n  return (%a,)\n}}\n")
    made.name = names.get("name", f"sample{number}")
    for name, value in weights.items():
        made.set_weight(name, graphnet_ir.Tensor(value))
    return made


def of_every_dtype() -> Dict[str, torch.Tensor]:
    torch.manual_seed(3)
    made = {}
    for name in DTYPES:
        bits = torch.randint(0, 2 if name == "bool" else 256, (96,), dtype=torch.uint8)
        size = torch.empty(0, dtype=getattr(torch, name)).element_size()
        made[name] = bits[:12 * size].view(getattr(torch, name)).reshape(3, 4)
    made["scalar"] = torch.tensor(2.5)
    made["empty"] = torch.empty(0, 7)
    made["nan"] = torch.tensor([float("nan"), -0.0, float("inf")])
    return made


def bits(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist())


class WeightsTest(CorpusTest):

    def stored(self) -> Dict[str, pathlib.Path]:
        return {path.stem: path for path in (self.path / "weights").rglob("*.*")}

    def check(self, sample: graphnet_ir.Sample, expected: Dict[str, torch.Tensor]) -> None:
        self.assertEqual(set(sample.weights), set(expected))
        for name, value in expected.items():
            tensor = sample.weights[name]
            self.assertEqual((str(tensor.dtype), tensor.shape),
                             (str(value.dtype)[len("torch."):], tuple(value.shape)), name)
            self.assertEqual(bytes(torch.from_dlpack(tensor.bytes).tolist()), bits(value), name)

    def parsed(self, path: pathlib.Path) -> Dict[str, Any]:
        """The content of a file of safetensors, read without graphnet."""
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8:8 + size])
        return {name: (told["shape"], data[8 + size:][slice(*told["data_offsets"])])
                for name, told in header.items() if name != "__metadata__"}

    def test_strides_come_back(self) -> None:
        class Model(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.transposed = torch.nn.Parameter(torch.randn(5, 3).T)
                self.last = torch.nn.Parameter(
                    torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x @ self.transposed + self.last.sum()

        model = Model()
        torch.export.save(torch.export.export(model, (torch.ones(2, 3),)), self.folder / "m.pt2")
        corpus = Corpus.create(self.path)
        self.assertEqual(corpus.add(self.folder / "m.pt2").added, 1)
        corpus.export(self.folder / "out", "protobuf")
        path = self.folder / "out" / "m.safetensors"
        data = path.read_bytes()
        header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
        there = self.parsed(path)
        for name, value in model.named_parameters():
            name, = (one for one in there if name in one)
            self.assertEqual(there[name], (list(value.shape), bits(value.detach())))
            self.assertEqual(header["__metadata__"][f"graphnet.strides.{name}"],
                             ",".join(map(str, value.stride())))

    def test_all_dtypes_come_back(self) -> None:
        weights = of_every_dtype()
        corpus = Corpus.create(self.path)
        done = corpus.add(with_weights(1, weights))
        self.assertEqual((done.added, done.refused, done.without_weights), (1, [], 0))
        self.assertEqual(list(corpus.verify()), [])
        hash, = corpus
        self.check(corpus[hash], weights)
        self.check(corpus.originals(hash)[0], weights)
        corpus.export(self.folder / "out", "protobuf")
        self.check(graphnet_ir.load(self.folder / "out" / "sample1.pb"), weights)
        there = self.parsed(self.folder / "out" / "sample1.safetensors")
        self.assertEqual(there, {name: (list(value.shape), bits(value))
                                 for name, value in weights.items()})

    def test_equal_weights_are_stored_once(self) -> None:
        weights = {"w": torch.randn(100, 100), "b": torch.randn(7)}
        corpus = Corpus.create(self.path)
        corpus.add([with_weights(number, weights) for number in range(5)])
        corpus.add([with_weights(1, weights, name="again"), with_weights(6, {}),
                    with_weights(7, {"w": torch.zeros(3)})])
        self.assertEqual((len(corpus.sources), len(self.stored())), (8, 2))
        self.assertEqual(list(corpus.verify()), [])
        # Adding again changes nothing; other weights are another occurrence.
        self.assertEqual(corpus.add(with_weights(3, weights)).occurrences, 0)
        self.assertEqual(corpus.add(with_weights(3, {"w": torch.ones(1)})).occurrences, 1)

    def test_files_of_each_form_bring_theirs(self) -> None:
        folder = self.folder / "in"
        folder.mkdir()
        for name in ("vit.pb", "vit.safetensors"):
            shutil.copy(ROOT / "samples" / name, folder)
        (folder / "embedded.pb").write_bytes(graphnet_ir.to_bytes(
            with_weights(1, {"w": torch.arange(6.)})))
        parts = [graphnet_ir.to_bytes(with_weights(number, {"w": torch.full((3,), number)}))
                 for number in range(2, 5)]
        self.assertLess(max(map(len, parts)), 1 << 14)
        count = len(parts).to_bytes(8, "little")
        end = zlib.crc32(b"".join(part[18:22] for part in parts) + count)  # of their checksums
        (folder / "all.pbs").write_bytes(b"".join(
            bytes([len(part) & 127 | 128, len(part) >> 7]) + part for part in parts)
            + b"\0" + count + end.to_bytes(4, "little"))
        corpus = Corpus.create(self.path)
        done = corpus.add([folder / "vit.pb", folder / "embedded.pb", folder / "all.pbs"])
        self.assertEqual((done.added, done.refused), (5, []))
        rows = {(row["path"], row["place"]): row["weights"]
                for row in corpus.sources.dataset.to_table().to_pylist()}
        self.assertEqual(self.parsed(pathlib.Path(corpus.weights.path(rows["vit.pb", 0]))),
                         self.parsed(folder / "vit.safetensors"))
        for number in range(2, 5):
            self.assertEqual(
                self.parsed(pathlib.Path(corpus.weights.path(rows["all.pbs", number - 2]))),
                {"w": ([3], bits(torch.full((3,), number)))})
        self.assertEqual(len(self.stored()), 5)
        with self.refuses("all.pbs: there is no sample 3"):
            _core._samples_at(str(folder / "all.pbs"), [3])

    def test_dtypes_that_safetensors_lacks_come_back(self) -> None:
        weights = {"double": torch.randn(3, 2, dtype=torch.complex128)}
        corpus = Corpus.create(self.path)
        self.assertEqual(corpus.add(with_weights(1, weights)).refused, [])
        self.assertEqual(list(corpus.verify()), [])
        self.check(corpus[next(iter(corpus))], weights)
        # The file has pairs of real and imaginary parts.
        there = self.parsed(next(iter(self.stored().values())))
        self.assertEqual(there, {"double": ([3, 2, 2], bits(weights["double"]))})
        done = corpus.add(with_weights(2, weights), weights=False)
        self.assertEqual((done.added, done.without_weights), (1, 1))
        self.assertEqual(len(self.stored()), 1)

    def test_the_command_leaves_them_out_only_if_asked(self) -> None:
        with_weights(1, {"w": torch.zeros(2)}).save(self.folder / "one.pb")
        command("create", self.path)
        code, _, errors = command("add", self.path, self.folder / "one.pb", "--no-weights")
        self.assertEqual((code, len(self.stored())), (0, 0), errors)
        self.assertIn("note: the values of weights of 1 samples are left out", errors)
        code, _, errors = command("add", self.path, self.folder / "one.pb")
        self.assertEqual((code, len(self.stored())), (0, 1), errors)
        self.assertNotIn("note", errors)

    def test_damaged_weights_are_named_and_mended_by_adding_again(self) -> None:
        corpus = Corpus.create(self.path)
        samples = [with_weights(number, {"w": torch.full((50,), number)}) for number in range(4)]
        corpus.add(samples)
        ids = {row["name"]: row["weights"]
               for row in corpus.sources.dataset.to_table().to_pylist()}
        paths = [pathlib.Path(corpus.weights.path(ids[f"sample{number}"])) for number in range(4)]
        data = bytearray(paths[0].read_bytes())
        data[-1] ^= 1
        paths[0].write_bytes(data)
        paths[1].write_bytes(paths[1].read_bytes()[:-1])
        paths[2].unlink()
        found = {finding.row: finding.text for finding in corpus.verify()}
        self.assertEqual({row: (text == "they are not there") for row, text in found.items()},
                         {paths[0].stem: False, paths[1].stem: False, paths[2].stem: True})
        for sample in samples[:3]:
            with self.refuses("weights .*: (their hash|they are)"):
                corpus[graphnet_ir.canonical_hash(sample, metas=True)]
        corpus.add(samples)
        self.assertEqual(list(corpus.verify()), [])

    def test_weights_that_no_source_names_are_freed(self) -> None:
        corpus = Corpus.create(self.path)
        corpus.add([with_weights(number, {"w": torch.full((9,), number)}) for number in range(3)],
                   source="a")
        corpus.add([with_weights(9, {"w": torch.full((9,), 2)}),
                    with_weights(10, {"w": torch.full((9,), 10)})], source="b")
        corpus.tag("all")
        # A kill leaves weights that nothing names, and half of a file.
        with mock.patch.object(corpus.jsons, "insert", side_effect=KeyboardInterrupt):
            with self.assertRaises(KeyboardInterrupt):
                corpus.add(with_weights(11, {"w": torch.full((9,), 11)}))
        (self.path / "weights" / "0123.new").write_bytes(b"half")
        self.assertEqual(len(self.stored()), 6)
        self.assertEqual(list(corpus.verify()), [])
        with layout.at_work(str(self.path)):
            corpus.compact()
        self.assertEqual(len(self.stored()), 6)  # Another process may be about to name them.
        corpus.compact()
        self.assertEqual(len(self.stored()), 4)
        corpus.remove(source="a")
        self.assertEqual(len(self.stored()), 4)  # The tag has them.
        for table in (corpus.sources, corpus.graphs, corpus.jsons):
            table.dataset.tags.delete("all")
        corpus.sources.dataset.cleanup_old_versions(older_than=datetime.timedelta(0))
        corpus.compact()
        self.assertEqual(len(self.stored()), 2)
        self.assertEqual(list(corpus.verify()), [])

    def test_another_corpus_brings_its_weights(self) -> None:
        weights = of_every_dtype()
        corpus = Corpus.create(self.path)
        corpus.add([with_weights(1, weights), with_weights(2, {"w": torch.ones(2)})])
        other = Corpus.create(self.folder / "other")
        other.add(self.path)
        self.assertEqual({row["id"] for row in other.sources.dataset.to_table().to_pylist()},
                         {row["id"] for row in corpus.sources.dataset.to_table().to_pylist()})
        self.check(other[graphnet_ir.canonical_hash(with_weights(1, {}), metas=True)], weights)
        self.assertEqual(sorted(path.name for path in (self.folder / "other").rglob("*.saf*")),
                         sorted(path.name for path in self.path.rglob("*.saf*")))

    def test_an_id_of_a_stranger_names_no_other_file(self) -> None:
        corpus = Corpus.create(self.path)
        corpus.add(with_weights(1, {"w": torch.ones(2)}))
        path, = self.stored().values()
        os.unlink(path)
        os.symlink("/etc/passwd", path)
        self.assertEqual([finding.kind for finding in corpus.verify()], ["damaged"])
        hash, = corpus
        with self.refuses("hash differs"):
            corpus[hash]

    def test_a_corpus_of_version_1_says_that_it_keeps_none(self) -> None:
        self.assertNotIn("weights", schemas(1)["sources"].names)
        shutil.copytree(pathlib.Path(__file__).parent / "corpus_v1", self.path)
        done = Corpus(self.path, "a").add(with_weights(1, {"w": torch.ones(2)}))
        self.assertEqual((done.added, done.without_weights), (1, 1))
        self.assertFalse((self.path / "weights").exists())
        self.assertEqual(list(Corpus(self.path).verify()), [])


if __name__ == "__main__":
    unittest.main()
