"""SQL over a corpus: equal to what Python counts, and nothing else is within its reach."""

import collections
import importlib.util
import os
import subprocess
import sys
import unittest

import pyarrow as pa

import graphnet_ir
from corpus_case import CorpusTest, sample


_HAS_DUCKDB = importlib.util.find_spec("duckdb") is not None
stranger = pa.table({"secret": [1]})


@unittest.skipUnless(_HAS_DUCKDB, "duckdb is not installed")
class SqlTest(CorpusTest):

    def test_answers_equal_what_python_counts(self) -> None:
        corpus = self.made(60)
        corpus.add([sample(3, "again"), sample(5, "more")], licence="mit")
        graphs = corpus.dataset.to_table().to_pylist()
        sources = corpus.sources.dataset.to_table().to_pylist()
        count = lambda rows: [{"n": sum(1 for _ in rows)}]  # noqa: E731
        one = graphs[7]["hash"]
        for query, values, wanted in [
                ("SELECT count(*) n FROM graphs", None, count(graphs)),
                ("SELECT count(*) n FROM graphs WHERE nodes BETWEEN 5 AND 8 AND "
                 "list_contains(targets, ?)", ["relu"],
                 count(g for g in graphs if 5 <= g["nodes"] <= 8 and "relu" in g["targets"])),
                ("SELECT blob FROM graphs WHERE hash = ?", [one], [{"blob": graphs[7]["blob"]}]),
                ("SELECT nodes FROM graphs WHERE hash = ? AND nodes > 0 AND inputs <> 3", [one],
                 [{"nodes": graphs[7]["nodes"]}]),
                ("SELECT count(*) n FROM graphs WHERE hash <> ? AND digest IS NOT NULL", [one],
                 count(g for g in graphs if g["hash"] != one)),
                ("SELECT count(*) n FROM graphs a, graphs b WHERE a.hash = b.hash AND a.nodes IN "
                 "(4, 6) AND b.nodes <> 4", None, count(g for g in graphs if g["nodes"] == 6)),
                ("SELECT count(*) n FROM sources WHERE (licence IN ('mit', 'x') OR name < 'b') AND "
                 "revision IS NULL", None, count(s for s in sources if s["licence"] == "mit"
                                                 or s["name"] < "b")),
                ("SELECT name FROM sources WHERE path LIKE '%gai%'", None, [{"name": "again"}])]:
            with self.subTest(query):
                self.assertEqual(corpus.sql(query, values).to_pylist(), wanted)
        known = {row["hash"]: row for row in graphs}
        wanted_calls: collections.Counter[tuple[str, str]] = collections.Counter()
        for row in sources:
            for target in known[row["hash"]]["targets"]:
                wanted_calls[row["source"], target] += 1
        rows = corpus.sql("SELECT source, t, count(*) n FROM (SELECT source, unnest(targets) t "
                          "FROM sources JOIN graphs USING (hash)) GROUP BY ALL").to_pylist()
        self.assertEqual({(row["source"], row["t"]): row["n"] for row in rows}, wanted_calls)

    def test_columns_of_jobs_and_versions(self) -> None:
        corpus = self.made(20)
        corpus.tag("old")
        corpus.map("corpus_jobs:calls")
        corpus.add([sample(200)])
        rows = corpus.sql("SELECT sum(calls) s, count(*) n FROM graphs").to_pylist()
        self.assertEqual(rows, [{"s": sum(
            len(corpus[hash].graph.find_nodes(op="call_function"))
            for hash in list(corpus)[:-1]), "n": len(corpus)}])
        old = graphnet_ir.Corpus(self.path, version="old")
        self.assertEqual(old.sql("SELECT count(*) n FROM graphs").to_pylist(), [{"n": len(old)}])

    def test_a_stranger_reaches_nothing_else(self) -> None:
        corpus = self.made(3)
        (self.folder / "x.csv").write_text("a\n1\n")
        file = self.folder / "x.csv"
        before = sorted(self.folder.rglob("*"))
        for query in [
                f"SELECT * FROM '{file}'", f"SELECT * FROM read_csv('{file}')",
                f"SELECT * FROM read_text('{file}')", f"SELECT * FROM read_blob('{file}')",
                f"SELECT * FROM glob('{self.folder}/*')",
                f"SELECT * FROM parquet_scan('{file}')", f"SELECT * FROM sniff_csv('{file}')",
                "SELECT * FROM read_text('http://127.0.0.1:9/x')",
                f"COPY graphs TO '{self.folder}/out.csv'", f"ATTACH '{self.folder}/new.db'",
                f"EXPORT DATABASE '{self.folder}/out'", "INSTALL httpfs", "LOAD httpfs",
                "SET enable_external_access = true", "RESET enable_external_access",
                "SELECT * FROM stranger", "SELECT * FROM corpus", "SELECT getenv('HOME')",
                f"SELECT * FROM query('COPY graphs TO ''{self.folder}/out.csv''')",
                f"SELECT * FROM enable_profiling(save_location := '{self.folder}/profile')",
                f"SELECT * FROM enable_logging(storage_path := '{self.folder}/log')",
                "SELECT * FROM arrow_scan(1, 2, 3)",
                "DROP VIEW graphs", "INSERT INTO sources SELECT * FROM sources",
                "CREATE TABLE t AS SELECT 1", "SELECT 1; SELECT 2", "", "SELEC", "\0"]:
            with self.subTest(query), self.assertRaises(graphnet_ir.Error) as refused:
                corpus.sql(query)
            self.assertEqual(str(refused.exception).count("\n"), 0)
        with self.refuses("a query of a corpus is one SELECT"):
            corpus.sql("DROP VIEW graphs")
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_time_and_memory_have_limits(self) -> None:
        corpus = self.made(3)
        with self.refuses("the query took more than 0.2 s"):
            corpus.sql("SELECT count(*) FROM range(1000000000) a, range(100000) b", seconds=0.2)
        with self.refuses("Out of Memory"):
            corpus.sql("SELECT string_agg(repeat('x', 1000000), '') FROM range(1000)",
                       memory=100 << 20)


class MissingTest(CorpusTest):

    def test_without_duckdb_one_line_says_what_to_install(self) -> None:
        self.made(1)
        (self.folder / "duckdb.py").write_text("raise ImportError('no duckdb here')")
        done = subprocess.run([sys.executable, "-c", "import graphnet_ir, sys\ntry:\n  graphnet_ir."
                               f"Corpus({str(self.path)!r}).sql('SELECT 1')\n"
                               "except graphnet_ir.Error as error:\n  print(error)"],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(
                                  [str(self.folder), os.environ["PYTHONPATH"]])})
        self.assertEqual(done.stdout.count("\n"), 1, done.stderr)
        self.assertIn("pip install 'graphnet_ir[corpus-sql]'", done.stdout)


if __name__ == "__main__":
    unittest.main()
