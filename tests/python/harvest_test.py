"""Harvest: each end that a model can come to, and the same files however a harvest was ended."""

import fcntl
import hashlib
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import types
import unittest
from collections.abc import Callable
from typing import Dict, List
from unittest import mock

import torch

import torchvision_operators  # noqa: F401 (before torchvision)

import graphnet_ir
from graphnet_ir.harvest import Limits, Options, Row, harvest
from graphnet_ir.harvest.building import plan
from graphnet_ir.harvest.failures import Failure
from graphnet_ir.limited.processes import Group
from graphnet_ir.harvest.publishing import hashes_of
from graphnet_ir.harvest.report import page
from graphnet_ir.harvest.runner import Runner
from graphnet_ir.harvest.sources import Access, Model, listed_sources, open_source

HERE = pathlib.Path(__file__).parent
MODELS = str(HERE / "harvest_models.py")
TOOL = os.environ.get("GRAPHNET_TOOL", str(pathlib.Path(sys.prefix, "bin", "graphnet")))
REVISION = 10 * "0abc"
CONFIG = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": 32,
          "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
          "vocab_size": 100}


def content(folder: pathlib.Path) -> dict[str, str]:
    """The hash of each published file, by its path."""
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.rglob("*")) if path.is_file()}


class HarvestTest(unittest.TestCase):

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hub = self.folder / "hub"

    def only(self, *names: str) -> None:
        """harvest_models.py yields these."""
        patch = mock.patch.dict(os.environ, HARVEST_MODELS=",".join(names))
        patch.start()
        self.addCleanup(patch.stop)

    def add(self, id: str, files: dict[str, str], card: str = "license: mit") -> pathlib.Path:
        snapshot = self.hub / ("models--" + id.replace("/", "--")) / "snapshots" / REVISION
        snapshot.mkdir(parents=True)
        for name, text in files.items():
            (snapshot / name).write_text(text)
        (snapshot / "README.md").write_text(f"---\n{card}\n---\n# {id}\n")
        return snapshot

    def run_harvest(self, *sources: str, out: str = "out", **options: object) -> dict[str, Row]:
        options.setdefault("prelude", str(HERE / "torchvision_operators.py"))
        options.setdefault("jobs", 2)
        rows = harvest(sources, str(self.folder / out), Options(**options))  # type: ignore
        return {row.id.partition(":")[2] or row.id: row for row in rows}

    def ends(self, rows: dict[str, Row]) -> dict[str, str]:
        return {name: row.failure or row.stage for name, row in rows.items()}


