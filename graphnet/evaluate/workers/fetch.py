"""Fetches files by HTTP for the cache of compiled programs (evaluate/remote_cache.h).

Each line of the standard input asks for one file: {"url", "path", "max_bytes"}. Each answer, a line
on file descriptor 3, is {"bytes"} or {"error"}. Incomplete files are not written.
"""
import json
import os
import sys
import urllib.error
import urllib.request

SECONDS = 20  # without receiving a byte


class StaysOnHttp(urllib.request.HTTPRedirectHandler):
    """Follows redirections, but not to files or to other protocols."""

    def redirect_request(self, request, file, code, message, headers, url):
        if not url.startswith(("http://", "https://")):
            raise urllib.error.URLError(f"redirected to {url}")
        return super().redirect_request(request, file, code, message, headers, url)


def fetch(opener, url, path, max_bytes):
    part, size = path + ".part", 0
    try:
        with opener.open(url, timeout=SECONDS) as answer, open(part, "wb") as file:
            while chunk := answer.read(1 << 16):
                size += len(chunk)
                if size > max_bytes:
                    raise ValueError(f"more than {max_bytes} bytes")
                file.write(chunk)
        os.rename(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)
    return size


def main():
    opener = urllib.request.build_opener(StaysOnHttp)
    with os.fdopen(3, "w") as answers:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = {"bytes": fetch(opener, **request)}
            except Exception as error:  # a server may do anything
                answer = {"error": " ".join(str(error).split()) or type(error).__name__}
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
