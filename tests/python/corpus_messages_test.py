"""Each message about a corpus, with what leads to it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Callable, Dict, List, Tuple

import lance
import pyarrow as pa

import graphnet_ir
from graphnet_ir import Corpus, Error, Sample
from graphnet_ir.corpus import job_worker, layout, tables
from graphnet_ir.corpus.__main__ import main
from graphnet_ir.corpus.jobs import described
from graphnet_ir.corpus.serving import Pages

_HERE = os.path.abspath(__file__)  # Processes of jobs find functions by their file.


def _sample(name: str = "s", call: str = "torch.relu(%x)") -> Sample:
    sample = graphnet_ir.parse(
        f"graph @forward(%x : f32[2, 3]) {{\n  %y = {call} : f32[2, 3]\n  return (%y,)\n}}\n")
    sample.name = name
    return sample


def _command(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "graphnet_ir.corpus", *arguments],
                          capture_output=True, text=True, check=False)
    return done.stderr


class MessagesTest(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "corpus")
        self.corpus = Corpus.create(self.path)
        self.corpus.add([_sample(), _sample("t", "torch.softmax(%x, 1)")])
        self.corpus = Corpus(self.path, "a")
        self.hash = next(iter(self.corpus.find("relu(%)"))).hash

    def say(self, cases: List[Tuple[str, Callable[[], Any]]]) -> None:
        for words, work in cases:
            with self.subTest(words):
                with self.assertRaisesRegex((Error, ValueError, TypeError, ImportError,
                                             RuntimeError), re.escape(words)):
                    work()

    def test_numbers_that_a_command_cannot_take(self) -> None:
        for words, arguments in (
                ("'x' is not a number of at least 0", ["find", "C", "--nodes", "x"]),
                ("'-1' is not a number", ["find", "C", "--nodes=-1"]),
                ("'20..10' has its greatest number first", ["find", "C", "--nodes", "20..10"]),
                ("'0' is not a number of at least 1", ["find", "C", "relu", "--limit", "0"]),
                ("'-1' is not a number of at least 1", ["find", "C", "relu", "--limit=-1"]),
                ("'-3' is not a number of at least 0", ["sample", "C", "-3"]),
                ("'train' is not PART=SHARE, such as train=8", ["split", "C", "train"]),
                ("'train=x' is not PART=SHARE", ["split", "C", "train=x"]),
                ("'0' is not a number of at least 1", ["map", "C", "-j", "0"]),
                ("'-1' is not a number of seconds above 0", ["map", "C", "--max-seconds=-1"]),
                ("'nan' is not a number of seconds above 0", ["map", "C", "--max-seconds", "nan"]),
                ("'1e9' is not a number of at least 1", ["map", "C", "--max-memory", "1e9"]),
                ("'99999' is not a number of at least 0 and at most 65535",
                 ["serve", "C", "--port", "99999"]),
                ("--calls and --limit need --by range, --by fusible or --by module",
                 ["duplicates", "C", "--limit", "3"]),
                ("a range has at least 1 call and at most 4096",
                 ["duplicates", "C", "--by", "range", "--calls", "0..3"]),
                ("give --source, --licence or --model", ["remove", "C"])):
            with self.subTest(arguments), contextlib.redirect_stderr(io.StringIO()) as told:
                try:
                    code = main([self.path if word == "C" else word for word in arguments])
                except SystemExit as end:
                    code = int(end.code or 0)
                self.assertEqual(code, 2)
                self.assertIn(words, told.getvalue())

    def test_of_the_corpus(self) -> None:
        corpus, reader = self.corpus, Corpus(self.path)
        self.say([
            ("mode must be 'r' or 'a'", lambda: Corpus(self.path, "w")),
            ("a tag can only be read", lambda: Corpus(self.path, "a", version="v1")),
            ("remove needs a source, a licence or a model", corpus.remove),
            (" is open for reading only: open it with mode 'a'", lambda: reader.add([_sample()])),
            ("a hash is text or bytes, not a int", lambda: corpus[3]),  # type: ignore[index]
            ("a corpus takes paths, samples, modules and bytes of protobuf, not int",
             lambda: corpus.add([3])),
            ("coverage is of targets, args, edges, dtypes, ranks, calls, flows, sizes, classes, "
             "buckets, not of 'names'",
             lambda: corpus.coverage(["names"])),
            ("a corpus is exported to ", lambda: corpus.export(self.folder + "/x", "csv")),
            ("by is 'exact', 'shape' or 'near', not 'size'", lambda: corpus.duplicates("size")),
            ("by is one of source, model, licence, size, class, bucket, not 'nodes'",
             lambda: corpus.sample(1, by="nodes")),
            ("each part needs a share above 0", lambda: corpus.split({"train": 0.0})),
            ("a filter cannot compare with ", lambda: tables.quoted([1])),
            (" has no view missing", lambda: corpus.view("missing")),
            ("'../x' is no name for a view", lambda: corpus.view("../x")),
        ])
        views = os.path.join(self.path, "views")
        os.makedirs(views, exist_ok=True)
        import pyarrow.parquet
        pyarrow.parquet.write_table(pa.table({"other": [1]}), os.path.join(views, "odd.parquet"))
        self.say([("it has other columns", lambda: corpus.view("odd"))])

    def test_of_files_that_are_not_as_they_were(self) -> None:
        told = json.loads(pathlib.Path(self.path, layout.MANIFEST).read_text())
        for change, words in (({"near_at": 2.0}, "near_at is not a similarity"),
                              ({"version": 99},
                               "is a corpus of version 99, and this graphnet reads version ")):
            pathlib.Path(self.path, layout.MANIFEST).write_text(json.dumps({**told, **change}))
            self.say([(words, lambda: Corpus(self.path))])
        self.say([("use a newer graphnet", lambda: Corpus(self.path))])
        pathlib.Path(self.path, layout.MANIFEST).write_text(json.dumps(told))
        with layout.at_work(self.path, alone=True):
            self.say([("is at work: another process removes graphs",
                       lambda: self.corpus.add([_sample()]))])

        graphs = lance.dataset(os.path.join(self.path, "graphs.lance"))
        rows = graphs.to_table()
        blobs = rows.column("blob").to_pylist()

        def changed(column: str, values: List[bytes]) -> Corpus:
            nonlocal rows
            place = rows.column_names.index(column)
            rows = rows.set_column(place, rows.schema.field(column),
                                   pa.array(values, rows.schema.field(column).type))
            graphs.merge_insert("hash").when_matched_update_all().execute(rows)
            return Corpus(self.path, "a")

        damaged = changed("blob", blobs[::-1])
        self.say([(f"graph {self.hash} is damaged: its digest differs",
                   lambda: damaged[self.hash])])
        mapped = damaged.map(_HERE + ":_nothing", name="damaged", processes=1)
        self.assertEqual({reason for _, reason in mapped.set_aside},
                         {"ValueError: the graph is damaged: its digest differs"})
        lying = changed("digest", rows.column("digest").to_pylist()[::-1])
        self.say([(f"graph {self.hash} is damaged: its hash differs", lambda: lying[self.hash])])
        graphs = lance.dataset(os.path.join(self.path, "graphs.lance"))
        graphs.drop_columns(["nodes"])
        self.say([(" has no column nodes of its type", lambda: Corpus(self.path))])

    def test_of_jobs(self) -> None:
        corpus = self.corpus

        def inner(sample: Sample) -> None:
            del sample

        self.say([
            ("'work' is not MODULE:FUNCTION", lambda: described("work")),
            ("a job needs a function that its processes can import, not one that is made inside "
             "of another", lambda: described(inner)),
            ("'.x' is no name for a job", lambda: corpus.map(_HERE + ":_nothing", name=".x")),
            ("the command ended with signal 9", lambda: job_worker.work_of(
                {"command": ["sh", "-c", "kill -9 $$", "{}"]}, self.folder)(b"")),
            ("a job's function returns a dict of columns, a Sample or None, not int",
             lambda: job_worker.told_of(3, "x")),
            ("column a has a list, which is no text, number or None",
             lambda: job_worker.told_of({"a": []}, "x")),
            (f"the columns take more than {job_worker._MAX_COLUMNS} bytes",
             lambda: job_worker.told_of({"a": "x" * job_worker._MAX_COLUMNS}, "x")),
            ("the job cannot begin: ", lambda: corpus.map("no_such_module:f", name="missing")),
            ("the job's process ended before its first graph: exit code 3",
             lambda: corpus.map(_file(self.folder, "import os; os._exit(3)") + ":f", name="ends")),
            ("is no name for a new column: it needs small letters, digits and _",
             lambda: corpus.map(_HERE + ":_bad_column", name="column", processes=1)),
        ])
        corpus.map(_HERE + ":_nothing", name="once", processes=1)
        self.say([("is a job of other work: give this one another name",
                   lambda: corpus.map(_HERE + ":_bad_column", name="once"))])
        with open(os.path.join(self.path, "jobs", "once", "lock"), "wb") as lock:
            import fcntl
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.say([("jobs/once is at work",
                       lambda: corpus.map(_HERE + ":_nothing", name="once"))])
        main = sys.modules["__main__"]
        place, main.__file__ = getattr(main, "__file__", None), "/nowhere/x.py"
        work = type(_nothing)(_nothing.__code__, {}, "work")
        work.__module__ = "__main__"
        self.addCleanup(setattr, main, "__file__", place)
        self.say([("a job needs a function of a file", lambda: described(work))])

    def test_of_the_command(self) -> None:
        for words, arguments in (
                ("give --function or a command, not both",
                 ("map", self.path, "--function", "m:f", "--", "true")),
                ("give a command behind --, or --function", ("map", self.path)),
                (" graphs have all 1 values of dtypes; at least 1 are needed",
                 ("stats", self.path, "--smallest", "--of", "dtypes")),
                (" groups, the largest of ", ("split", self.path, "train=1"))):
            self.assertIn(words, _command(*arguments))

    def test_of_the_pages(self) -> None:
        site = Pages(self.corpus)
        for words, conditions in (("a condition has at most 2000 letters", {"q": "x" * 3000}),
                                  ("nodes is a number, or two with .. between", {"nodes": "x"})):
            self.assertEqual(site.search(conditions, 0).error, words)


def _nothing(sample: Sample) -> None:
    del sample


def _bad_column(sample: Sample) -> Dict[str, int]:
    del sample
    return {"Not small": 1}


def _file(folder: str, text: str) -> str:
    path = os.path.join(folder, "module.py")
    pathlib.Path(path).write_text(text)
    return path


if __name__ == "__main__":
    unittest.main()
