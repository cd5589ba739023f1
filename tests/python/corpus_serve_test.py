"""The pages of a corpus: what they show, and what they refuse."""

from __future__ import annotations

import os
import re
import tempfile
import threading
import unittest
import urllib.error
import urllib.parse
import urllib.request
from typing import Dict, List, Tuple
from unittest import mock

import graphnet_ir
from graphnet_ir.corpus import covering, pages, serving
from graphnet_ir.corpus.serving import serve

_HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def _sample(name: str, call: str) -> graphnet_ir.Sample:
    sample = graphnet_ir.parse(
        f"graph @forward(%x : f32[2, 3]) {{\n  %y = {call} : f32[2, 3]\n  return (%y,)\n}}\n")
    sample.name = name
    return sample


class ServeTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        corpus = graphnet_ir.Corpus.create(cls.folder.name + "/corpus")
        corpus.add([_sample("soft", "torch.softmax(%x, 1)")], source="one", licence="mit")
        corpus.add([_sample(_HOSTILE, "torch.relu(%x)")], source=_HOSTILE, model=_HOSTILE)
        corpus.map(os.path.abspath(__file__) + ":_scored", name="scored", processes=1)
        cls.corpus = corpus
        told: List[str] = []
        ready = threading.Event()

        def tell(address: str) -> None:
            told.append(address)
            ready.set()

        threading.Thread(target=serve, args=(graphnet_ir.Corpus(corpus.path),),
                         kwargs={"port": 0, "told": tell}, daemon=True).start()
        assert ready.wait(60)
        cls.address = told[0]

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def get(self, place: str, method: str = "GET",
            **headers: str) -> Tuple[int, Dict[str, str], str]:
        request = urllib.request.Request(self.address + place, headers=headers, method=method,
                                         data=b"x" if method == "POST" else None)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, dict(answer.headers), answer.read().decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read().decode()

    def hashes(self, place: str) -> List[str]:
        return re.findall(r"/graph/([0-9a-f]{64})", self.get(place)[2])

    def test_a_search_finds_what_the_corpus_finds(self) -> None:
        self.assertEqual(len(self.hashes("")), 2)
        for query in ("softmax(%)", "relu(%)", "softmax(?, dim=1)", "conv2d(%)"):
            self.assertEqual(self.hashes("?q=" + urllib.parse.quote(query)),
                             [hit.hash for hit in self.corpus.find(query)], query)
        self.assertEqual(self.hashes("?source=one"), [hit.hash for hit in
                                                      self.corpus.find(source="one")])
        self.assertEqual(len(self.hashes("?target=relu&dtype=float32")), 1)
        self.assertEqual(len(self.hashes("?nodes=100..200")), 0)
        self.assertEqual(len(self.hashes("?after=1")), 1)

    def test_a_piece_leads_to_the_graph_that_it_was_cut_from(self) -> None:
        whole = graphnet_ir.parse("graph @forward(%x : f32[2]) {\n  %y = torch.relu(%x) : f32[2]\n"
                                  "  %z = torch.exp(%y) : f32[2]\n  return (%z,)\n}\n")
        whole.name = "soft"
        with tempfile.TemporaryDirectory() as folder:
            corpus = graphnet_ir.Corpus.create(folder + "/c")
            # Another graph has the same name.
            corpus.add([_sample("soft", "torch.softmax(%x, 1)"), whole])
            pieces = graphnet_ir.decompose(whole, single_op=True).pieces
            self.assertEqual(len(pieces), 2)
            corpus.add(pieces)
            for piece in pieces:
                told = serving.Pages(corpus).graph(graphnet_ir.canonical_hash(piece, metas=True))
                self.assertEqual([(parent[0], parent[4]) for parent in told.parents],
                                 [("soft", graphnet_ir.canonical_hash(whole, metas=True))])
                self.assertIn(f'/graph/{graphnet_ir.canonical_hash(whole, metas=True)}',
                              pages.graph("c", told))

    def test_numbers_of_the_coverage_lead_to_their_graphs(self) -> None:
        status, headers, page = self.get("coverage")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'none'", headers["content-security-policy"])
        cells = re.findall(r'<td class="n"><a href="/(\?kind=[^"]+)">(\d+)</a>', page)
        self.assertEqual(sorted(urllib.parse.unquote_plus(place[6:]) for place, _ in cells),
                         ["relu float32 2", "softmax float32 2"])
        for place, count in cells:
            self.assertEqual(len(self.hashes(place)), int(count))
        for place in re.findall(r'href="/(\?target=[^"]+)"', page):
            self.assertEqual(len(self.hashes(place)), 1)
        self.assertNotIn('class="note"', page)

    def test_the_coverage_is_counted_a_while_at_a_time(self) -> None:
        with mock.patch.object(serving, "SECONDS_A_SEARCH", -1), \
                mock.patch.object(covering, "ROWS_A_CALL", 1):
            site = serving.Pages(graphnet_ir.Corpus(self.corpus.path))
            self.assertIn("of the first 1 of 2 graphs; load the page again to count on",
                          pages.coverage("", site.coverage()))
            whole = site.coverage()
        self.assertEqual((whole.counted, whole.damaged), (2, 0))
        whole.damaged, whole.counted = 1, 1
        self.assertIn("1 graphs are damaged and left out", pages.coverage("", whole))
        with mock.patch.object(pages, "MOST_OPERATORS", 1):
            self.assertIn("the 1 most frequent of 2 operators", pages.coverage("", whole))

    def test_links_of_facets_lead_to_searches(self) -> None:
        page = self.get("")[2]
        links = re.findall(r'href="(/\?[^"]*)"', page)
        self.assertTrue(any("target=softmax" in link for link in links), links)
        for link in links:
            status, _, text = self.get(link.replace("&amp;", "&")[1:])
            self.assertEqual(status, 200, link)
            self.assertIn("/graph/", text)

    def test_the_page_of_a_graph(self) -> None:
        hash = self.hashes("?source=one")[0]
        _, headers, page = self.get(f"graph/{hash}")
        for text in ("mit", "score", "soft"):
            self.assertIn(text, page)
        self.assertIn("default-src 'none'", headers["content-security-policy"])
        self.assertIn("torch.softmax", self.get(f"graph/{hash}/text")[2])
        status, headers, view = self.get(f"graph/{hash}/view")
        self.assertEqual(status, 200)
        self.assertIn("sandbox", headers["content-security-policy"])
        self.assertIn("softmax", view)
        request = urllib.request.urlopen(f"{self.address}graph/{hash}/protobuf", timeout=60)
        with request as answer:
            sample = graphnet_ir.load_bytes(answer.read())
        self.assertEqual(graphnet_ir.canonical_hash(sample, metas=True), hash)

    def test_titles_stand_over_their_columns(self) -> None:
        for place, numbers in (("", 2), ("?q=relu", 3)):
            self.check_titles(self.get(place)[2], numbers)

    def check_titles(self, page: str, numbers: int) -> None:
        titles, first = (re.findall(f"<{cell}( class=\"n\")?>", row) for cell, row in zip(
            ("th", "td"), re.findall("<tr>.*?</tr>", page)))
        self.assertEqual(titles, first)
        self.assertEqual(len([title for title in titles if title]), numbers)

    def test_a_graph_has_its_name(self) -> None:
        page = self.get(f"graph/{self.hashes('?source=one')[0]}")[2]
        self.assertIn("<h1>soft</h1>", page)
        self.assertIn("<title>soft ", page)

    def test_what_strangers_wrote_is_text(self) -> None:
        hash = self.hashes("?target=relu")[0]
        for place in ("", f"graph/{hash}", "?source=" + urllib.parse.quote(_HOSTILE),
                      "?q=" + urllib.parse.quote(_HOSTILE), "?nodes=" + urllib.parse.quote(_HOSTILE)):
            page = self.get(place)[2]
            self.assertNotIn("<script", page)
            self.assertNotIn("<img", page)

    def test_what_is_wrong_is_refused_in_words(self) -> None:
        for place, status in (("?q=((", 400), ("?nodes=x", 400), ("?q=" + "x" * 3000, 400),
                              ("graph/zz", 404), ("graph/" + "0" * 64, 404), ("graph/", 404),
                              ("graph/..%2f..%2fcorpus.json", 404), ("corpus.json", 404),
                              ("%2e%2e/corpus.json", 404), ("graphs.lance/", 404)):
            told, _, page = self.get(place)
            self.assertEqual(told, status, place)
            self.assertNotIn("Traceback", page)

    def test_only_reading_and_only_by_its_own_names(self) -> None:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            self.assertEqual(self.get("", method)[0], 405, method)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", ""):
            self.assertEqual(self.get("", Host=host)[0], 400, host)
        self.assertEqual(self.get("", Host="localhost:1234")[0], 200)


def _scored(sample: graphnet_ir.Sample) -> Dict[str, float]:
    return {"score": 1.5}


if __name__ == "__main__":
    unittest.main()
