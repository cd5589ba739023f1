#!/usr/bin/env python3
"""Serves a folder by HTTP on a port that it prints. The first part of a path selects the behaviour:
/good, /other (other bytes of the same size), /endless, /silent, /error, /elsewhere (to a file) or
/ftp (to a server of another protocol)."""
import http.server
import os
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        _, how, name = self.path.split("/", 2)
        path = os.path.join(sys.argv[1], name)
        if how == "error" or not os.path.exists(path):
            self.send_error(500 if how == "error" else 404)
            return
        if how == "silent":
            time.sleep(60)
            return
        if how in ("elsewhere", "ftp"):
            self.send_response(302)
            self.send_header("Location", f"{'ftp://127.0.0.1' if how == 'ftp' else 'file://'}{path}")
            self.end_headers()
            return
        with open(path, "rb") as file:
            data = file.read()
        if how == "other" and not name.endswith(".json"):
            data = bytes(byte ^ 1 for byte in data)
        self.send_response(200)
        self.end_headers()
        try:
            self.wfile.write(data)
            while how == "endless":
                self.wfile.write(bytes(1 << 16))
        except OSError:
            pass  # The client has closed the connection.

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
