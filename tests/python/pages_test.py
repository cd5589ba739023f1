"""The examples of the pages run as they stand there, and print what they say."""

import doctest
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class PagesTest(unittest.TestCase):

    def test_python_page(self) -> None:
        self.check("docs/python.md", least=20)

    def test_readme(self) -> None:
        self.check("README.md", least=5)

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
