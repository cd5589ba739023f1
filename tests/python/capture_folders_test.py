"""The folders that captures are written to: nothing else there is touched, and they appear whole."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import unittest
from unittest import mock

import torch

import graphnet_ir
from graphnet_ir import extract
from graphnet_ir.live import backend as backend_module
from graphnet_ir.live import folder as folder_module

from capture_case import (CaptureCase, Net, manifest, quietly,
                          three_breaks)


class Folders(CaptureCase):
    def test_a_capture_that_holds_something_else_is_not_replaced(self):
        for to in ("graphnet", "protobuf"):
            folder = os.path.join(self.workspace, to)

            def write():
                def f(x):
                    y = torch.relu(x)
                    print("a break")
                    return y + 1

                torch._dynamo.reset()
                quietly(extract(f, name=to, workspace=self.workspace, to=to), torch.ones(2))

            write()
            write()
            inside = folder if to == "protobuf" else os.path.join(folder, "subgraph_0")
            for name in ("thesis.txt", ".hidden", "stitch.json.bak", "more/model.py", "model.py.d/x"):
                path = os.path.join(inside, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write("mine")
                with self.subTest(name), self.assertRaisesRegex(graphnet_ir.Error, "not replaced, as it holds"):
                    write()
                self.assertTrue(os.path.exists(path))
                os.remove(path)
                if os.path.dirname(path) != inside:
                    os.rmdir(os.path.dirname(path))
            link = os.path.join(folder, "subgraph_7")
            os.symlink(inside, link)
            with self.assertRaisesRegex(graphnet_ir.Error, "as it holds subgraph_7, a link"):
                write()
            os.remove(link)
            write()

    def test_a_folder_of_something_else_is_not_touched(self):
        folder = os.path.join(self.workspace, "f")
        os.mkdir(folder)
        with open(os.path.join(folder, "thesis.txt"), "w", encoding="utf-8") as file:
            file.write("years of work")
        f = extract(lambda x: x + 1, name="f", workspace=self.workspace)
        with self.assertRaises(graphnet_ir.Error) as caught:
            f(torch.ones(2))
        self.assertEqual(caught.exception.kind, "already_exists")
        self.assertEqual(str(caught.exception),
                         f"{folder}: not replaced, as it holds thesis.txt")
        self.assertEqual(os.listdir(folder), ["thesis.txt"])

        # The exception of the program is more important.
        def raises(x):
            y = torch.relu(x)  # noqa: F841
            print("before")
            raise KeyError("mine")

        g = extract(raises, name="f", workspace=self.workspace)
        with self.assertWarnsRegex(UserWarning, "f was not saved: .*not replaced, as it holds"):
            with self.assertRaisesRegex(KeyError, "mine"):
                quietly(g, torch.ones(2))
        self.assertEqual(os.listdir(folder), ["thesis.txt"])

        # At the end of a program an exception would reach nobody.
        with mock.patch.object(backend_module, "_captures", {("f", self.workspace): g.capture}):
            with self.assertWarnsRegex(UserWarning, "f was not saved: .*not replaced, as it holds"):
                backend_module._save_all()

    def test_a_link_to_a_capture_is_not_replaced(self):
        f = extract(lambda x: x + 1, name="f", workspace=self.workspace)
        f(torch.ones(2))
        os.symlink(f.capture.folder, os.path.join(self.workspace, "g"))
        g = extract(lambda x: x + 2, name="g", workspace=self.workspace)
        with self.assertRaisesRegex(graphnet_ir.Error, "g is a link, not a capture"):
            g(torch.ones(2))

    def test_an_earlier_capture_is_replaced_whole(self):
        f = extract(three_breaks, name="f", workspace=self.workspace)
        quietly(f, torch.ones(2))
        g = extract(lambda x: x + 1, name="f", workspace=self.workspace)
        g(torch.ones(2))
        self.assertNotIn("subgraph_0", os.listdir(g.capture.folder))
        self.assertEqual(os.listdir(self.workspace), ["f"])

    def test_the_manifest_is_json_for_any_argument(self):
        def refuse(name):
            raise ValueError(name)

        itself = []
        itself.append(itself)
        deep = []
        for _ in range(3000):
            deep = [deep]
        for value in (itself, deep, float("nan"), [float("inf")], "\ud83d", {"\udcff": -0.0},
                      {(1, 2): {"a": itself}}):
            torch._dynamo.reset()
            f = extract(lambda x, value: x + 1, name="f", workspace=self.workspace)
            f(torch.ones(2), value)
            with open(os.path.join(f.capture.folder, "stitch.json"), encoding="utf-8") as file:
                rows = json.load(file, parse_constant=refuse)
            self.assertEqual([row["name"] for row in rows["inputs"]], ["x", "value"])

    def test_a_number_that_is_zero_or_less(self):
        for k in (0, -1):
            torch._dynamo.reset()
            f = extract(lambda x, k: x[k:] * k, name="f", dynamic=True, workspace=self.workspace)
            f(torch.ones(4, 3), k)
            graphnet_ir.load(f.capture.folder)
        sample = graphnet_ir.load(f.capture.folder)
        sample.module.add_symbol("zero", 0)
        folder = os.path.join(self.workspace, "zero")
        graphnet_ir.save(sample, folder)
        self.assertEqual(graphnet_ir.load(folder).module.symbols["zero"], 0)

    def test_functions_of_numpy_are_kept(self):
        import numpy

        for function in (lambda a: numpy.sin(numpy.sin(a)), lambda a: a[1:] + a[:-1] + a[1:]):
            torch._dynamo.reset()
            f = extract(lambda x: torch.from_numpy(function(x.numpy())), name="f")
            f(torch.ones(3))
            self.assertEqual([graph.why_not for graph in f.capture], [None])

    def test_unusual_names(self):
        workspace = os.path.join(self.workspace, "mit Leerzeichen", "模型 é")
        f = extract(lambda x: x + 1, name="naïve net", workspace=workspace, verify=True)
        f(torch.ones(2))
        graphnet_ir.load(os.path.join(workspace, "naïve net"))

    def test_a_workspace_that_is_no_folder(self):
        path = os.path.join(self.workspace, "file")
        open(path, "w").close()
        f = extract(lambda x: x + 1, name="f", workspace=path)
        with self.assertRaises(graphnet_ir.Error):
            f(torch.ones(2))

    def test_interrupted_writing_leaves_what_was_there(self):
        f = extract(three_breaks, name="f", workspace=self.workspace)
        quietly(f, torch.ones(2))
        before = manifest(f.capture.folder)
        for part in ("_save", "_put_in_place", "manifest_text"):
            with mock.patch.object(folder_module, part, side_effect=KeyboardInterrupt):
                with self.assertRaises(KeyboardInterrupt):
                    f.capture.save()
            self.assertEqual(os.listdir(self.workspace), ["f"])
            self.assertEqual(manifest(f.capture.folder), before)

    def test_same_program_gives_same_bytes(self):
        texts = []
        for i in range(2):
            torch._dynamo.reset()
            torch.manual_seed(0)
            workspace = os.path.join(self.workspace, str(i))
            f = extract(Net().eval(), name="net", workspace=workspace)
            with torch.no_grad():
                f(torch.randn(2, 4))
            files = {}
            for name in os.listdir(f.capture.folder):
                with open(os.path.join(f.capture.folder, name), "rb") as file:
                    files[name] = file.read()
            files["stitch.json"] = files["stitch.json"].replace(
                f.capture[0].compile_id.encode(), b"ID")
            texts.append(files)
        self.assertEqual(texts[0], texts[1])
        for content in texts[0].values():
            self.assertNotIn(self.workspace.encode(), content)

    def test_killed_and_competing_processes(self):
        program = textwrap.dedent("""
            import sys, torch
            from graphnet_ir import extract
            def f(x):
                y = torch.relu(x)
                print("break", flush=True)
                return y + int(sys.argv[2])
            made = extract(f, workspace=sys.argv[1])
            made(torch.ones(2))
            while len(sys.argv) > 3:
                made.capture.save()
                print("saved", flush=True)
            for _ in range(5):
                made.capture.save()
        """)
        command = [sys.executable, "-c", program, self.workspace]
        endless = subprocess.Popen([*command, "1", "go on"], stdout=subprocess.PIPE, text=True)
        for line in endless.stdout:
            if line == "saved\n":
                break
        endless.send_signal(signal.SIGKILL)
        endless.wait()
        endless.stdout.close()
        self.check_whole()
        both = [subprocess.Popen([*command, str(i)], stdout=subprocess.DEVNULL) for i in (1, 2)]
        self.assertEqual([process.wait() for process in both], [0, 0])
        self.check_whole()
        self.assertEqual(os.listdir(self.workspace), ["f"])

    def check_whole(self):
        folder = os.path.join(self.workspace, "f")
        for row in manifest(folder)["subgraphs"]:
            sample = graphnet_ir.load(os.path.join(folder, row["sample"]))
            self.assertEqual(graphnet_ir.canonical_hash(sample), row["hash"])

    def test_a_forked_child_leaves_the_folder_to_its_parent(self):
        program = textwrap.dedent("""
            import os, sys, torch
            from graphnet_ir.live import backend
            def f(x):
                y = torch.relu(x)
                if os.fork() == 0:
                    backend._save_all()
                    os._exit(0)
                os.wait()
                return y + 1
            torch.compile(f, backend=backend.backend,
                          options={"name": "f", "workspace": sys.argv[1]})(torch.ones(2))
        """)
        done = subprocess.run([sys.executable, "-c", program, self.workspace],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_whole()


if __name__ == "__main__":
    unittest.main()
