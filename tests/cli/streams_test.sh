#!/usr/bin/env bash
# Standard input and output, terminals, closed pipes, and places that cannot be written to.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }
# refused MESSAGE COMMAND…: the command exits with 2 and prints one line with MESSAGE. It reads the
# caller's standard input.
refused() {
  local message=$1 code=0
  shift
  "$graphnet" "$@" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "$*: exit code $code, wanted 2: $(cat err.txt)"
  [ "$(wc -l <err.txt)" -eq 1 ] || fail "$*: not one line: $(cat err.txt)"
  grep -qF -- "$message" err.txt || fail "$*: no '$message' in: $(cat err.txt)"
  [ ! -s out.txt ] || fail "$*: output in spite of the error"
}

# --- Every format gives the same through pipes as through files.
"$graphnet" convert "$samples/unet.pt" unet.gn
"$graphnet" convert unet.gn bare.pb
sed -i '/^name = /d' unet.gn
"$graphnet" convert - -o - <"$samples/unet.pt" | diff -q - unet.gn || fail "TorchScript in"
"$graphnet" convert - -o - --to protobuf <bare.pb | cmp - bare.pb || fail "protobuf in and out"
"$graphnet" convert - -o - --to torchscript <"$samples/unet.pt" >again.pt
"$graphnet" convert again.pt -o - >out.txt
grep -q '= torch.conv2d\|= aten._conv' out.txt || fail "TorchScript out"
for command in show stats check "lint --rule unstable" shapes run; do
  # shellcheck disable=SC2086
  "$graphnet" $command - <"$samples/vit.pb" >out.txt 2>err.txt || [ $? -eq 1 ] || fail "$command -: $(cat err.txt)"
  [ -s out.txt ] || fail "$command - prints nothing"
done
"$graphnet" run "$samples/vit.pb" -o - >o0.safetensors 2>err.txt
grep -q '^o0 ' err.txt || fail "run -o - reports $(cat err.txt)"
python3 - <<'END'
import json, struct
data = open("o0.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
assert list(header) == ["o0"] and len(data) == 8 + size + header["o0"]["data_offsets"][1]
header = {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
text = json.dumps(header).encode()
open("x.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<2f", 1, -1))
END
printf 'graph @forward(%%x : f32[2]) {\n  %%y = torch.relu(%%x)\n  return (%%y,)\n}\n' >relu.gn
"$graphnet" run relu.gn --inputs - -o - <x.safetensors 2>/dev/null | tail -c 8 | od -An -tf4 >out.txt
[ "$(xargs <out.txt)" = "1 0" ] || fail "values from the standard input: $(cat out.txt)"

refused "can be read only once" diff-run - - <relu.gn
refused "can be read only once" run - --inputs - <relu.gn
refused "a folder cannot go to the standard output" convert relu.gn -o - --to graphnet
refused "a folder cannot go to the standard output" decompose relu.gn --pieces 1 -o -
refused "takes one sample" opt "$samples" --passes=dce -o -
refused "<stdin>: a pickle" show - < <(printf '\x80\x04}.')
refused "<stdin>: an empty file" show - </dev/null
refused "<stdin>" show - <&-
refused "<stdin>: truncated" show - < <(head -c 3000 bare.pb)
refused "<stdin>" show - < <(head -c 3000 "$samples/unet.pt")
# Endless input is not read to the end.
refused "<stdin>: neither" show - < <(tr '\0' z </dev/zero)
refused "the standard input: at most" show - < <(printf 'graph @forward() {\n'; tr '\0' ' ' </dev/zero)

# --- The reader has ended: no message, and the exit code of a broken pipe.
closed() {
  local codes
  set +o pipefail
  "$graphnet" "$@" 2>err.txt | head -c 1 >/dev/null
  codes=("${PIPESTATUS[@]}")
  set -o pipefail
  # The code is 0 if everything fitted into the pipe before it was closed.
  [ "${codes[0]}" -eq 141 ] || [ "${codes[0]}" -eq 0 ] || fail "$*: exit code ${codes[0]}"
  # The note that weights need a file is still printed.
  ! grep -v '^note: lost' err.txt || fail "$*: $(cat err.txt)"
}
closed show "$samples/vit.pb"
closed convert "$samples/vit.pb" -o - --to protobuf
closed stats "$samples"
closed man
python3 - "$graphnet" "$samples/vit.pb" <<'END'
import os, subprocess, sys
# There is no reader from the start, whether or not the parent ignores the signal.
for restore in (True, False):
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.argv[1], "show", sys.argv[2]], stdout=write, stderr=subprocess.PIPE,
                          restore_signals=restore)
    assert done.returncode == 141 and not done.stderr, done
    done = subprocess.run([sys.argv[1], "show", "nowhere"], stdout=write, stderr=subprocess.PIPE)
    assert done.returncode == 2 and b"no such file" in done.stderr, done
    os.close(write)
END

