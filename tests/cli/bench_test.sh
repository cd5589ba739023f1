#!/usr/bin/env bash
# `graphnet bench` and `graphnet backends`: from samples to logs that `score` reads, with
# interruptions and with workers that fail.
set -euo pipefail
graphnet=$PWD/$1
faulty=$PWD/tests/evaluate/faulty_worker.py
samples=$PWD/samples
cd "$TEST_TMPDIR"
fail() { echo "FAILED: $*" >&2; exit 1; }
quick="--warmup 0 --trials 2"

# --- Two backends on real samples; score accepts the log.
mkdir in
cp "$samples"/resnet.pt "$samples"/gpt.pb "$samples"/gpt.safetensors in
"$graphnet" bench in --backend nope,jit $quick >out.txt || { cat out.txt; fail bench; }
grep -qE '^nope +2 +2 ' out.txt && grep -qE '^jit +2 +2 ' out.txt || { cat out.txt; fail table; }
[ "$(ls -A bench)" = "$(printf '%s\n' .lock bench.json jit.jsonl jit.log nope.jsonl nope.log)" ] ||
  { ls -A bench; fail "files"; }
"$graphnet" score bench/nope.log bench/jit.log --json >score.json
python3 - <<'END'
import json
nope, jit = json.load(open("score.json"))["curves"]
assert nope["samples"] == jit["samples"] == 2 and not nope["failures"], nope
for line in map(json.loads, open("bench/nope.jsonl")):
    assert line["status"] == "correct" and line["right_from_t"] == -10 and all(line["equal"]), line
    low, high = line["speedup_95"]
    assert low <= line["speedup"] <= high, line
    assert len(line["eager_ms"]) == 2 and "instructions" in line["proof"], line
assert all("frozen" in json.loads(line)["proof"] for line in open("bench/jit.jsonl"))
END
# Finished samples are not run again, and a second benchmark gets a new folder.
"$graphnet" bench --resume bench >again.txt
diff <(grep -v score out.txt) <(grep -v score again.txt) || fail resume
"$graphnet" bench in/resnet.pt --backend nope $quick >out.txt
[ -s bench-2/nope.log ] || fail bench-2