class EndsTest(HarvestTest):

    def test_each_failure_is_of_its_class(self) -> None:
        self.only("fine", "breaks", "duplicate", "raising", "forking", "leaving", "hungry",
                  "growing", "printing", "writing", "calling", "exiting", "crashing", "lying",
                  "unpickling", "unlicensed", "idle", "surrogates", "replaced", "hidden", "mute",
                  "boasting", "wide")
        rows = self.run_harvest(MODELS, limits=Limits(memory=3 << 30, files=200_000_000))
        self.assertEqual(self.ends(rows), {
            "fine": "published", "breaks": "published", "duplicate": "duplicate",
            "raising": "inputs", "forking": "processes", "leaving": "processes",
            "hungry": "memory", "growing": "memory", "printing": "output", "writing": "files",
            "calling": "network", "exiting": "crashed", "crashing": "crashed", "lying": "crashed",
            "unpickling": "pickled_weights", "unlicensed": "withheld", "idle": "capture",
            "surrogates": "inputs", "replaced": "processes", "hidden": "processes",
            "mute": "crashed", "boasting": "crashed", "wide": "published"})
        self.assertEqual(rows["raising"].message, "ValueError: a forward that raises")
        self.assertEqual(rows["raising"].failed_at, "analysed")
        for name, message in (
                ("exiting", "exit code 3"),
                ("calling", "the model asked for the network (127.0.0.1)"),
                ("surrogates", "ValueError: \\udcff\\ud83d"),
                ("boasting", "the process sent something other than progress"),
                ("lying", "the process sent something other than progress"),
                ("unpickling", "weights.bin is a pickle, which is not executed"),
                ("idle", "the model computes nothing that a graph could hold")):
            self.assertEqual(rows[name].message, message)
        self.assertRegex(str(rows["leaving"].message), r"the model left \d+ processes behind")

        out = self.folder / "out"
        samples = sorted(path.name for path in (out / "samples").iterdir())
        self.assertEqual(samples, ["harvest_models--breaks", "harvest_models--fine",
                                   "harvest_models--wide"])
        done = subprocess.run([TOOL, "check", str(out / "samples")], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        told = json.loads((out / "samples/harvest_models--breaks/provenance.json").read_text())
        self.assertEqual((told["model"], told["licence"], told["weights"], len(told["graphs"])),
                         ("harvest_models:breaks", "mit", "random", 3))
        index = [json.loads(line) for line in (out / "index.jsonl").read_text().splitlines()]
        self.assertEqual(len(index), 5)
        for row in index:
            self.assertEqual(graphnet_ir.canonical_hash(graphnet_ir.load(out / row["sample"])), row["hash"])
        for path in (out / "samples").rglob("*"):
            if path.is_file():
                self.assertNotIn(str(self.folder).encode(), path.read_bytes(), path)

        # The script of a model runs by itself, and captures the same.
        script = out / "samples/harvest_models--fine/capture.py"
        subprocess.run([sys.executable, str(script), str(self.folder / "again")], check=True,
                       capture_output=True)
        self.assertEqual((self.folder / "again/harvest_models--fine/model.py").read_bytes(),
                         (out / "samples/harvest_models--fine/model.py").read_bytes())

        # A second run does nothing; with the licence allowed it publishes one more.
        before = content(out)
        rows = self.run_harvest(MODELS, limits=Limits(memory=3 << 30, files=200_000_000))
        self.assertEqual(content(out), before)
        rows = self.run_harvest(MODELS, allow_unknown_licence=True)
        self.assertEqual(rows["unlicensed"].stage, "published")
        # Graphs that differ in sizes alone are duplicates on request.
        self.only("fine", "wide")
        rows = self.run_harvest(MODELS, out="same", same_sizes=True)
        self.assertEqual(self.ends(rows), {"fine": "published", "wide": "duplicate"})
        text = page(list(rows.values()))
        self.assertIn("<td>duplicate</td>", text.replace(' class="duplicate"', ""))

    def test_time_ends(self) -> None:
        self.only("hanging")
        rows = self.run_harvest(MODELS, limits=Limits(seconds=20))
        self.assertEqual(self.ends(rows), {"hanging": "time"})
        self.assertEqual(rows["hanging"].message, "more than 20 seconds")

    def test_configurations_that_try(self) -> None:
        bomb = "cos\nsystem\n(S'touch pickle-was-run'\ntR."
        self.add("a/auto", {"config.json": json.dumps({**CONFIG, "auto_map": {
            "AutoConfig": "net.Config", "AutoModel": "net.Net"}}),
            "net.py": "raise SystemExit('code was run')"})
        self.add("a/deep", {"config.json": "[" * 200_000})
        self.add("a/gated", {}, "extra_gated_prompt: Please agree.")
        self.add("a/link", {})
        os.symlink("/etc/passwd", self.hub / f"models--a--link/snapshots/{REVISION}/config.json")
        self.add("a/list", {"config.json": "[1, 2]"})
        evil = "1) or open('expression-was-run', 'w') or (1"
        self.add("a/expression", {"config.json": json.dumps({
            "model_type": "audio-spectrogram-transformer", "max_length": evil,
            "num_mel_bins": evil, "num_hidden_layers": 1})})
        self.add("a/name", {"config.json": json.dumps({"model_type": "../../x"})})
        self.add("a/nothing", {})
        self.add("a/untyped", {"config.json": "{}"})
        self.add("a/pickle", {"pytorch_model.bin": bomb})
        (self.hub / "models--a--empty/snapshots").mkdir(parents=True)
        rows = self.run_harvest(str(self.hub))
        self.assertIn(rows.pop("a/expression").stage, ("failed", "published"))
        for name, message in (
                ("a/auto", "the configuration has an auto_map: its code runs only with "
                           "--trust-remote-code"),
                ("a/link", "config.json is a link out of the repository"),
                ("a/name", "transformers has no model_type '../../x'"),
                ("a/nothing", "no config.json"),
                ("a/untyped", "the configuration names no model_type"),
                ("a/pickle", "no config.json, only pytorch_model.bin, which is a pickle"),
                ("a/empty", "a/empty has no snapshot in hub")):
            self.assertEqual(rows[name].message, message)
        self.assertEqual(self.ends(rows), {
            "a/auto": "remote_code", "a/deep": "bad_configuration", "a/gated": "gated",
            "a/link": "bad_configuration", "a/list": "bad_configuration",
            "a/name": "unknown_architecture", "a/nothing": "no_configuration",
            "a/untyped": "no_configuration",
            "a/pickle": "pickled_weights", "a/empty": "not_found"})
        self.assertFalse(list(self.folder.rglob("*-was-run")))

    def test_models_of_the_hub(self) -> None:
        code = ("import torch\nfrom transformers import PretrainedConfig, PreTrainedModel\n"
                "class Config(PretrainedConfig):\n    model_type = 'mine'\n"
                "class Net(PreTrainedModel):\n    config_class = Config\n"
                "    def __init__(self, config):\n        super().__init__(config)\n"
                "        self.layer = torch.nn.Embedding(config.vocab_size, 8)\n"
                "        self.post_init()\n"
                "    def forward(self, input_ids):\n        return self.layer(input_ids).sum(-1)\n")
        self.add("org/bert", {"config.json": json.dumps(CONFIG), "pytorch_model.bin": "no pickle"})
        self.add("org/large", {"config.json": json.dumps({**CONFIG, "num_hidden_layers": 16})})
        self.add("org/mine", {"net.py": code, "config.json": json.dumps({
            "model_type": "mine", "vocab_size": 50,
            "auto_map": {"AutoConfig": "net.Config", "AutoModel": "net.Net"}})},
            "license: other\nlicense_name: my-own")
        self.add("org/mystery", {"net.py": code.replace("input_ids", "mystery"),
                                 "config.json": json.dumps({
            "model_type": "mine", "vocab_size": 50,
            "auto_map": {"AutoConfig": "net.Config", "AutoModel": "net.Net"}})})
        self.add("org/mapless", {"config.json": json.dumps({
            "auto_map": {"AutoConfig": "net.Config"}})})
        rows = self.run_harvest(str(self.hub), max_parameters=60_000, shrink=True,
                                trust=["org/m*"])
        self.assertEqual(self.ends(rows), {"org/bert": "published", "org/large": "published",
                                           "org/mine": "published", "org/mystery": "inputs",
                                           "org/mapless": "bad_configuration"})
        self.assertEqual(rows["org/mystery"].message, "no rule makes the arguments mystery")
        self.assertEqual(rows["org/mapless"].message,
                         "auto_map names no AutoConfig, or no AutoModel")
        self.assertEqual(rows["org/large"].facts["halvings"], 2)
        self.assertEqual(rows["org/mine"].facts["licence"], "my-own")
        self.assertEqual(rows["org/bert"].facts["family"], "text")
        sample = graphnet_ir.load(self.folder / "out/samples/org--bert")
        self.assertEqual(json.loads(sample.graph_net_json)["model_name"], "org/bert")
        large = self.run_harvest(str(self.hub), out="other", max_parameters=60_000)
        self.assertEqual(large["org/large"].failure, "too_large")
        self.assertRegex(large["org/large"].message, "[0-9,]+ parameters, which take [0-9.]+ GB, "
                                                     "are more than 60,000 or 8.6 GB")


class BatchTest(HarvestTest):
    """One odd item never ends a harvest. Few models are built here."""

    def ended(self, *sources: str, **options: object) -> dict[str, Row]:
        """The rows of a harvest in which each model that is fetched ends there."""
        with mock.patch.object(Runner, "_environment", side_effect=LookupError("\ud83d")):
            return self.run_harvest(*sources, **options)

    def test_odd_repositories_have_rows(self) -> None:
        config = {"config.json": json.dumps(CONFIG)}
        bomb = "a0: &a0 [lol]\n" + "".join(
            f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10))
        for id, card in (("a/surrogate", 'license: "\\ud83d"'), ("a/date", "license: 2020-13-45"),
                         ("a/bomb", f"{bomb}license: other\nlicense_name: *a9"),
                         ("a/list", "license: other\nlicense_name: [mine]"),
                         ("a/tag", "license: !!python/object/apply:os.system [exit]"),
                         ("a/long", f"license: {'x' * 90_000}")):
            self.add(id, config, card)
        self.add("bad/name with blank", config)
        self.add("two/x--y", config)
        self.add("odd", {})
        (self.hub / "models--").mkdir()
        (self.hub / "models--..").mkdir()
        (self.hub / "models--file").write_text("")
        os.mkdir(os.fsencode(self.hub) + b"/models--bytes--\xff")
        begin = time.monotonic()
        rows = self.ended(str(self.hub), jobs=4)
        self.assertLess(time.monotonic() - begin, 30)
        ends = self.ends(rows)
        for name in ("a/surrogate", "a/date", "a/bomb", "a/list", "a/tag", "a/long",
                     "bad/name with blank", "two/x--y"):
            self.assertEqual(ends.pop(name), "unexpected", name)
        self.assertEqual(ends, {"odd": "no_configuration", "models--": "not_found",
                                "..": "not_found", "file": "not_found",
                                "bytes/\\udcff": "not_found"})
        self.assertEqual(rows["a/bomb"].facts["licence"], None)
        self.assertEqual(rows["a/list"].facts["licence"], "other")
        self.assertEqual(rows["a/surrogate"].facts["licence"], "\\ud83d")
        self.assertEqual(len(rows["a/long"].facts["licence"]), 300)
        # What ended stays ended, and the page can be written.
        self.assertEqual(self.ends(self.ended(str(self.hub))), self.ends(rows))
        page(list(rows.values())).encode()

    def test_files_of_others_among_the_samples_stay(self) -> None:
        self.only("fine")
        for name in ("notes.txt", "mine/data.csv", "model.safetensors", "subgraph_0/notes.txt"):
            with self.subTest(name):
                place = self.folder / name.replace("/", "-") / "samples" / "harvest_models--fine"
                (place / name).parent.mkdir(parents=True)
                (place / name).write_text("years of work")
                rows = self.run_harvest(MODELS, out=name.replace("/", "-"))
                self.assertEqual(self.ends(rows), {"fine": "unexpected"})
                self.assertRegex(str(rows["fine"].message), "not replaced, as it holds " + name.split("/")[0])
                self.assertEqual((place / name).read_text(), "years of work")

    def test_what_an_earlier_attempt_left_is_replaced(self) -> None:
        self.only("fine")
        place = self.folder / "out" / "samples" / "harvest_models--fine"
        place.mkdir(parents=True)
        for name in ("stitch.json", "capture.py", "provenance.json", "model.py"):
            (place / name).write_text("half")
        self.assertEqual(self.ends(self.run_harvest(MODELS)), {"fine": "published"})
        self.assertNotEqual((place / "stitch.json").read_text(), "half")

    def test_no_model_is_lost(self) -> None:
        names = ("a b", "a_b", "x/y", "x:y", ".hidden", "..", "a" * 300, "a" * 299 + "b", "twice",
                 "twice")
        for folder in ("one", "other"):
            (self.folder / folder).mkdir()
            (self.folder / folder / "models.py").write_text(
                "from graphnet_ir.harvest import PythonModel\n"
                f"def models():\n    return [PythonModel(n, None, None) for n in {names!r}]\n")
        sources = [str(self.folder / folder / "models.py") for folder in ("one", "other")]
        for _ in range(2):  # The second time goes on with the journal.
            with mock.patch.object(Runner, "_environment", side_effect=LookupError("end")):
                rows = harvest(sources, str(self.folder / "out"), Options(jobs=4))
            self.assertEqual(len(rows), 2 * len(names))
            self.assertEqual(len({row.place for row in rows}), len(rows))
            self.assertTrue(all(row.ended for row in rows))
            self.assertEqual(sum(row.failure == "not_found" for row in rows), 2)
            for row in rows:
                self.assertRegex(row.place, r"^[\w][\w.-]*$")
        harvest([os.path.relpath(source) for source in sources], str(self.folder / "out"))
        self.assertEqual(sqlite3.connect(self.folder / "out/journal.sqlite").execute(
            "SELECT COUNT(*) FROM models").fetchone(), (2 * len(names),))

    def test_any_exception_is_the_failure_of_its_model(self) -> None:
        class Bad:
            def list(self) -> List[Model]:
                return [Model(f"bad:{i}", "bad") for i in range(5)]

            def fetch(self, model: Model) -> Dict[str, object]:
                if model.id == "bad:0":
                    raise SystemExit("\udcff")
                if model.id == "bad:1":
                    raise RecursionError
                if model.id == "bad:2":
                    return {"library": "x", "config": {1, 2}}
                if model.id == "bad:3":
                    time.sleep(60)
                return {}

        with mock.patch("graphnet_ir.harvest.runner.open_source", return_value=Bad()):
            begin = time.monotonic()
            rows = self.run_harvest("bad", limits=Limits(seconds=2), jobs=5)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual({name: row.failure for name, row in rows.items()}, {
            "0": "unexpected", "1": "unexpected", "2": "unexpected", "3": "time",
            "4": "unexpected"})
        self.assertEqual(rows["3"].message, "more than 2 seconds to fetch it")

    def test_a_file_yields_one_model_of_a_name(self) -> None:
        file = self.folder / "models.py"
        file.write_text("from graphnet_ir.harvest import PythonModel\n"
                        "def models():\n    for _ in range(2):\n"
                        "        yield PythonModel('one', lambda: None, lambda: ())\n")
        source = open_source(str(file), Access(False, str(self.folder)))
        first, second = source.list()
        self.assertEqual(source.fetch(first)["config"]["name"], "one")
        with self.assertRaisesRegex(Failure, "the file yields an earlier model with this name"):
            source.fetch(second)
        with self.assertRaisesRegex(Failure, "models.py yields no model two"):
            source.fetch(Model("models:two", str(file)))

    def test_processes_of_an_earlier_harvest_are_waited_for(self) -> None:
        out = self.folder / "out"
        out.mkdir()
        with open(out / "lock.keepers", "w") as held, \
                mock.patch("graphnet_ir.harvest.runner.END_SECONDS", 0):
            fcntl.flock(held, fcntl.LOCK_EX)
            with self.assertRaisesRegex(graphnet_ir.Error,
                                        "processes of an earlier harvest still run in "):
                self.run_harvest(MODELS)

    def test_links_out_of_a_repository_below_a_folder_snapshots(self) -> None:
        self.hub = self.folder / "snapshots" / "hub"
        snapshot = self.add("a/link", {})
        (self.folder / "snapshots/config.json").write_text(json.dumps(CONFIG))
        (snapshot / "config.json").symlink_to(self.folder / "snapshots/config.json")
        self.assertEqual(self.ends(self.ended(str(self.hub))), {"a/link": "bad_configuration"})