# --- No room: one line, exit code 2, nothing half-written.
for command in "show relu.gn" "stats relu.gn" "stats relu.gn --json" "convert relu.gn -o -" "run relu.gn" passes man; do
  code=0
  # shellcheck disable=SC2086
  "$graphnet" $command >/dev/full 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "$command to a full device: exit code $code"
  grep -q '^graphnet: cannot write the standard output' err.txt || fail "$command: $(cat err.txt)"
done
refused "No space left" convert relu.gn -o /dev/full --to text
for to in text protobuf graphnet torchscript dot; do
  code=0
  mkdir -p full
  out=$( (ulimit -f 0; exec "$graphnet" convert "$samples/resnet.pt" -o full/out --to "$to") 2>&1) || code=$?
  [ "$code" -eq 2 ] || fail "no room for $to: exit code $code: $out"
  [ "$(wc -l <<<"$out")" -eq 1 ] || fail "no room for $to: $out"
  [ -z "$(ls -A full)" ] || fail "no room for $to leaves $(ls -A full)"
done
code=0
mkdir two && cp "$samples"/{vit,unet}.pb two
(ulimit -f 0; exec "$graphnet" opt two --passes=dce -o full/many --to protobuf) >/dev/null 2>&1 || code=$?
[ "$code" -eq 2 ] && [ -z "$(find full -type f)" ] || fail "no room for many: $code: $(find full)"
if [ "$(id -u)" -ne 0 ]; then
  mkdir -p closed && chmod a-w closed
  refused "Permission denied" convert relu.gn closed/out.gn
fi
refused "out.gn" convert relu.gn -o /proc/self/out.gn
# The next file that is opened must not become a closed standard output.
code=0
"$graphnet" run relu.gn -o kept.safetensors >&- 2>err.txt || code=$?
[ "$code" -eq 2 ] && grep -q 'cannot write the standard output' err.txt || fail "closed: $code $(cat err.txt)"
"$graphnet" run relu.gn -o same.safetensors >/dev/null
cmp kept.safetensors same.safetensors || fail "a report went into a file"

# --- Terminals of several kinds and widths.
python3 - "$graphnet" "$samples" <<'END'
import fcntl, os, pty, re, struct, sys, termios

graphnet, samples = sys.argv[1:]


def on_terminal(args, columns, **environment):
    """What the command prints there, and its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        for name in ("NO_COLOR", "TERM"):
            os.environ.pop(name, None)
        os.environ.update(environment)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24 if columns else 0, columns, 0, 0))
        os.execv(graphnet, [graphnet, *args])
    text = b""
    try:
        while block := os.read(terminal, 65536):
            text += block
    except OSError:
        pass
    return text.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


os.mkdir("few")
with open("few/bad.gn", "w") as f:
    f.write("graphnet.module 1\n\nnonsense\n")
for columns in (80, 1, 0):
    text, code = on_terminal(["check", "few"], columns, TERM="xterm")
    assert code == 1 and "\x1b[31mFAIL\x1b[0m few/bad.gn" in text and "\x1b[31m1 failed" in text, text
    text, code = on_terminal(["show", "nowhere"], columns, TERM="xterm")
    assert code == 2 and "\x1b[31mgraphnet:\x1b[0m nowhere" in text, text
for environment in ({"TERM": "dumb"}, {}, {"TERM": "xterm", "NO_COLOR": "1"}):
    text, code = on_terminal(["check", "few"], 80, **environment)
    assert code == 1 and "\x1b[3" not in text, (environment, text)
text, _ = on_terminal(["check", "few"], 80, TERM="xterm", NO_COLOR="")
assert "\x1b[31m" in text, text
text, code = on_terminal(["convert", "relu.gn", "-o", "-", "--to", "protobuf"], 80, TERM="xterm")
assert code == 2 and "terminal" in text, text

# During longer work the line is at most as wide as the terminal, and is erased at the end.
with open("long.gn", "w") as f:
    f.write("graph @forward(%x : f32[512, 512]) {\n  %y0 = torch.relu(%x)\n")
    for i in range(20):
        f.write(f"  %y{i + 1} = torch.matmul(%y{i}, %y{i})\n")
    f.write("  return (%y20,)\n}\n")
command = ["run", "long.gn", "--threads", "1", "--repeat"]
for repeat in (40, 160, 640):  # until it takes as long on this machine
    text, code = on_terminal([*command, str(repeat)], 80, TERM="xterm")
    if "running " in text:
        break
assert re.search(r"\r\x1b\[Krunning \d+/\d+, \d+ s", text), text
for columns in (80, 12, 1, 0):
    text, code = on_terminal([*command, str(repeat)], columns, TERM="xterm")
    assert code == 0, text
    shown = re.findall(r"\r\x1b\[K([^\r\x1b]*)", text)
    assert all(len(line) < (columns or 80) for line in shown[:-1]), shown
for environment in ({"TERM": "dumb"}, {}):
    text, code = on_terminal([*command, str(repeat)], 80, **environment)
    assert code == 0 and "\x1b" not in text, text
END
echo PASSED
