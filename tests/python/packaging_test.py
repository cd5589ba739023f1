"""The wheel as it is installed: what is in it, what it brings along, and what it does not touch.

GRAPHNET_WHEEL is the wheel, which is installed into environments of its own, too.
"""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

import graphnet_ir

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "resnet.pb"
PACKAGE = pathlib.Path(graphnet_ir.__file__).parent
WHEEL = pathlib.Path(os.environ["GRAPHNET_WHEEL"]).resolve()
VERSION = importlib.metadata.version("graphnet_ir")
MOST_BYTES = 20_000_000

USE_OTHERS = """
import io
import google.protobuf.struct_pb2
import onnx
import sentencepiece

value = google.protobuf.struct_pb2.Struct()
value["one"] = 1
assert type(value).FromString(value.SerializeToString())["one"] == 1

x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy")
graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
model = onnx.helper.make_model(graph)
onnx.checker.check_model(onnx.load_from_string(model.SerializeToString()))
onnx.shape_inference.infer_shapes(model)

written = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(["a graph of nodes", "a node of a graph"] * 9), model_writer=written,
    vocab_size=20, hard_vocab_limit=False, minloglevel=2)
words = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
assert words.decode(words.encode("a graph")) == "a graph"
"""

USE_GRAPHNET = f"""
import graphnet_ir
sample = graphnet_ir.load({str(SAMPLE)!r})
assert len(list(sample.graph.nodes)) > 100
assert graphnet_ir.load_bytes(graphnet_ir.to_bytes(sample)).graph.nodes
"""

RUN = f"""
import graphnet_ir
try:
    graphnet_ir.run(graphnet_ir.load({str(SAMPLE)!r}))
except graphnet_ir.Error as error:
    print(error)
"""


def run(*command: object) -> subprocess.CompletedProcess[str]:
    """Runs a command far from this source tree; nothing of the environment helps it."""
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd="/",
                          env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}, check=False)


def names_in(library: pathlib.Path) -> list[str]:
    """The symbols that others see of a library, each behind its kind."""
    done = run("nm", "--dynamic", "--defined-only", library)
    return [line.split(maxsplit=1)[1] for line in done.stdout.splitlines()]


class WheelTest(unittest.TestCase):

    def test_it_is_small_and_says_where_it_runs(self) -> None:
        self.assertLessEqual(WHEEL.stat().st_size, MOST_BYTES)
        minor = sys.version_info.minor
        self.assertRegex(WHEEL.name, rf"^graphnet_ir-{VERSION}-cp3{minor}-cp3{minor}-manylinux_"
                                     r".*_x86_64\.whl$")
        found = importlib.metadata.metadata("graphnet_ir")
        self.assertEqual(found["Requires-Python"], f">=3.{minor},<3.{minor + 1}")
        self.assertEqual(found.get_all("Requires-Dist"), [
            'pylance<15,>=14; extra == "corpus"', 'pyarrow; extra == "corpus"',
            'graphnet_ir[corpus]; extra == "corpus-serve"', 'starlette; extra == "corpus-serve"',
            'uvicorn; extra == "corpus-serve"',
            'duckdb; extra == "corpus-sql"', 'graphnet_ir[corpus]; extra == "corpus-sql"',
            'tqdm; extra == "notebook"',
            'graphnet_ir[corpus]; extra == "ray"', 'ray<3,>=2.60; extra == "ray"',
            'torch==2.13.*; extra == "torch"'])

    def test_it_has_the_licence_of_each_thing_inside(self) -> None:
        with zipfile.ZipFile(WHEEL) as wheel:
            licences = {name.rpartition("/")[2]: wheel.read(name).decode()
                        for name in wheel.namelist() if "/licenses/" in name}
        self.assertEqual(set(licences), {
            "graphnet", "libabsl-dev", "libcli11-dev", "libprotobuf-dev", "libssl-dev", "nanobind",
            "nlohmann-json3-dev", "rapidjson-dev", "robin_map"})
        self.assertIn("Wenzel Jakob", licences["nanobind"])
        self.assertIn("MIT License", licences["robin_map"])

    def test_only_names_of_graphnet_and_abseil_are_visible(self) -> None:
        for name in names_in(PACKAGE / "libgraphnet_core.so"):
            self.assertRegex(name, r"8graphnet|4absl")
        for library in [*PACKAGE.glob("_core*.so"), PACKAGE / "libgraphnet_engine.so"]:
            for name in names_in(library):
                self.assertRegex(name, r"8graphnet|4absl|^T GraphnetEngine$|^T PyInit__core$")

    def test_only_the_plugin_links_libtorch(self) -> None:
        for path in [*PACKAGE.glob("*.so"), PACKAGE / "bin" / "graphnet"]:
            said = run("readelf", "--dynamic", path).stdout
            needed = set(re.findall(r"NEEDED.*\[(.*)\]", said))
            self.assertEqual(bool(needed & {"libtorch.so", "libtorch_cpu.so", "libc10.so"}),
                             path.name == "libgraphnet_engine.so", path)
            self.assertNotRegex(" ".join(needed), "absl|proto|crypto|python")


