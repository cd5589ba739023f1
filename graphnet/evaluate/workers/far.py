"""The far side of a benchmark elsewhere: keeps files, runs a worker, and answers near.py.

near.py sends this text over a stream and then requests: each is a line of JSON and, where it says
"bytes", that many bytes. Each gets an answer of the same form. All files lie in one new folder, which
is deleted when the stream ends.
"""
import errno
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile


class Lost(Exception):
    """The stream has ended."""


class Stream:
    """Unbuffered, so that select() tells whether there is more."""

    def __init__(self):
        self.rest = b""

    def more(self):
        part = os.read(0, 1 << 16)
        if not part:
            raise Lost
        self.rest += part

    def line(self):
        while b"\n" not in self.rest:
            self.more()
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def parts(self, count):
        """Yields so many bytes."""
        while count:
            if not self.rest:
                self.more()
            part, self.rest = self.rest[:count], self.rest[count:]
            count -= len(part)
            yield part

    @staticmethod
    def answer(answer, data=b""):
        data = (json.dumps({**answer, "bytes": len(data)}) + "\n").encode() + data
        while data:
            data = data[os.write(1, data):]


class Far:
    def __init__(self):
        self.root = tempfile.mkdtemp(prefix="graphnet_far_")
        self.stream = Stream()
        self.process = None
        self.answers = None
        self.log = os.path.join(self.root, "printed")

    def path(self, name):
        """The path of a file below the folder, which nothing may lead out of."""
        path = os.path.normpath(os.path.join(self.root, name))
        if not path.startswith(self.root + os.sep):
            raise ValueError(f"the name {name!r} leaves the folder")
        return path

    def where(self, request):
        return {"root": self.root, "hardware": hardware(), "python": sys.executable}

    def lacks(self, request):
        return {"lacks": [name for name in request["names"] if not os.path.exists(self.path(name))]}

    def put(self, request):
        """Writes a file, whole or not at all."""
        try:
            path, digest = self.path(request["name"]), hashlib.sha256()
        except ValueError as error:
            raise Lost from error  # its bytes follow
        failed = None
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            file = open(path + ".part", "wb")
        except OSError as error:
            failed, file = error, None
        for part in self.stream.parts(request["bytes"]):
            digest.update(part)
            try:
                if failed is None:
                    file.write(part)
            except OSError as error:
                failed = error  # the rest is read all the same
        try:
            if file is not None:
                file.close()
        except OSError as error:
            failed = failed or error
        if failed is not None:
            raise failed
        if digest.hexdigest() != request["sha256"]:
            raise Lost
        os.chmod(path + ".part", 0o444)
        os.replace(path + ".part", path)
        return {}

    def drop(self, request):
        """Deletes what lies in a folder but is not named."""
        folder = self.path(request["folder"])
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name not in request["keep"]:
                shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
        return {}

    def start(self, request):
        work = self.path("work")
        os.makedirs(work, exist_ok=True)
        command = [sys.executable if word == "{python}" else word for word in request["command"]]
        if shutil.which(command[0]) is None:
            raise ValueError(f"there is no {command[0]} on the PATH")
        mine, theirs = os.pipe()

        def begin():
            os.setpgid(0, 0)
            os.dup2(theirs, 3)
            os.set_inheritable(3, True)

        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, cwd=work, stdin=subprocess.PIPE, stdout=log, stderr=log, preexec_fn=begin,
                close_fds=True, pass_fds=(3,) if theirs == 3 else (theirs, 3),
                env={**os.environ, **request["environment"]})
        os.close(theirs)
        self.answers = mine
        return {}

    def ask(self, request):
        """Passes a line to the worker. The stream is silent until the answer, or it has ended."""
        try:
            self.process.stdin.write((request["line"] + "\n").encode())
            self.process.stdin.flush()
        except OSError:
            pass  # it has ended, as its answers say
        text = b""
        while not text.endswith(b"\n"):
            for ready in select.select([0, self.answers], [], [])[0]:
                if ready == 0:
                    raise Lost
                part = os.read(self.answers, 1 << 16)
                if not part:
                    return self.died()
                text += part
        return {"answer": text.decode(errors="replace").rstrip("\n")}

    def died(self):
        code = self.process.wait()
        with open(self.log, "rb") as log:
            log.seek(max(0, os.path.getsize(self.log) - 10000))
            lines = [line.strip() for line in log.read().decode(errors="replace").splitlines()]
        lines = [line for line in lines if line] or ["it said nothing"]
        last = next((line for line in reversed(lines) if "rror" in line), lines[-1])
        return {"died": code, "printed": last[:500]}

    def get(self, request):
        with open(request["path"], "rb") as file:
            return {}, file.read()

    def serve(self):
        while True:
            request = json.loads(self.stream.line())
            try:
                result = getattr(self, request["verb"])(request)
            except Lost:
                raise
            except OSError as error:
                full = error.errno in (errno.ENOSPC, errno.EDQUOT)
                result = {"error": "its disk is full" if full else str(error)}
            except Exception as error:  # pylint: disable=broad-except  # goes to the near side
                result = {"error": str(error)}
            self.stream.answer(*(result if isinstance(result, tuple) else (result,)))

    def end(self):
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except OSError:
                pass
            self.process.wait()
        shutil.rmtree(self.root, ignore_errors=True)


def hardware():
    try:
        with open("/proc/cpuinfo") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
        return names[0]
    except (OSError, IndexError):
        return "unknown"


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    far = Far()
    try:
        far.serve()
    except (Lost, BrokenPipeError):
        pass
    finally:
        far.end()


main()