class ProcessesTest(HarvestTest):

    def run_group(self, code: str, limits: Limits) -> tuple[str, int]:
        """The limit that a program exceeds, and how many processes it left."""
        group = Group([sys.executable, "-c", code], str(self.folder), dict(os.environ), limits,
                      tells=False)
        over = None
        while group.is_running and over is None:
            over = group.over()
            group.drain()
            time.sleep(0.02)
        left = group.close()
        return "" if over is None else over[0], left

    def sleepers(self) -> List[int]:
        """Processes whose command line has this test's folder."""
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    text = pathlib.Path("/proc", name, "cmdline").read_bytes()
                except OSError:
                    continue
                if f"{self.folder}/sleeps".encode() in text:
                    found.append(int(name))
        return found

    def test_no_process_escapes(self) -> None:
        sleep = f"'-c', 'import time; time.sleep(600)', '{self.folder}/sleeps'"
        child = f"subprocess.Popen([sys.executable, {sleep}], env={{}}, start_new_session=True)"
        for name, code in (
                ("another environment", f"{child}"),
                ("orphans", f"os.fork() or (os.setsid(), os.fork() or {child}, os._exit(0))"),
                ("its keeper ended", f"{child}; time.sleep(1); os.kill(os.getppid(), 9); "
                                     "time.sleep(600)"),
                ("its keeper stopped", f"{child}; time.sleep(1); os.kill(os.getppid(), 19)")):
            with self.subTest(name):
                _, left = self.run_group(f"import os, subprocess, sys, time; {code}",
                                         Limits(seconds=4))
                self.assertGreater(left, 0)
                self.assertEqual(self.sleepers(), [])
        over, _ = self.run_group(
            f"import os, sys, time; time.sleep(0.5); os.execve(sys.executable, "
            f"[sys.executable, {sleep}], {{}})", Limits(seconds=3))
        self.assertEqual((over, self.sleepers()), ("time", []))