# --- Writes to inputs: the new values are compared, too, and no trial sees the writes of another.
cat >writes.gn <<'END'
graph @forward(%x : f32[4], %y : f32[4]) {
  %z = .add_(%x, %y)
  %s = .mul(%z, 2)
  return (%s,)
}
END
"$graphnet" bench writes.gn --backend nope,jit $quick -o writes >out.txt
grep -q '"equal":\[true,true\]' writes/nope.jsonl && grep -q '"equal":\[true,true\]' writes/jit.jsonl ||
  { cat writes/*.jsonl; fail writes; }
"$graphnet" bench writes.gn --backend nope,jit $quick --fresh-inputs -o fresh >out.txt
grep -q '"status":"correct"' fresh/jit.jsonl || { cat fresh/jit.jsonl; fail fresh; }
# Several writes, in another order than the inputs, through a view and to an attribute: the new
# values are not confused.
cat >several.gn <<'END'
attribute state : f32[4] {mean = 1.0, std = 0.5}
graph @forward(%x : f32[4] {mean = 1.0, std = 1.0}, %y : f32[4] {mean = 2.0, std = 1.0}, %z : f32[2, 2] {mean = 3.0, std = 1.0}) {
  %s = get_attr state
  %v = .view(%z, 4)
  %a = .mul_(%v, %x)
  %b = .add_(%s, %y)
  %c = .sub_(%x, 7.0)
  %d = .div_(%y, 2.0)
  %e = torch.add(%c, %d)
  return (%e, %x)
}
END
"$graphnet" bench several.gn --backend nope,jit $quick -o several >out.txt
for backend in nope jit; do
  grep -q '"equal":\[true,true,true,true,true,true\]' several/$backend.jsonl ||
    { cat several/*.jsonl; fail several; }
done
# Writes through a value that may be a view or a copy: the result is right in either case, in all
# runs, and the new values of the inputs are not compared. Inputs that are certainly written to,
# even through a dropout that drops nothing, are compared.
cat >views.gn <<'END'
attribute state : f32[4] {mean = 1.0, std = 0.5}
graph @forward(%x : f32[2, 8] {mean = 1.0, std = 1.0}, %y : f32[2, 8] {mean = 2.0, std = 1.0}, %z : f32[2, 8] {mean = 3.0, std = 1.0}, %w : f32[4]) {
  %d = torch.nn.functional.dropout(%x, 0.1, False, False)
  %s = operator.iadd(%d, %y)
  %c = .contiguous(%y)
  %m = .mul_(%c, 2.0)
  %t = get_attr state
  %r = .reshape(%t, (2, 2))
  %a = .add_(%r, 1.0)
  %u = .sub_(%z, 3.0)
  %v = .add(%w, %w)
  return (%s, %m, %a, %v, %x)
}
END
"$graphnet" bench views.gn --backend nope,jit --warmup 2 --trials 6 -o views >out.txt
for backend in nope jit; do
  grep -q '"status":"correct","right_from_t":-10.*"equal":\[true,true,true,true,true,true,true\]' views/$backend.jsonl ||
    { cat views/*.jsonl; fail views; }
done
# Random numbers: both sides are seeded before each run.
cat >random.gn <<'END'
graph @forward(%x : f32[100]) {
  %d = torch.nn.functional.dropout(%x, 0.5, True)
  return (%d,)
}
END
"$graphnet" bench random.gn --backend nope,jit $quick -o random >out.txt
grep -q '"status":"correct"' random/jit.jsonl || { cat random/jit.jsonl; fail random; }
# Functions without an operator are decomposed for backends that know only ATen.
cat >attention.gn <<'END'
graph @forward(%q : f32[5, 2, 8], %k : f32[6, 2, 8], %m : bool[5, 6], %w : f32[24, 8], %o : f32[8, 8]) {
  %a = torch.nn.functional.multi_head_attention_forward(%q, %k, %k, 8, 2, %w, None, None, None, False, 0.0, %o, None, attn_mask = %m)
  %y = operator.getitem(%a, 0)
  return (%y,)
}
END
"$graphnet" bench attention.gn --backend jit $quick -o attention >out.txt
grep -qE '^jit +1 +1 ' out.txt || { cat out.txt attention/jit.jsonl; fail attention; }
"$graphnet" convert attention.gn attention.pt2
"$graphnet" diff-run attention.gn attention.pt2 >out.txt || { cat out.txt; fail "attention as .pt2"; }
"$graphnet" convert attention.gn attention.mlir
# Samples that cannot be loaded or run get a line each.
mkdir bad
printf 'graphnet.module 1\n\ngraph @forward(%%x : f32[2]) {\n  %%y = .view(%%x, 3)\n  return (%%y,)\n}\nend\n' >bad/view.gn
printf 'graphnet.module 1\n\ngraph @forward(%%x : f32[2]) {\n  return (%%x,)\n}\nend\n' >bad/good.gn
"$graphnet" bench bad --backend nope $quick -o badout >out.txt 2>err.txt
grep -q 'FAIL bad/view.gn: nope: eager_fail: ' err.txt && grep -qE '^nope +2 +1 +1' out.txt ||
  { cat out.txt; fail bad; }

# A list, with one sample that is none: the others are run, and --resume reads the list again.
printf '# two of them\nbad/good.gn\n\nbad/missing.gn # not there\nin/gpt.pb\n' >list.txt
for words in "--list list.txt --backend nope $quick --threads 1 -j 2 -o listed" "--resume listed"; do
  code=0
  # shellcheck disable=SC2086
  "$graphnet" bench $words >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && grep -qE '^nope +2 +2 ' out.txt && [ "$(grep -c '^FAIL bad/missing.gn: ' err.txt)" -eq 1 ] ||
    { cat out.txt err.txt; fail "$words: $code"; }
done
grep -q '"threads": 1' listed/bench.json || fail "threads of a benchmark"
# The standard input is one sample, which the folder keeps.
"$graphnet" bench - --backend nope $quick -o piped <bad/good.gn >out.txt
grep -q '"path":"piped/stdin","status":"correct"' piped/nope.jsonl && cmp bad/good.gn piped/stdin ||
  { cat piped/nope.jsonl; fail "standard input"; }

# A sample that cannot be read makes the exit code 1, even after a resume.
printf 'graphnet.module 1\n\ngraph @forward(%%x : f32[2]) {\n  return (%%y,)\n}\nend\n' >bad/unread.gn
for in in "bad --backend nope -o unread" "--resume unread"; do
  code=0
  # shellcheck disable=SC2086
  "$graphnet" bench $in >out.txt || code=$?
  [ "$code" -eq 1 ] && grep -qE '^nope +3 +1 +2' out.txt || { cat out.txt; fail "$in: $code"; }
done
grep -q '"path":"bad/unread.gn","status":"eager_fail"' unread/nope.jsonl || fail unread
rm bad/unread.gn

# --- A worker that violates the protocol: how each fault is counted.
mkdir faults
faults="never_none:correct prepare_crash:compile_fail prepare_refuse:compile_fail run_kill:runtime_fail
  time_hang:runtime_fail run_garbage:runtime_fail run_exit:runtime_fail time_close:runtime_fail
  run_fork:runtime_fail run_shapes:shape_mismatch run_dtypes:type_mismatch run_count:runtime_fail
  run_nan:not_finite run_torn:runtime_fail run_none:runtime_fail time_none:runtime_fail run_wrong:accuracy run_inputs:runtime_fail
  time_inputs:runtime_fail time_wrong:accuracy run_disk:runtime_fail run_file:runtime_fail
  prepare_memory:compile_fail run_orphan:correct time_noms:runtime_fail time_clocks:correct"
for fault in $faults; do cp bad/good.gn "faults/x_${fault%:*}.gn"; done
"$graphnet" bench faults --backend exec --exec "python3 $faulty name" --exec-reads graphnet $quick \
  --timeout 5 --memory 500 -o faultsout >out.txt
for fault in $faults; do
  line=$(grep "\"faults/x_${fault%:*}.gn\"" faultsout/exec.jsonl) || fail "$fault is missing"
  [[ $line == *"\"status\":\"${fault#*:}\""* ]] || fail "$fault: $line"
done
[ "$(wc -l <faultsout/exec.jsonl)" -eq "$(wc -w <<<"$faults")" ] || fail "twice"
grep -q '"right_from_t":null' <(grep run_wrong faultsout/exec.jsonl) || fail "run_wrong"
grep -q 'wrong in a later run' <(grep time_wrong faultsout/exec.jsonl) || fail "time_wrong"
grep -q 'changed the file of its inputs' <(grep run_inputs faultsout/exec.jsonl) || fail "run_inputs"
# The worker's own clocks are in the log; the eager side has none on the CPU, so nothing is compared.
grep -q '"gpu":{"compiled_ms":\[\[0.5\],\[0.5\]\]}' <(grep time_clocks faultsout/exec.jsonl) || fail "gpu"
grep -q '\[Performance\]\[compiled\].*"kernel": {"median": 0.25' faultsout/exec.log || fail "kernel"
! grep -q '\[Speedup\]\[gpu\]' faultsout/exec.log || fail "a speedup of one side"
"$graphnet" score faultsout/exec.log >/dev/null
# --- Against an earlier benchmark: a worker breaks one sample, and mends another.
"$graphnet" bench faults/x_never_none.gn faults/x_run_wrong.gn --backend exec --exec-reads graphnet $quick \
  --exec "python3 $faulty never:none" -o before >out.txt
"$graphnet" bench faults/x_never_none.gn faults/x_run_wrong.gn --backend exec --exec-reads graphnet $quick \
  --exec "python3 $faulty name" -o after --baseline before/exec.log >out.txt || fail "a comparison without --min-speedup"
grep -qx 'broke 1' out.txt && grep -q '^  faults/x_run_wrong.gn: accuracy' out.txt || { cat out.txt; fail broke; }
code=0
"$graphnet" bench --resume after --baseline before --min-speedup 0.0001 --json >out.json || code=$?
[ "$code" -eq 1 ] || { cat out.json; fail "a broken sample exits with $code"; }
code=0
"$graphnet" bench --resume before --baseline after --min-speedup 0.0001 --json >out.json || code=$?
[ "$code" -eq 0 ] && grep -q '"mended"' out.json || { cat out.json; fail "a mended sample exits with $code"; }

mkdir strict && cp faults/x_prepare_refuse.gn strict
for flags in "" --strict; do
  code=0
  # shellcheck disable=SC2086
  "$graphnet" bench strict --backend exec --exec "python3 $faulty name" --exec-reads graphnet $quick \
    $flags -o "strictout$flags" >/dev/null || code=$?
  [ "$code$flags" = 0 ] || [ "$code$flags" = "1--strict" ] || fail "bench $flags of what does not compile: $code"
done

# --- A worker gets the strides of weights, by which kernels choose their order.
mkdir strided
python3 - <<'END'
import json, random, struct
random.seed(0)
ways = {"last": [1, 64], "gaps": [128, 2], "columns": [1, 0], "overlap": [1, 1]}
with open("strided/x.gn", "w") as file:
    file.write("graphnet.sample 1\nname = \"x\"\ngraphnet.module 1\n\n")
    file.writelines(f"attribute {name} : f32[64, 64]@cpu\n" for name in ways)
    file.write("graph @forward(%x : f32[64] {mean = 0.0, std = 1.0}) {\n")
    for name in ways:
        file.write(f"  %{name} = get_attr {name} : f32[64, 64]@cpu\n  %s_{name} = torch.sum(%{name}, 1)\n"
                   f"  %t_{name} = torch.sum(%{name})\n  %y_{name} = torch.mv(%{name}, %x)\n")
    file.write(f"  return ({', '.join(f'%{c}_{n}' for n in ways for c in 'sty')},)\n}}\nend\n")
header, body = {"__metadata__": {}}, b""
for name, (down, right) in ways.items():
    memory = [random.uniform(-1, 1) for _ in range(63 * (down + right) + 1)]
    values = struct.pack("<4096f", *(memory[i * down + j * right] for i in range(64) for j in range(64)))
    header[name] = {"dtype": "F32", "shape": [64, 64], "data_offsets": [len(body), len(body) + len(values)]}
    header["__metadata__"]["graphnet.strides." + name] = f"{down},{right}"
    body += values
text = json.dumps(header).encode()
with open("strided/x.safetensors", "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + body)
# The tool's own worker, by which the stand-in computes; it notes which strides it was given.
with open("standin.py", "w") as file:
    file.write(r"""
import json, os, shutil, struct, subprocess, sys
from_nope, to_me = os.pipe()
nope = subprocess.Popen([sys.argv[1], "worker", "nope"], stdin=subprocess.PIPE, text=True,
                        preexec_fn=lambda: os.dup2(to_me, 3), pass_fds=(3,))
with os.fdopen(3, "w") as answers, os.fdopen(from_nope) as answered:
    for line in sys.stdin:
        request = json.loads(line)
        if request["verb"] == "prepare":
            with open(request["weights"], "rb") as file:
                size, = struct.unpack("<Q", file.read(8))
                found = json.loads(file.read(size)).get("__metadata__", {})
            with open(sys.argv[2] + ".json", "w") as file:
                json.dump(found, file)
            shutil.copy(request["inputs"], sys.argv[2] + ".in")
        print(line.strip(), file=nope.stdin, flush=True)
        answer = answered.readline()
        if request["verb"] == "run":
            shutil.copy(request["outputs"], sys.argv[2] + ".out")
        answers.write(answer)
        answers.flush()
""")
END
"$graphnet" bench strided/x.gn --backend exec --exec "python3 $PWD/standin.py $graphnet $PWD/given" \
  --exec-reads graphnet $quick -o stridedout >/dev/null
grep -q '"status":"correct"' stridedout/exec.jsonl || { cat stridedout/exec.jsonl; fail strides; }
cp given.in given.safetensors
"$graphnet" run strided/x.gn --inputs given.safetensors --threads 1 -o ours.safetensors >/dev/null
python3 - <<'END'
import json, struct
def read(path):
    data = open(path, "rb").read()
    size, = struct.unpack("<Q", data[:8])
    return {name: data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]]
            for name, entry in json.loads(data[8:8 + size]).items() if name != "__metadata__"}
given = json.load(open("given.json"))
expected = {"last": "1,64", "gaps": "128,2", "columns": "1,0", "overlap": "1,1"}
assert given == {"graphnet.strides." + name: text for name, text in expected.items()}, given
ours, theirs = read("ours.safetensors"), read("given.out")
assert ours == {"o" + name: content for name, content in theirs.items()}, "other bits"
END

# --- A sample that makes the tool run out of memory fails for that reason, in any thread.
cat >huge.py <<'END'
import json, os, struct, sys
answers = os.fdopen(3, "w")
for line in sys.stdin:
    request = json.loads(line)
    if request["verb"] == "run":
        size = 4 * 2_000_000_000
        header = json.dumps({"0": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}}).encode()
        header += b" " * (-len(header) % 8)
        with open(request["outputs"], "wb") as file:  # sparse
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(8 + len(header) + size)
    answers.write(json.dumps({"ok": True, "name": "huge", "version": "0", "ms": [1.0]}) + "\n")
    answers.flush()
END
mkdir two
cp writes.gn two/a.gn
cp writes.gn two/b.gn
for jobs in 1 2; do
  (ulimit -v 6000000 && "$graphnet" bench two/a.gn two/b.gn --backend exec --exec "python3 $PWD/huge.py" \
    $quick --jobs $jobs -o huge$jobs >out.txt 2>&1) || { cat out.txt; fail "huge outputs, $jobs jobs"; }
  [ "$(grep -c '"status":"runtime_fail".*alloc' huge$jobs/exec.jsonl)" -eq 2 ] ||
    { cat out.txt huge$jobs/exec.jsonl; fail "huge outputs, $jobs jobs"; }
done

# --- Rewrites as backends.
cat >private.gn <<'END'
graph @forward(%x : f32[2, 3] {mean = 0.5, std = 1.0}, %w : f32[4, 3] {mean = 0.5, std = 1.0}) {
  %y = torch._C._nn.linear(%x, %w)
  %z = torch._C._nn.gelu(%y)
  %s = torch.add(%z, 1)
  return (%s,)
}
END
"$graphnet" bench private.gn $quick -o rewrites \
  --backend 'pass:stabilize+check-stable,pass:change-dtype{from=f32;to=f64},pass:rename,decompose:pieces=2,decompose:single-op' \
  >out.txt 2>&1 || { cat out.txt; fail rewrites; }
for log in pass_stabilize+check-stable pass_rename decompose_pieces=2 decompose_single-op; do
  grep -q '"status":"correct".*"equal":\[true\]' rewrites/$log.jsonl || { cat rewrites/*.jsonl; fail "$log"; }
done
# A float64 result does not equal one in float32.
grep -q '"status":"type_mismatch"' 'rewrites/pass_change-dtype{from=f32;to=f64}.jsonl' ||
  { cat rewrites/*.jsonl; fail "change-dtype"; }
grep -q 'compiler: pass:stabilize+check-stable' rewrites/pass_stabilize+check-stable.log || fail "log of a rewrite"
"$graphnet" score rewrites/*.log >/dev/null
# A pass that fails is reported like a failure to compile.
"$graphnet" bench private.gn --backend pass:check-stable $quick -o unstable >out.txt
grep -q '"status":"compile_fail","reason":"cannot be rewritten: ' unstable/pass_check-stable.jsonl ||
  { cat unstable/*; fail "check-stable"; }

# --- Stopped in the middle of a record: the incomplete record is dropped and run again.
cp -r faultsout cut
truncate -s -7 cut/exec.jsonl
printf 'half a rec' >>cut/exec.log
"$graphnet" bench --resume cut --timeout 5 --memory 500 >out.txt
diff <(sort <(grep -o '"path":"[^"]*"' cut/exec.jsonl)) <(sort <(grep -o '"path":"[^"]*"' faultsout/exec.jsonl)) ||
  fail "cut records"
[ "$(grep -c Processing cut/exec.log)" -eq "$(wc -w <<<"$faults")" ] || fail "cut log"

# The log has lost more than the records: the missing samples are run again.
cp -r badout shorter
for size in -7 0; do
  truncate -s $size shorter/nope.log
  "$graphnet" bench --resume shorter >out.txt
  [ "$(grep -c Processing shorter/nope.log)" -eq 2 ] && [ "$(wc -l <shorter/nope.jsonl)" -eq 2 ] ||
    { cat shorter/*; fail "shorter log"; }
done

# --- Wrong usage prints one line.
refused() {  # MESSAGE [OPTION...]
  local code=0
  "$graphnet" bench "${@:2}" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && [[ $(cat err.txt) == "graphnet: $1"* ]] && [ "$(wc -l <err.txt)" -eq 1 ] ||
    { cat out.txt err.txt; fail "${*:2} exits with $code"; }
}
refused "there is no backend inductr; did you mean inductor?" in --backend inductr -o no
refused "backend inductor has no option mod; it has mode, dynamic, threads" in --backend 'inductor{mod=1}' -o no
"$graphnet" backends nope inductor >out.txt
grep -qx 'it has no options' out.txt && grep -q '^mode  *default|' out.txt || { cat out.txt; fail "options"; }
refused "backend pass:stabilise: " in --backend pass:stabilise -o no
refused "backend decompose:piece=2: there is no scheme piece; did you mean pieces?" in --backend decompose:piece=2 -o no
refused "backend decompose:pieces: scheme pieces takes a number of at least 1: pieces=3" in --backend decompose:pieces -o no
refused "backend pass:dce is named twice" in --backend pass:dce,pass:dce -o no
refused "backend bladedisc: " in --backend blade-disc -o blade
refused "needs IN and --backend, or --resume" --backend nope
refused "--baseline: several backends need a folder of their logs, not one log" in --backend nope,jit --baseline bench/nope.log -o no
refused "--baseline: cannot open nothing.log" in --backend nope --baseline nothing.log -o no
refused "there is no benchmark in nowhere" --resume nowhere
refused "bench is not empty; use --resume to go on with a benchmark" in --backend nope -o bench
refused 'this benchmark was begun with backends ["nope","jit"], not ["jit"]' in --backend jit --resume bench
refused "--device: unknown device foo; expected cpu or cuda:0" in --backend nope --device foo -o no
refused "--device: unknown device ; expected cpu or cuda:0" in --backend nope --device '' -o no
refused "--resume: results go to the folder of the benchmark; leave out -o" --backend nope --resume bench -o no
for option in "--timeout=nan" "--oracle-time=-NaN" "--timeout=x"; do
  code=0
  "$graphnet" bench in --backend nope "$option" -o no >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && [ "$(wc -l <err.txt)" -eq 1 ] || { cat err.txt; fail "$option: $code"; }
done
[ ! -e no ] || fail "a folder of what is refused"
mkdir broken
printf '{' >broken/bench.json
refused "broken/bench.json: is not JSON" --resume broken
printf '{"in": 1}' >broken/bench.json
refused "broken/bench.json: not the settings of a benchmark" --resume broken
refused "backend exec: needs --exec COMMAND" in --backend exec -o exec
refused "backend exec: exit: ended with code 1" in --backend exec --exec false -o exec2

# --- The list; with none installed, nope and jit are there.
GRAPHNET_BACKENDS=$PWD/none "$graphnet" backends --json >backends.json
python3 - <<'END'
import json
rows = {row["name"]: row for row in json.load(open("backends.json"))["backends"]}
assert rows["nope"]["found"] and rows["jit"]["found"] and rows["jit"]["reads"] == "torchscript", rows
assert all(row["found"] or "error" in row or name == "exec" for name, row in rows.items()), rows
END
echo PASSED
