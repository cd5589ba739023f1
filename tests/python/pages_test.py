"""The examples of the pages run as they stand there, and print what they say."""

import doctest
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class PagesTest(unittest.TestCase):

    def test_python_page(self) -> None:
        self.check("docs/python.md", least=20)

    def test_corpus_page(self) -> None:
        self.check("docs/corpus.md", least=5)

    def test_gradients_page(self) -> None:
        self.check("docs/gradients.md", least=4)

    def test_multiply_page(self) -> None:
        tool = pathlib.Path(sys.executable).parent / "graphnet"
        done = subprocess.run([sys.executable, "tests/tools/check_docs.py", "--package", "--graphnet", tool,
                               "--python", sys.executable, "docs/multiply.md"],
                              cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("11 commands run, 0 not as", done.stdout)

    def test_readme(self) -> None:
        self.check("README.md", least=5)

    def test_capture_page(self) -> None:
        page = (ROOT / "docs" / "capture.md").read_text(encoding="utf-8")
        found = re.search(r"```python\n(.*?)```.*?```\n(.*?)```", page, re.S)
        assert found is not None
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "live.py").write_text(found[1], encoding="utf-8")
            done = subprocess.run([sys.executable, "-W", "ignore", "live.py"], cwd=folder,
                                  capture_output=True, text=True, check=False)
        # A line of "…" stands for any lines.
        pattern = "(?s)" + ".*".join(re.escape(part) for part in found[2].split("…\n"))
        self.assertRegex(done.stdout, pattern, done.stderr[-2000:])

    def test_harvest_page(self) -> None:
        page = (ROOT / "docs" / "harvest.md").read_text(encoding="utf-8")
        found = re.search(r"```python\n(.*?)```.*?```python\n(.*?)```.*?```\n(.*?)```", page, re.S)
        assert found is not None
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "models.py").write_text(found[2], encoding="utf-8")
            done = subprocess.run([sys.executable, "-c", found[1]], cwd=folder,
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, found[3], done.stderr[-2000:])

    def check(self, name: str, least: int) -> None:
        page = ROOT / name
        # Fences would be taken for what an example prints.
        text = re.sub(r"(?m)^```.*$", "", page.read_text(encoding="utf-8"))
        before = os.getcwd()
        os.chdir(ROOT)
        self.addCleanup(os.chdir, before)
        test = doctest.DocTestParser().get_doctest(text, {}, name, str(page), 0)
        self.assertGreater(len(test.examples), least)
        runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
        said: list[str] = []
        runner.run(test, out=said.append)
        self.assertEqual(runner.failures, 0, "".join(said))


if __name__ == "__main__":
    unittest.main()
