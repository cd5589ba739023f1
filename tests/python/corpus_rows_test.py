"""The rows, terms and near duplicates of a corpus as tables of Arrow, read by pyarrow."""
import gc
import os
import random
import sys
import tempfile
import threading
import unittest

import pyarrow
import graphnet_ir
from graphnet_ir import _core

GRAPH = """graph @forward(%x: f32[2, 8, 4, 4], %w: f32[8, 1, 3, 3]) {
  %a = torch.conv2d(%x, %w, groups = 8)
  %b = .relu_(%a)
  return %b
}
"""


def sample_of(text=GRAPH, name="net"):
    sample = graphnet_ir.parse(text)
    sample.name = name
    return sample


def rows_of(items, **options):
    table = pyarrow.record_batch(_core._corpus_rows(items, **options))
    table.validate(full=True)
    return table


class RowsTest(unittest.TestCase):
    def test_a_row_has_what_the_sample_has(self):
        sample = sample_of()
        sample.graph_net_json = '{"framework": "torch"}'
        row, = rows_of([sample]).to_pylist()
        self.assertEqual(row["hash"].hex(), graphnet_ir.canonical_hash(sample, metas=True))
        self.assertEqual(row["name"], "net")
        self.assertEqual(row["json"], '{"framework": "torch"}')
        self.assertEqual((row["nodes"], row["inputs"], row["outputs"], row["parameters"]),
                         (5, 2, 1, 0))
        self.assertEqual(dict(zip(row["targets"], row["counts"])), {"conv2d": 1, "relu": 1})
        self.assertEqual(row["args"], ["conv2d.groups=8"])
        self.assertEqual(row["edges"], ["conv2d>relu"])
        self.assertEqual(row["dtypes"], ["float32"])
        self.assertEqual(row["ranks"], [4])
        self.assertEqual(row["features"], sorted(set(row["features"])))
        self.assertIsNone(row["refused"])
        again = graphnet_ir.load_bytes(row["blob"])
        self.assertEqual(graphnet_ir.canonical_hash(again, metas=True), row["hash"].hex())
        self.assertEqual(again.name, "")

    def test_samples_modules_and_bytes_give_one_row_each(self):
        sample = sample_of()
        stored = graphnet_ir.to_bytes(sample)
        rows = rows_of([sample, sample.module, stored, bytearray(stored), memoryview(stored)])
        self.assertEqual(len(set(rows["blob"].to_pylist())), 1)
        self.assertEqual(len(set(rows["hash"].to_pylist())), 1)
        self.assertEqual(rows["refused"].null_count, 5)

    def test_one_bad_item_is_a_row_with_a_reason(self):
        stored = graphnet_ir.to_bytes(sample_of())
        damaged = bytearray(stored)
        damaged[len(damaged) // 2] ^= 1
        unfinished = graphnet_ir.parse(GRAPH).module
        unfinished.graph.erase_node(list(unfinished.graph.nodes)[-1])
        items = [stored, b"", bytes(damaged), stored[:-1], unfinished, stored]
        rows = rows_of(items, threads=2)
        for column in rows.schema.names:
            is_null = [value is None for value in rows[column].to_pylist()]
            if column == "refused":
                self.assertEqual(is_null, [True, False, False, False, False, True])
            elif column != "json":
                self.assertEqual(is_null, [False, True, True, True, True, False], column)
        with self.assertRaisesRegex(TypeError, "an item must be a Sample, a Module or bytes, not a int"):
            _core._corpus_rows([3])

    def test_no_items_give_an_empty_table(self):
        self.assertEqual(rows_of([]).num_rows, 0)
        self.assertIn("features", rows_of([]).schema.names)

    def test_a_table_outlives_what_it_was_made_from(self):
        array = _core._corpus_rows([sample_of(name=f"net {i}") for i in range(100)])
        names = pyarrow.record_batch(array)["name"]
        rows = pyarrow.record_batch(array)
        del array
        gc.collect()
        self.assertEqual(names.to_pylist(), [f"net {i}" for i in range(100)])
        self.assertEqual(rows["name"].to_pylist(), names.to_pylist())

    def test_capsules_that_nobody_takes_are_freed(self):
        array = _core._corpus_rows([sample_of() for _ in range(200)])

        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

        for turn in range(3000):
            if turn == 500:
                before = resident()
            array.__arrow_c_array__()
            array.__arrow_c_schema__()
        self.assertLess(resident() - before, 4 << 20)
        self.assertEqual(sys.getrefcount(array), 2)

    def test_the_rows_of_paths_are_those_of_samples(self):
        with tempfile.TemporaryDirectory() as folder:
            sample = sample_of()
            graphnet_ir.save(sample, f"{folder}/a.pb")
            graphnet_ir.save(sample, f"{folder}/b")
            with open(f"{folder}/c.pb", "w") as file:
                file.write("nothing")
            paths = [f"{folder}/{name}" for name in ("a.pb", "b", "c.pb", "missing")]
            table = pyarrow.record_batch(_core._corpus_rows_of_paths(paths))
            self.assertEqual(table["path"].to_pylist(), paths)
            self.assertEqual(table["place"].to_pylist(), [0, 0, 0, 0])
            own = rows_of([sample])
            for column in ("hash", "shape_hash", "features", "edges"):
                self.assertEqual(table[column].to_pylist()[:2], own[column].to_pylist() * 2)
            self.assertEqual([bool(reason) for reason in table["refused"].to_pylist()],
                             [False, False, True, True])

    def test_a_stream_gives_a_row_for_each_sample(self):
        samples = [sample_of(name=f"s{i}") for i in range(3)]
        parts = [graphnet_ir.to_bytes(sample) for sample in samples]

        def varint(number):
            data = b""
            while number >= 0x80:
                data, number = data + bytes([number & 0x7F | 0x80]), number >> 7
            return data + bytes([number])

        stream = b"".join(varint(len(part)) + part for part in parts)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/all.pbs"
            # The stream lacks its end, so that a last row says so.
            with open(path, "wb") as file:
                file.write(stream)
            table = pyarrow.record_batch(_core._corpus_rows_of_paths([path]))
            self.assertEqual(table["name"].to_pylist(), ["s0", "s1", "s2", None])
            self.assertEqual(table["place"].to_pylist(), [0, 1, 2, 3])
            self.assertIsNotNone(table["refused"].to_pylist()[3])

    def test_provenance_is_a_column(self):
        cut = graphnet_ir.decompose(sample_of(), positions=[1], style="dag")
        rows = rows_of(list(cut.pieces))
        for piece, parents in zip(cut.pieces, rows["parents"].to_pylist()):
            self.assertEqual([(p["name"], p["hash"], p["start"], p["end"]) for p in parents],
                             [(p["parent"], p["parent_hash"], p["start"], p["end"])
                              for p in piece.provenance])
            self.assertEqual(len(parents), 1)

    def test_other_threads_run_meanwhile(self):
        samples = [sample_of() for _ in range(50)]
        tables = []
        threads = [threading.Thread(target=lambda: tables.append(rows_of(samples)))
                   for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(tables), 4)
        self.assertTrue(all(table.equals(tables[0]) for table in tables))


class QueryTest(unittest.TestCase):
    def test_terms(self):
        self.assertEqual(
            _core._query_terms("relu(conv2d(groups=8))"),
            [("targets", ["conv2d"]), ("args", ["conv2d.groups=8"]), ("targets", ["relu"]),
             ("edges", ["conv2d>relu"])])
        with self.assertRaisesRegex(graphnet_ir.Error, "query:1: expected the name"):
            _core._query_terms("(")

    def test_matches_and_errors(self):
        blob = rows_of([sample_of()])["blob"][0].as_py()
        found = _core._match_blobs("relu(conv2d())", [blob, b"no", memoryview(blob)])
        self.assertEqual([found[0], found[2]], [1, 1])
        self.assertIn("not a graphnet sample", found[1])
        self.assertEqual(_core._match_blobs("gelu", [blob]), [0])


class NearTest(unittest.TestCase):
    def test_pairs_are_those_of_brute_force(self):
        chance = random.Random(7)
        lists = []
        for _ in range(150):
            features = set(chance.choice(lists)) if lists and chance.random() < 0.7 else set()
            features |= {chance.getrandbits(64) for _ in range(chance.randrange(6))}
            lists.append(sorted(features))
        for threshold in (0.5, 0.8, 0.9, 1.0):
            expected = []
            for a in range(len(lists)):
                for b in range(a + 1, len(lists)):
                    both = len(set(lists[a]) & set(lists[b]))
                    if both and both / len(set(lists[a]) | set(lists[b])) >= threshold:
                        expected.append((a, b, both / len(set(lists[a]) | set(lists[b]))))
            column = pyarrow.array(lists, pyarrow.list_(pyarrow.uint64()))
            large = column.cast(pyarrow.large_list(pyarrow.uint64()))
            padded = pyarrow.concat_arrays([column[:9], column])[9:]
            for features in (lists, column, large, padded):
                found = pyarrow.record_batch(_core._near_pairs(features, threshold))
                found.validate(full=True)
                self.assertEqual([tuple(pair.values()) for pair in found.to_pylist()], expected)
            tokens = pyarrow.array(_core._prefix_tokens(column, threshold)).to_pylist()
            for a, b, _ in expected:
                self.assertTrue(set(tokens[a]) & set(tokens[b]))

    def test_a_list_that_is_not_there_is_empty(self):
        column = pyarrow.array([[1, 2], None, []], pyarrow.list_(pyarrow.uint64()))
        self.assertEqual(pyarrow.array(_core._prefix_tokens(column, 0.5)).to_pylist(),
                         [[1, 2], [], []])

    def test_bad_features_are_refused(self):
        with self.assertRaisesRegex(ValueError, "graph 1 are not in ascending order"):
            _core._near_pairs([[1], [2, 2]], 0.9)
        with self.assertRaisesRegex(TypeError, "a column of lists of 64-bit integers"):
            _core._near_pairs(pyarrow.array([1, 2]), 0.9)
        with self.assertRaisesRegex(graphnet_ir.Error, "above 0 and at most 1"):
            _core._prefix_tokens([[1]], float("nan"))


if __name__ == "__main__":
    unittest.main()