class RefusalsTest(HarvestTest):
    """What a harvest refuses before it starts the process of a model."""

    def refuses(self, kind: str, message: str, function: Callable[..., object], *args: object,
                error: type = graphnet_ir.Error) -> None:
        with self.assertRaises(error) as caught:
            function(*args)
        self.assertEqual((caught.exception.kind, str(caught.exception)), (kind, message))

    def test_sources(self) -> None:
        offline = Access(False, str(self.folder))

        def names(text: str) -> List[Model]:
            return list(open_source(text, offline).list())

        for text in ("nonsense", "nothing.py", "nosuch:model", "hub"):
            self.refuses("not_found", f"{text} is not a source: a folder in the layout of the "
                         "hub's cache, a Python file, hub:ID, torchvision:NAME or timm:NAME",
                         names, text)
        self.refuses("not_found", f"{self.folder} has no folder models--ORG--NAME",
                     names, str(self.folder))
        for text in ("../x", "..", "a/..", "a/b/c", ""):
            self.refuses("invalid_argument", f"{text} is not the id of a model",
                         names, f"hub:{text}")
        file = self.folder / "empty.py"
        file.write_text("def model():\n    return []\n")
        self.refuses("invalid_argument", f"{file} has no function models()", names, str(file))
        self.refuses("not_found", "timm has no model nosuch*", names, "timm:resnet18,nosuch*")
        with mock.patch.dict(sys.modules, timm=None):
            self.refuses("failed_precondition", "timm cannot be imported: import of timm halted; "
                         "None in sys.modules", names, "timm:resnet18")

    def test_a_list_of_sources(self) -> None:
        models = self.folder / "models.py"
        models.write_text("def models():\n    return []\n")
        listed = self.folder / "list.txt"
        listed.write_text(f"# mine\n{models}  # a file\n\norg/net\ntimm:resnet*\n")
        self.assertEqual(listed_sources(str(listed)), [str(models), "hub:org/net", "timm:resnet*"])
        listed.write_text(f"{models}\norg/net\n")
        out = self.folder / "listed"
        done = subprocess.run([sys.executable, "-m", "graphnet_ir.harvest", "--list", str(listed),
                               "-o", str(out)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("org/net: failed before fetched: network", done.stdout + done.stderr)
        self.assertIn("1 models, 1 failed", done.stdout)
        done = subprocess.run([sys.executable, "-m", "graphnet_ir.harvest", "-o", str(out)],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr),
                         (2, "graphnet: needs sources: SOURCE, or --list FILE\n"))

    def test_the_prelude_runs_before_models_are_listed(self) -> None:
        prelude, models = self.folder / "prelude.py", self.folder / "models.py"
        prelude.write_text("import sys, types\n"
                           "sys.modules['not_installed'] = types.ModuleType('not_installed')\n")
        self.addCleanup(sys.modules.pop, "not_installed", None)
        models.write_text("import not_installed\n\n\ndef models():\n    return []\n")
        self.assertEqual(self.run_harvest(str(models), prelude=str(prelude)), {})
        prelude = self.folder / "broken.py"
        prelude.write_text("1 / 0\n")
        self.refuses("invalid_argument", f"{prelude}: ZeroDivisionError: division by zero",
                     lambda: self.run_harvest(str(models), prelude=str(prelude)))

    def test_the_hub(self) -> None:
        model = Model("org/net", "hub")
        hub = open_source("hub:org/net", Access(False, str(self.folder)))
        self.refuses("network", "the hub is asked only with --network", hub.fetch, model,
                     error=Failure)
        hub = open_source("hub:org/net", Access(True, str(self.folder)))
        with mock.patch.dict(sys.modules, huggingface_hub=None):
            self.refuses("missing_package", "the hub needs the package huggingface_hub", hub.fetch,
                         model, error=Failure)

    def test_architectures(self) -> None:
        job = {"id": "org/net", "place": "org--net", "seed": 0}

        def refuses(library: str, config: Dict[str, str], message: str) -> None:
            facts = {"library": library, "config": config, "revision": REVISION}
            self.refuses("unknown_architecture", message, plan, job, facts, error=Failure)

        refuses("timm", {"architecture": "nosuch"}, "timm has no model 'nosuch'")
        refuses("transformers", {"model_type": "align_text_model"},
                "transformers builds no model of align_text_model")
        # A module that has no models stands in for diffusers.
        diffusers = types.ModuleType("diffusers")
        diffusers.ModelMixin = torch.nn.Module  # type: ignore[attr-defined]
        with mock.patch.dict(sys.modules, diffusers=diffusers):
            refuses("diffusers", {"_class_name": "Nosuch"}, "diffusers has no model 'Nosuch'")

    def test_files_that_are_damaged(self) -> None:
        place = self.folder / "out"
        place.mkdir()
        (place / "journal.sqlite").write_text("years of work" * 100)
        self.refuses("data_loss", f"{place}/journal.sqlite is not a harvest's journal: "
                     "file is not a database", self.run_harvest, MODELS)
        self.assertEqual((place / "journal.sqlite").read_text(), "years of work" * 100)

        (self.folder / "stitch.json").write_text('{"subgraphs": [{"sample": "subgraph_0"}]}')
        (self.folder / "subgraph_0").mkdir()
        (self.folder / "subgraph_0/model.py").write_text("years of work")
        with self.assertRaisesRegex(Failure, "subgraph_0 cannot be read back: .*subgraph_0"):
            hashes_of(str(self.folder))

    def test_a_source_that_is_not_given_again(self) -> None:
        self.only("fine")
        Runner([MODELS], str(self.folder / "out"), Options()).close()
        other = self.folder / "other.py"
        other.write_text("def models():\n    return []\n")
        rows = self.run_harvest(str(other))
        self.assertEqual((rows["fine"].failure, rows["fine"].message),
                         ("not_found", f"{MODELS} is not among the sources any more"))


class ResumeTest(HarvestTest):

    NAMES = ("raising", "breaks", "fine", "duplicate", "unlicensed")

    def start(self, out: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [TOOL, "harvest", MODELS, "-o", str(self.folder / out), "--jobs=2"],
            env={**os.environ, "HARVEST_MODELS": ",".join(self.NAMES)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_killed_at_any_moment(self) -> None:
        begin = time.monotonic()
        self.assertEqual(self.start("whole").wait(), 0)
        seconds = time.monotonic() - begin
        draw = random.Random(1)
        for kill in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGKILL):
            process = self.start("killed")
            try:
                process.wait(draw.uniform(0.2, seconds / 2))
            except subprocess.TimeoutExpired:
                process.send_signal(kill)
                process.wait()
        self.assertEqual(self.start("killed").wait(), 0)
        self.assertEqual(content(self.folder / "killed/samples"),
                         content(self.folder / "whole/samples"))
        self.assertEqual((self.folder / "killed/index.jsonl").read_bytes(),
                         (self.folder / "whole/index.jsonl").read_bytes())
        self.assertTrue(content(self.folder / "whole/samples"))

    def test_ctrl_c_says_how_to_continue(self) -> None:
        self.only("hanging")
        out = self.folder / "out"
        with subprocess.Popen([sys.executable, "-m", "graphnet_ir.harvest", MODELS, "-o", str(out)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True) as process:
            while not list(out.glob("work/*/log.txt")) and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("graphnet: interrupted; the same command continues the harvest\n", said)

    def test_one_at_a_time(self) -> None:
        self.only("fine")
        first = self.start("out")
        try:
            journal = self.folder / "out/journal.sqlite"
            while not journal.exists() and first.poll() is None:
                time.sleep(0.05)
            with self.assertRaisesRegex(graphnet_ir.Error, "another harvest writes"):
                self.run_harvest(MODELS)
        finally:
            first.kill()
            first.wait()

    def test_a_repair_changes_the_script(self) -> None:
        self.only("raising")
        repair = self.folder / "repair.py"
        repair.write_text(
            "import json, sys\n"
            "told = json.load(sys.stdin)\n"
            "assert (told['class'], told['stage']) == ('inputs', 'fetched'), told\n"
            "text = open(told['script']).read()\n"
            "with open(told['script'], 'w') as file:\n"
            "    file.write(text.replace('raise ValueError', 'return x #'\n"
            "               if told['attempt'] == 2 else 'raise ValueError'))\n"
            "    file.write('# looked at\\n')\n")
        rows = self.run_harvest(MODELS, repair=f"{sys.executable} {repair}")
        self.assertEqual((rows["raising"].stage, rows["raising"].repairs), ("published", 2))
        told = json.loads((self.folder / "out/samples/harvest_models--raising/provenance.json")
                          .read_text())
        self.assertTrue(told["repaired"])
        self.assertEqual(sqlite3.connect(self.folder / "out/journal.sqlite").execute(
            "SELECT COUNT(DISTINCT place) FROM graphs").fetchone(), (1,))


if __name__ == "__main__":
    unittest.main()
