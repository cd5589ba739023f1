"""The catalogue of samples as an SQLite file: its tables, beside what the samples have."""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import graphnet_ir

# The tables that GraphNet's scripts read, with their columns.
TIMES = ["create_at", "deleted", "delete_at"]
COLUMNS = {
    "repo": ["repo_uid", "repo_type", "repo_name", "repo_url"],
    "graph_sample": ["uuid", "repo_uid", "relative_model_path", "sample_type", "is_subgraph", "num_ops",
                     "graph_hash", "order_value", *TIMES],
    "subgraph_source": ["subgraph_uuid", "full_graph_uuid", "range_start", "range_end", *TIMES],
    "dimension_generalization_source": ["generalized_graph_uuid", "original_graph_uuid",
                                        "total_element_size", *TIMES],
    "datatype_generalization_source": ["generalized_graph_uuid", "original_graph_uuid", "data_type", *TIMES],
    "backward_graph_source": ["forward_graph_uuid", "backward_graph_uuid", "original_graph_uuid", *TIMES],
    "sample_op_name": ["sample_uuid", "op_name", "op_idx", "op_size", *TIMES],
    "sample_op_name_list": ["sample_uuid", "op_names_json", *TIMES],
    "sample_input_tensor_meta": ["sample_uuid", "input_name", "input_idx", "shape", "dtype", *TIMES],
    "graph_net_sample_buckets": ["sample_uid", "op_seq_bucket_id", "input_shapes_bucket_id",
                                 "input_dtypes_bucket_id", *TIMES],
    "graph_net_sample_groups": ["sample_uid", "group_uid", "group_type", "group_policy", "policy_version",
                                *TIMES],
}


def net(operators, shape, dtype="f32"):
    meta = f"{dtype}[{', '.join(map(str, shape))}]"
    lines = ["graphnet.module 1", "", f"graph @forward(%x : {meta} {{mean = 0.0, std = 1.0}}) {{"]
    value = "x"
    for place, operator in enumerate(operators):
        lines.append(f"  %v{place} = torch.{operator}(%{value}) : {meta}")
        value = f"v{place}"
    return "\n".join([*lines, f"  return (%{value},)", "}", "end", ""])


class CatalogueTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = pathlib.Path(self.folder.name)

    def write(self, path, operators, shape=(2, 64), dtype="f32"):
        place = self.root / "out" / f"{path}.gn"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(net(operators, shape, dtype))
        return place

    def pieces(self, path, into, every):
        sample = graphnet_ir.load(self.root / "out" / f"{path}.gn")
        sample.name = os.path.basename(path)
        made = sample.decompose(size=every)
        for number, piece in enumerate(made.pieces):
            place = self.root / "out" / into / f"{path}_decomposed" / f"subgraph_{number}.pb"
            place.parent.mkdir(parents=True, exist_ok=True)
            piece.save(place)
        return made

    def ask(self, sql, *values):
        with sqlite3.connect(self.root / "data.sqlite") as base:
            return base.execute(sql, values).fetchall()

    def path_of(self, uuid):
        return self.ask("SELECT relative_model_path FROM graph_sample WHERE uuid = ?", uuid)[0][0]

    def make(self, **options):
        return graphnet_ir.catalogue(self.root / "out", self.root / "data.sqlite", **options)

    def test_tables_have_the_columns_of_graphnet(self):
        self.write("a", ["relu"])
        self.make()
        found = {name for (name,) in self.ask("SELECT name FROM sqlite_master WHERE type = 'table'")}
        self.assertEqual(found, set(COLUMNS))
        for table, columns in COLUMNS.items():
            with self.subTest(table):
                self.assertEqual([row[1] for row in self.ask(f"PRAGMA table_info({table})")], columns)
        self.assertEqual(self.ask("PRAGMA foreign_key_check"), [])

    def test_samples_and_their_sources(self):
        operators = ["relu", "tanh", "exp", "sigmoid", "relu"]
        self.write("timm/a", operators)
        self.write("other/a", operators)  # another sample of the same name
        self.pieces("timm/a", "typical", 2)
        self.pieces("timm/a", "fusible_graphs", 4)
        self.pieces("other/a", "sole", 1)
        made = self.make(types={"sole": "sole_op_graph"})
        self.assertEqual((made.samples, made.refused, made.without_original), (2 + 3 + 2 + 5, [], []))
        self.assertEqual(
            self.ask("SELECT sample_type, count(*), sum(num_ops), sum(is_subgraph) FROM graph_sample "
                     "GROUP BY sample_type ORDER BY sample_type"),
            # The last piece of four has one operator.
            [("full_graph", 2, 10, 0), ("fusible_graph", 1, 4, 1), ("sole_op_graph", 7, 7, 7),
             ("typical_graph", 2, 4, 2)])
        rows = self.ask("SELECT subgraph_uuid, full_graph_uuid, range_start, range_end FROM subgraph_source")
        self.assertEqual(len(rows), 10)
        for piece, whole, start, end in rows:
            path = self.path_of(piece)
            name = "other/a" if path.startswith("sole/") else "timm/a"
            self.assertEqual(self.path_of(whole), name, path)
            names = self.ask("SELECT op_name FROM sample_op_name WHERE sample_uuid = ? ORDER BY op_idx", piece)
            self.assertEqual([name for (name,) in names], operators[start:end])
            [(text,)] = self.ask("SELECT op_names_json FROM sample_op_name_list WHERE sample_uuid = ?", piece)
            self.assertEqual([(one["op_name"], one["op_idx"]) for one in json.loads(text)],
                             [(name, place) for place, name in enumerate(operators[start:end])])
        orders = [order for (order,) in self.ask("SELECT order_value FROM graph_sample ORDER BY relative_model_path")]
        self.assertEqual(sorted(orders), list(range(12)))

    def test_hashes_and_inputs(self):
        place = self.write("a", ["relu"], (3, 5), "f16")
        self.make()
        [(hash, uuid)] = self.ask("SELECT graph_hash, uuid FROM graph_sample")
        self.assertEqual(hash, graphnet_ir.canonical_hash(graphnet_ir.load(place), metas=True))
        self.assertEqual(self.ask("SELECT input_name, input_idx, shape, dtype FROM sample_input_tensor_meta "
                                  "WHERE sample_uuid = ?", uuid), [("x", 0, "[3, 5]", "torch.float16")])

    def test_sizes_dtypes_and_gradients(self):
        self.write("m/a", ["relu"], (2, 64))
        self.write("3/m/a", ["relu"], (16, 64))
        self.write("bfloat16/m/a", ["relu"], (2, 64), "bf16")
        self.write("0/bfloat16/m/a", ["relu"], (4, 64), "bf16")
        for step in ("eval_forward", "train_forward", "train_backward"):
            self.write(f"{step}/m/a", ["relu"])
        self.make()
        sizes = {self.path_of(made): (self.path_of(of), size) for made, of, size in self.ask(
            "SELECT generalized_graph_uuid, original_graph_uuid, total_element_size "
            "FROM dimension_generalization_source")}
        self.assertEqual(sizes, {"3/m/a": ("m/a", 1024), "0/bfloat16/m/a": ("bfloat16/m/a", 256)})
        dtypes = {self.path_of(made): (self.path_of(of), dtype) for made, of, dtype in self.ask(
            "SELECT generalized_graph_uuid, original_graph_uuid, data_type FROM datatype_generalization_source")}
        self.assertEqual(dtypes, {"bfloat16/m/a": ("m/a", "bfloat16")})
        [(forward, backward, original)] = self.ask(
            "SELECT forward_graph_uuid, backward_graph_uuid, original_graph_uuid FROM backward_graph_source")
        self.assertEqual([*map(self.path_of, (forward, backward, original))],
                         ["train_forward/m/a", "train_backward/m/a", "m/a"])

    def test_buckets_and_groups(self):
        # 40 pieces of one bucket, of which the dtypes differ; one of another size; another sequence.
        types = {"p": "typical_graph"}
        for number in range(40):
            self.write(f"p/s{number:02}", ["relu", "tanh"], (16 + number,), ["f32", "f16", "bf16", "f64"][number % 4])
        self.write("p/large", ["relu", "tanh"], (256,))
        self.write("p/other", ["tanh", "relu"], (16,))
        self.make(types=types)
        buckets = dict(self.ask("SELECT op_seq_bucket_id || input_shapes_bucket_id, count(*) "
                                "FROM graph_net_sample_buckets GROUP BY 1"))
        self.assertEqual(buckets, {'["relu", "tanh"][[1]]': 40, '["relu", "tanh"][[2]]': 1,
                                   '["tanh", "relu"][[1]]': 1})
        rows = self.ask("SELECT group_uid, group_policy, count(*) FROM graph_net_sample_groups "
                        "JOIN graph_sample ON uuid = sample_uid GROUP BY 1, 2")
        first = sorted(count for _, policy, count in rows if policy == "bucket_policy_v1")
        second = sorted(count for _, policy, count in rows if policy == "bucket_policy_v2")
        # Two heads of the first sequence, one of the second, and the 17th and 33rd of the large bucket alone.
        self.assertEqual(first, [1, 1, 1, 2])
        # Of the other 37, three dtypes; of the 34 left, the first three of each 15.
        self.assertEqual(second, [3, 3 + 3 + 3])
        [(both,)] = self.ask("SELECT count(*) FROM (SELECT sample_uid FROM graph_net_sample_groups "
                             "GROUP BY 1 HAVING count(DISTINCT group_policy) > 1)")
        self.assertEqual(both, 0)

    def test_deduplicated_pieces_keep_what_they_were(self):
        self.write("a", ["relu", "tanh"])
        self.write("piece", ["tanh"])
        (self.root / "out" / "piece.subgraph_sources.json").write_text('{"gone": [[0, 1]], "a": [[1, 2], [5, 6]]}')
        self.make()
        [(start, end)] = self.ask("SELECT range_start, range_end FROM subgraph_source")
        self.assertEqual((start, end), (1, 2))

    def test_what_cannot_be_read_is_left_out(self):
        self.write("a", ["relu"])
        (self.root / "out" / "broken.gn").write_text("graphnet.module 1\n\ngraph @forward(%x) {\n")
        self.write("piece", ["tanh"])
        (self.root / "out" / "piece.subgraph_sources.json").write_text('{"a": 3}')
        made = self.make()
        self.assertEqual([path for path, _ in made.refused], ["broken", "piece"])
        self.assertIn("subgraph_sources.json has no lists of ranges (", made.refused[1][1])
        self.assertEqual(made.samples, 1)
        self.write("lone", ["tanh"])
        (self.root / "out" / "lone.subgraph_sources.json").write_text('{"nowhere": [[0, 1]]}')
        self.assertEqual(self.make().without_original, ["lone"])

    def test_it_is_written_whole_and_again(self):
        self.write("a", ["relu"])
        self.make()
        before = self.ask("SELECT uuid, graph_hash FROM graph_sample")
        self.make()
        self.assertEqual(self.ask("SELECT uuid, graph_hash FROM graph_sample"), before)
        (self.root / "notes.txt").write_text("mine, not a catalogue")
        with self.assertRaisesRegex(graphnet_ir.Error, "is not an SQLite file"):
            graphnet_ir.catalogue(self.root / "out", self.root / "notes.txt")
        with self.assertRaisesRegex(graphnet_ir.Error, "a type is one of"):
            self.make(types={"a": "half_graph"})
        with self.assertRaisesRegex(graphnet_ir.Error, "is not a folder"):
            graphnet_ir.catalogue(self.root / "nothing", self.root / "data.sqlite")
        self.assertEqual(self.ask("SELECT uuid, graph_hash FROM graph_sample"), before)
        self.assertEqual(sorted(os.listdir(self.root)), ["data.sqlite", "notes.txt", "out"])

    def test_commands(self):
        self.write("m/a", ["relu", "tanh"])
        self.pieces("m/a", "pieces", 1)

        def run(code, *words):
            done = subprocess.run([sys.executable, "-P", "-m", "graphnet_ir.corpus", *map(str, words)],
                                  capture_output=True, text=True, cwd=self.root)
            self.assertEqual(done.returncode, code, done.stderr)
            return done.stdout + done.stderr

        told = run(0, "catalogue", "out", "-o", "data.sqlite", "--type", "pieces=typical_graph")
        self.assertIn("3 samples, 2 sources", told)
        self.assertEqual(len(self.ask("SELECT * FROM graph_sample WHERE sample_type = 'typical_graph'")), 2)
        self.write("broken", ["relu("])
        self.assertIn("broken is left out", run(2, "catalogue", "out", "-o", "data.sqlite"))
        os.remove(self.root / "out" / "broken.gn")

        corpus = graphnet_ir.Corpus.create(self.root / "c")
        corpus.add([self.root / "out"])
        run(0, "export", "c", "--sqlite", "-o", "corpus.sqlite")
        with sqlite3.connect(self.root / "corpus.sqlite") as base:
            kinds = dict(base.execute("SELECT sample_type, count(*) FROM graph_sample GROUP BY 1").fetchall())
            sources = base.execute("SELECT range_start, range_end FROM subgraph_source ORDER BY 1").fetchall()
        self.assertEqual(kinds, {"full_graph": 1, "sole_op_graph": 2})
        self.assertEqual(sources, [(0, 1), (1, 2)])


if __name__ == "__main__":
    unittest.main()
