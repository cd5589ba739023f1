"""The notebook of examples/ runs, and shows pages and tables."""

import pathlib
import unittest
from typing import Any, List

import nbformat
from nbclient import NotebookClient

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "examples/notebook/graphnet.ipynb"


def executed() -> Any:
    """The notebook with the outputs of its cells; a cell that fails raises."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3",
                   resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    return notebook


def html_outputs(notebook: Any) -> List[str]:
    """What cells display as HTML."""
    return [output.data["text/html"] for cell in notebook.cells if cell.cell_type == "code"
            for output in cell.outputs if "text/html" in output.get("data", {})]


class NotebookTest(unittest.TestCase):

    def test_it_is_stored_without_outputs(self) -> None:
        for cell in nbformat.read(NOTEBOOK, as_version=4).cells:
            if cell.cell_type == "code":
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


if __name__ == "__main__":
    unittest.main()