class InstalledTest(unittest.TestCase):

    def test_versions(self) -> None:
        self.assertEqual(graphnet_ir.__version__, VERSION)

    def test_importing_takes_neither_torch_nor_numpy(self) -> None:
        done = run(sys.executable, "-X", "importtime", "-c", "import sys, graphnet_ir\n"
                   "print(*sys.modules)")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual({"torch", "numpy"} & set(done.stdout.split()), set())
        microseconds = int(done.stderr.splitlines()[-1].split("|")[1])
        print(f"import graphnet_ir: {microseconds / 1000:.1f} ms", file=sys.stderr)

    def test_the_command_is_on_the_path_and_runs_graphs(self) -> None:
        command = pathlib.Path(sys.prefix, "bin", "graphnet")
        said = run(command, "--version").stdout
        self.assertTrue(said.startswith(f"graphnet {VERSION}\nLibTorch 2.13."), said)
        done = run(command, "run", SAMPLE)
        self.assertEqual((done.returncode, done.stdout.splitlines()[0]), (0, "o0  f32[1, 10]"),
                         done)
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder, "graphnet")
            link.symlink_to(command)
            self.assertEqual(run(link, "--version").stdout, said)

    def test_it_lives_with_other_extensions_that_have_protobuf(self) -> None:
        for first, second in ((USE_GRAPHNET, USE_OTHERS), (USE_OTHERS, USE_GRAPHNET)):
            script = first + second + first
            done = run(sys.executable, "-c", script)
            self.assertEqual(done.returncode, 0, done.stderr)


    def test_its_names_are_not_those_of_the_process(self) -> None:
        done = run(sys.executable, "-c", RUN + "import ctypes\n"
                   "print([hasattr(ctypes.CDLL(None), name) for name in"
                   " ('_ZN8graphnet10OpenEngineEv', 'GraphnetEngine')])")
        self.assertEqual(done.stdout, "[False, False]\n", done.stderr)


class FreshEnvironmentTest(unittest.TestCase):
    """An environment without torch and anything else."""

    def setUp(self) -> None:
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name, "environment")
        self.check(sys.executable, "-m", "venv", "--without-pip", self.root)
        self.python = self.root / "bin" / "python"
        self.command = self.root / "bin" / "graphnet"

    def check(self, *command: object) -> str:
        done = run(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def pip(self, *arguments: object) -> None:
        self.check(sys.executable, "-m", "pip", "--disable-pip-version-check", "--python",
                   self.python, *arguments)

    def files(self) -> set[pathlib.Path]:
        return {path for path in self.root.rglob("*") if "__pycache__" not in path.parts}

    def refuses(self, command: list[object], words: str) -> None:
        done = run(*command)
        lines = done.stderr.splitlines()
        self.assertEqual((done.returncode, len(lines)), (2, 1), done.stderr)
        self.assertIn(words, lines[0])

    def test_without_torch_all_but_running_works(self) -> None:
        self.pip("install", "--no-index", WHEEL)
        self.assertIn("1 passed, 0 failed", self.check(self.command, "check", SAMPLE))
        self.check(self.python, "-c", USE_GRAPHNET)
        self.refuses([self.command, "run", SAMPLE], "needs LibTorch 2.13")
        self.assertRegex(self.check(self.python, "-c", RUN), r"\A.*needs torch 2\.13.*\n\Z")

    def test_another_torch_is_refused(self) -> None:
        self.pip("install", "--no-index", WHEEL)
        torch = next(self.root.glob("lib/python3*/site-packages")) / "torch"
        (torch / "lib").mkdir(parents=True)
        (torch / "lib" / "libtorch_cpu.so").touch()
        (torch / "version.py").write_text("__version__ = '2.12.1+cpu'\n")
        (torch / "__init__.py").write_text("from torch.version import __version__\n")
        self.refuses([self.command, "run", SAMPLE], "2.12.1+cpu")
        self.assertRegex(self.check(self.python, "-c", RUN), r"\A.*2\.12\.1\+cpu.*\n\Z")

    def test_uninstalling_leaves_nothing(self) -> None:
        before = self.files()
        self.pip("install", "--no-index", WHEEL)
        self.check(self.python, "-c", "import graphnet_ir")
        self.assertTrue(self.command.exists())
        self.pip("uninstall", "--yes", "graphnet_ir")
        self.assertEqual(self.files(), before)

    def test_the_command_works_where_target_puts_it(self) -> None:
        folder = self.root / "target"
        self.pip("install", "--no-index", "--target", folder, WHEEL)
        self.check(folder / "bin" / "graphnet", "check", SAMPLE)


if __name__ == "__main__":
    unittest.main()
