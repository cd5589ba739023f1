"""The notebooks of examples/ run, and show pages and tables."""

import os
import pathlib
import tempfile
import unittest
from typing import Any, List
from unittest import mock

import graphnet_ir

import nbformat
from nbclient import NotebookClient

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples/notebook"


def executed(name: str = "graphnet") -> Any:
    """A notebook with the outputs of its cells; a cell that fails raises."""
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, timeout=1200, kernel_name="python3",
                   resources={"metadata": {"path": str(FOLDER)}}).execute()
    return notebook


def code_cells(notebook: Any) -> List[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def html_outputs(notebook: Any) -> List[str]:
    """What cells display as HTML."""
    return [output.data["text/html"] for cell in code_cells(notebook)
            for output in cell.outputs if "text/html" in output.get("data", {})]


class NotebookTest(unittest.TestCase):

    def test_they_are_stored_without_outputs(self) -> None:
        for path in FOLDER.glob("*.ipynb"):
            for cell in code_cells(nbformat.read(path, as_version=4)):
                self.assertEqual((cell.outputs, cell.execution_count), ([], None))

    def test_each_value_is_shown_as_html(self) -> None:
        notebook = executed()
        shown = 0
        for cell in notebook.cells:
            for output in cell.outputs if cell.cell_type == "code" else []:
                if output.output_type == "execute_result":
                    self.assertRegex(output.data["text/html"], "^<(table|iframe|p|div)[ >]",
                                     cell.source)
                    shown += 1
                # Bars go to the standard error, as there are no widgets.
                self.assertNotEqual(output.output_type, "error", cell.source)
        self.assertGreaterEqual(shown, 12)
        pages = [html for html in html_outputs(notebook) if html.startswith("<iframe")]
        self.assertEqual(len(pages), 2)  # of the sample and of the scores

    def test_viz(self) -> None:
        sample = graphnet_ir.parse("""
graph @forward(%x : f32[2]) {
  %a = torch.relu(%x) in net.one
  %b = torch.tanh(%a) in net.two
  %c = torch.sigmoid(%b) in net.two
  return (%c,)
}""")
        sample.name = "small"
        for shown in (sample, sample.module, sample.graph):
            page = graphnet_ir.viz(shown, height=300)
            self.assertEqual(page.html, sample.page("small"))
            self.assertIn('height="300"', page._repr_html_())
        self.assertIn("<title>mine", graphnet_ir.viz(sample, title="mine").html)
        part = graphnet_ir.viz(sample, module="net.one")
        self.assertTrue("torch.relu" in part.html and "torch.sigmoid" in sample.page())
        self.assertFalse("torch.sigmoid" in part.html)
        self.assertEqual(part.html, sample.page("small", module="net.one"))
        with self.assertRaises(graphnet_ir.Error):
            graphnet_ir.viz(sample, module="net.nowhere")
        with tempfile.TemporaryDirectory() as place:
            part.save(place + "/part.html")
            self.assertEqual(pathlib.Path(place, "part.html").read_text("utf-8"), part.html)

    def test_attention_in_ten_cells(self) -> None:
        with tempfile.TemporaryDirectory() as place:
            # This "compiler" rounds what is float32 to bfloat16, so it is wrong where float32 was.
            with mock.patch.dict(os.environ, {
                    "GRAPHNET_BACKEND": "pass:change-dtype{from=f32;to=bf16}",
                    "GRAPHNET_MOST": "12", "GRAPHNET_PLACE": place}):
                notebook = executed("attention")
            self.assertEqual(len(code_cells(notebook)), 10)
            corpus = graphnet_ir.Corpus(place + "/corpus", version="judged")
            self.assertEqual(sorted(corpus.views()), ["attention", "variants", "worst"])
            judged = corpus.graphs.table(["hash", "outcome"], "outcome IS NOT NULL").to_pylist()
            self.assertEqual({row["hash"].hex() for row in judged}, set(corpus.view("variants")))
            worst = corpus.find(view="worst", where="outcome IN ('accuracy', 'type_mismatch')")
            self.assertGreater(worst.count(), 2)
            for hit in worst:
                self.assertIn("float32", {record["dtype"]
                                          for record in corpus[hit.hash].graph.records()})
            pictures = [html for html in html_outputs(notebook) if html.startswith("<details>")]
            self.assertEqual(len(pictures), len(corpus.view("worst")))
            self.assertEqual(len(graphnet_ir.find_samples([place + "/worst"])),
                             sum(len(hit.names) for hit in corpus.find(view="worst")))


if __name__ == "__main__":
    unittest.main()
