#!/usr/bin/env bash
# `graphnet opt` with passes that only Python can run. A stand-in takes the place of the package
# graphnet_ir; tests/python/package_passes_test.py has the package itself.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"
fail() { echo "FAILED: $*" >&2; exit 1; }

mkdir -p site/graphnet_ir in
: >site/graphnet_ir/__init__.py
cat >site/graphnet_ir/pass_worker.py <<'END'
import json, os, sys, time
os.chdir(os.environ["BUILD_WORKING_DIRECTORY"] if len(sys.argv) > 1 else ".")
with os.fdopen(3, "w") as answers:
    for line in sys.stdin:
        request = json.loads(line)
        if len(sys.argv) == 1:
            answer = json.loads(os.environ["LISTED"])
        elif "crash" in request["path"]:
            print("about to crash", file=sys.stderr, flush=True)
            os.abort()
        elif "hang" in request["path"]:
            time.sleep(1000)
        elif "refuse" in request["path"]:
            answer = {"code": 2, "error": "ValueError: not this one"}
        else:
            os.makedirs(os.path.dirname(request["out"]) or ".", exist_ok=True)
            with open(request["path"]) as file, open(request["out"], "w") as out:
                out.write(file.read().replace("torch.relu", "torch.tanh"))
            steps = sys.argv[1].split(",")
            answer = {"aside": "", "steps": [
                {"changed": name == "mine", "seconds": 0.5, "before": 3, "after": 2, "notes": []}
                for name in steps]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
END
export PYTHONPATH=$PWD/site GRAPHNET_PYTHON=python3 LISTED='{"passes": ["dce", "mine"]}'
for name in a crash_b hang_c refuse_d e; do
  printf 'graphnet.module 1\n\ngraph @forward(%%x : f32[2]) {\n  %%y = torch.relu(%%x)\n  return (%%y,)\n}\nend\n' >in/$name.gn
done

"$graphnet" opt in/a.gn -p mine,dce -o a.gn --json >out.json || { cat out.json; fail "one sample"; }
grep -q 'torch.tanh' a.gn || { cat a.gn; fail "the pass did not run"; }
python3 - <<'END'
import json
(sample,) = json.load(open("out.json"))["samples"]
assert [(one["pass"], one["changed"], one["nodes_after"]) for one in sample["passes"]] == [
    ("mine", True, 2), ("dce", False, 2)], sample
END

# What fails costs a line, and the others go on.
for jobs in 1 3; do
  code=0
  "$graphnet" opt in -p mine -o out$jobs --to text --timeout 3 -j $jobs >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] && [ "$(ls out$jobs)" = "$(printf 'a.gn\ne.gn')" ] || { cat out.txt err.txt; fail "list: $code"; }
  [ "$(grep -c '^FAIL ' err.txt)" -eq 3 ] && grep -q '^FAIL in/crash_b.gn: .*crash' err.txt &&
    grep -q '^FAIL in/hang_c.gn: hang: no answer' err.txt && grep -q '^FAIL in/refuse_d.gn: ValueError: not this one' err.txt ||
    { cat err.txt; fail "what fails"; }
done

refused() {  # MESSAGE [WORD...]
  local code=0
  "$graphnet" opt "${@:2}" >out.txt 2>err.txt || code=$?
  [ "$code" -ne 0 ] && grep -q -- "$1" err.txt || { cat out.txt err.txt; fail "${*:2} exits with $code"; }
}
refused 'passes of Python packages: of the options for samples and passes, they go with --verify-each and --trust alone' \
  in/a.gn -p mine --pass-limit 1
refused 'a pass of a Python package takes files, not the standard input or output' - -p mine <in/a.gn
refused 'there is no pass "*mime' in/a.gn -p mime
LISTED='{"error": "two packages have a pass mine: a:b and c:d"}' refused 'two packages have a pass mine' in/a.gn -p mine
# They are listed, even if two packages have one of a name.
"$graphnet" passes >out.txt && grep -q '^mine  *-  *a pass of a Python package$' out.txt ||
  { cat out.txt; fail "the list"; }
[ "$(grep -c '^dce ' out.txt)" -eq 1 ] || { cat out.txt; fail "a name of both"; }
code=0; "$graphnet" passes mine 2>err.txt || code=$?
[ "$code" -eq 2 ] && grep -q 'the pass mine is not documented' err.txt || { cat err.txt; fail "explained: $code"; }
LISTED='{"error": "two packages have a pass mine: a:b and c:d"}' "$graphnet" passes >out.txt 2>err.txt &&
  grep -q '^dce ' out.txt && grep -q 'two packages have a pass mine' err.txt || { cat err.txt; fail "the note"; }
# What is no list of passes, or no Python, is as good as none.
LISTED='{}' refused 'there is no pass "*mine' in/a.gn -p mine
GRAPHNET_PYTHON=$PWD/nowhere refused 'there is no pass "*mine' in/a.gn -p mine
echo PASSED
