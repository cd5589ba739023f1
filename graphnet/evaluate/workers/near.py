"""A worker that is elsewhere: passes requests and files over the stream of a command, and answers back.

    near.py COMMAND FOLDER WORDS NAME...

COMMAND runs in FOLDER. It is completed by the word "sh", as in `ssh host sh` or `docker exec -i box sh`, so all that is
needed there is a shell and Python 3. WORDS is the worker's command as a list in JSON, in which
"{python}" is the Python there. NAMEs are the worker's files, which lie beside this one. Where a connection is lost, a new one repeats what the sample needs.
"""
import hashlib
import json
import os
import secrets
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# How often a sample may lose its connection, and the seconds before the next one.
MOST_LOSSES, PAUSE = 8, 0.1
# Lines that may come before the first of ours, as those of a login do.
MOST_BANNER_BYTES = 1 << 20
MARK = "GRAPHNET_WORKER_FOLDER"
READ = ("program", "weights", "inputs")
WRITTEN = ("outputs", "out")


class Lost(Exception):
    """The connection has ended."""


class Refused(Exception):
    """The far side cannot do it."""


class Connection:
    def __init__(self, command, folder):
        self.command = command
        # The marker is not in the text that is sent, which a terminal may echo.
        left, right = secrets.token_hex(8), secrets.token_hex(8)
        # It ends with its stream, as the far side must delete its folder first. Without the mark,
        # it is not killed with this process.
        environment = {key: value for key, value in os.environ.items() if key != MARK}
        self.process = subprocess.Popen(["/bin/sh", "-c", command + " sh"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, start_new_session=True,
                                        cwd=folder, env=environment)
        # Not one byte beyond the text may be read, as the requests follow it.
        load = ("import os,sys;print();print(sys.argv[1]+sys.argv[2],\"ready\",flush=True)\n"
                "n=b\"\"\n"
                "while not n.endswith(b\"\\n\"): n+=os.read(0,1) or sys.exit(1)\n"
                "t=b\"\"\n"
                "while len(t)<int(n): t+=os.read(0,int(n)-len(t)) or sys.exit(1)\n"
                "exec(compile(t,\"far.py\",\"exec\"))")
        self.send(f"if command -v python3 >/dev/null 2>&1; then exec python3 -c '{load}' {left} {right}; "
                  f"else echo; echo {left}''{right} none; fi\n".encode())
        banner = 0
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise self.ended()
            banner += len(line)
            if banner > MOST_BANNER_BYTES:
                raise Refused("it prints and does not start a shell")
            words = line.decode(errors="replace").split()
            if words and words[0] == left + right:
                break
        if words[1:] != ["ready"]:
            raise Refused("there is no python3 on the PATH")
        with open(os.path.join(HERE, "far.py"), "rb") as file:
            text = file.read()
        self.send(b"%d\n" % len(text) + text)

    def send(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except OSError as error:
            raise self.ended() from error

    def ended(self):
        """Returns the error of a command that reads or writes no more."""
        self.end()
        return Lost(f"{self.command}: ended without an answer (code {self.process.returncode})")

    def ask(self, verb, data=b"", **request):
        """Returns the answer and its bytes."""
        self.send((json.dumps({"verb": verb, **request, "bytes": len(data)}) + "\n").encode() + data)
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise Lost("the stream ended")
        answer = json.loads(line)
        data = self.process.stdout.read(answer["bytes"])
        if len(data) != answer["bytes"]:
            raise Lost("the stream ended")
        if "error" in answer:
            raise Refused(answer["error"])
        return answer, data

    def end(self):
        """Ends the stream, at which the far side deletes its folder; waits for that a while."""
        for file in (self.process.stdin, self.process.stdout):
            try:
                file.close()
            except OSError:
                pass
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Elsewhere:
    """A worker on the far side of connections that may be lost."""

    def __init__(self, command, folder, words, names):
        self.command, self.folder, self.words, self.names = command, folder, words, names
        self.connection = None
        self.root = ""
        self.far = {}
        self.losses = 0
        self.prepared = None  # the request that a new connection must repeat

    def answer(self, request):
        if request["verb"] == "prepare":
            self.losses, self.prepared = 0, None
        while True:
            try:
                if self.connection is None:
                    self.connect()
                    if self.prepared is not None:
                        self.pass_on(self.prepared)
                answer = self.pass_on(request)
                break
            except Lost as lost:
                self.leave()
                self.losses += 1
                if self.losses > MOST_LOSSES:
                    raise Refused(f"the connection was lost {self.losses} times: {lost}") from lost
                time.sleep(PAUSE)
        if request["verb"] == "prepare":
            self.prepared = request
        return answer

    def connect(self):
        self.connection = Connection(self.command, self.folder)
        self.far, _ = self.connection.ask("where")
        self.root = self.far["root"]
        for name in self.names:
            self.put(os.path.join(HERE, name), "work/" + name)
        self.connection.ask("start", command=self.words, environment={
            key: value for key, value in os.environ.items() if key.startswith("OMP_")})

    def leave(self):
        if self.connection is not None:
            self.connection.end()
            self.connection = None

    def put(self, path, name):
        with open(path, "rb") as file:
            data = file.read()
        self.connection.ask("put", data, name=name, sha256=hashlib.sha256(data).hexdigest())

    def send(self, path):
        """Sends a file or folder unless it is there, and returns its path there."""
        if os.path.isdir(path):
            files = [os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
            base = os.path.dirname(path)
        else:
            base, name = os.path.split(path)
            stem = name.rsplit(".", 1)[0]  # values lie beside a program: gpt.pb, gpt.safetensors
            files = [path] + [os.path.join(base, other) for other in (stem + ".safetensors",)
                              if other != name and os.path.exists(os.path.join(base, other))]
        digest = hashlib.sha256()
        for file in sorted(files):
            with open(file, "rb") as opened:
                digest.update(os.path.relpath(file, base).encode() + b"\0")
                digest.update(hashlib.sha256(opened.read()).digest())
        folder = digest.hexdigest()[:32]
        names = {f"files/{folder}/{os.path.relpath(file, base)}": file for file in sorted(files)}
        lacks = self.connection.ask("lacks", names=list(names))[0]["lacks"]
        for name in lacks:
            self.put(names[name], name)
        return folder, os.path.join(self.root, "files", folder, os.path.basename(path))

    def pass_on(self, request):
        there = {key: value for key, value in request.items() if key not in ("keep", "kept")}
        kept = []
        for key in READ:
            if there.get(key):
                folder, there[key] = self.send(there[key])
                kept.append(folder)
        if there["verb"] == "prepare":
            self.connection.ask("drop", folder="files", keep=kept)
        for key in WRITTEN:
            if isinstance(there.get(key), str):
                there[key] = os.path.join(self.root, "work", os.path.basename(there[key]))
        reply, _ = self.connection.ask("ask", line=json.dumps(there))
        if "died" in reply:
            self.leave()
            raise Refused(f"the worker ended with code {reply['died']}: {reply['printed']}")
        answer = json.loads(reply["answer"])
        for key in WRITTEN:
            if answer.get("ok") and isinstance(there.get(key), str):
                _, data = self.connection.ask("get", path=there[key])
                with open(request[key] + ".part", "wb") as file:
                    file.write(data)
                os.replace(request[key] + ".part", request[key])
        if request["verb"] == "hello":
            answer["hardware"] = self.far["hardware"]
        return answer


def main():
    command, folder, words, *names = sys.argv[1:]
    worker = Elsewhere(command, folder, json.loads(words), names)
    try:
        with os.fdopen(3, "w") as answers:
            os.set_inheritable(3, False)
            for line in sys.stdin:
                answer = worker.answer(json.loads(line))
                answers.write(json.dumps(answer) + "\n")
                answers.flush()
    except Refused as refused:
        sys.exit(f"error: on the far side: {refused}")
    finally:
        worker.leave()


main()
