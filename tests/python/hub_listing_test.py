"""`graphnet harvest --hub TASK` lists models of a hub, here of one on this machine."""

import contextlib
import http.server
import io
import json
import os
import pathlib
import tempfile
import threading
import unittest
import urllib.parse
from unittest import mock

from graphnet_ir.harvest import __main__ as command
from graphnet_ir.harvest.sources import listed_sources

MODELS = [
    {"id": f"org/model-{number}", "downloads": 1000 - number, "private": False, "gated": False}
    for number in range(25)
]
MODELS[3]["gated"] = "manual"
MODELS[5]["id"] = "bad id\n; rm"
MODELS[7]["id"] = "alone"


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers as the hub does: pages, and a header that names the next one."""

    asked: list[tuple[dict[str, str], str | None]] = []

    def do_GET(self):
        place = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(place.query))
        self.asked.append((query, self.headers.get("Authorization")))
        if query.get("pipeline_tag") == "odd":
            body = b'{"error": "no such task"}'
        else:
            begin = int(query.get("cursor", 0))
            body = json.dumps(MODELS[begin : begin + 10]).encode()
        self.send_response(200)
        if query.get("pipeline_tag") != "odd" and begin + 10 < len(MODELS):
            host = "http://elsewhere.invalid" if query["pipeline_tag"] == "away" else self.server.address
            more = urllib.parse.urlencode({**query, "cursor": begin + 10})
            self.send_header("Link", f'<{host}/api/models?{more}>; rel="next"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class HubListingTest(unittest.TestCase):
    def setUp(self):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
        server.address = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        Hub.asked.clear()
        change = mock.patch.dict(os.environ, {"HF_ENDPOINT": server.address + "/"})
        change.start()
        self.addCleanup(change.stop)

    def call(self, *words):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command.main(list(words))
        return code, out.getvalue(), err.getvalue()

    def test_lists_what_harvest_takes(self):
        code, out, err = self.call("--hub", "fill-mask", "--top", "15", "--network")
        self.assertEqual((code, err), (0, ""))
        wanted = [m["id"] for i, m in enumerate(MODELS) if i not in (3, 5)][:15]
        self.assertEqual(out.splitlines()[1], "hub:org/model-0  # 1000 downloads")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "list.txt"
            file.write_text(out)
            self.assertEqual(listed_sources(str(file)), [f"hub:{name}" for name in wanted])
        (first, token), (second, _) = Hub.asked
        self.assertEqual((first["pipeline_tag"], first["sort"], first["direction"], first["limit"]),
                         ("fill-mask", "downloads", "-1", "15"))
        self.assertEqual((second["cursor"], token), ("10", None))

    def test_refuses(self):
        for words, message in (
            (("--hub", "fill-mask"), "--hub: needs --network"),
            (("--hub", "odd", "--network"), "something else than a list of models"),
            (("--hub", "away", "--network"), "continues its list elsewhere"),
            (("--hub", "fill-mask", "--network", "--top", "0"), "--top: is not a number from 1 on"),
            (("models.py",), "needs -o FOLDER"),
        ):
            code, out, err = self.call(*words)
            self.assertEqual((code, out), (2, ""), words)
            self.assertIn(message, err)
        with mock.patch.dict(os.environ, {"HF_ENDPOINT": "http://127.0.0.1:1"}):
            self.assertEqual(self.call("--hub", "fill-mask", "--network")[0], 2)
        with mock.patch.dict(os.environ, {"HF_ENDPOINT": "file:///etc"}):
            self.assertIn("is no address", self.call("--hub", "fill-mask", "--network")[2])


if __name__ == "__main__":
    unittest.main()
