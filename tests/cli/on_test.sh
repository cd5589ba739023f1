#!/usr/bin/env bash
# `graphnet bench --on COMMAND`: workers behind a stream, which may break, print a banner, or lack what is
# needed.
set -euo pipefail
source tests/cli/expect.sh
graphnet=$PWD/$1
evaluate=$PWD/tests/evaluate
samples=$PWD/samples
cd "$TEST_TMPDIR"
# What is there: a folder for programs and one for temporary files, and nothing else of this shell.
python=$(command -v python3)
mkdir bin there none without
for tool in sh bash env sleep; do ln -s "$(command -v "$tool")" bin; ln -s "$(command -v "$tool")" none; done
ln -s "$(command -v sh)" without
ln -s "$python" bin/python3
ln -s "$python" without/python3
printf '#!/bin/sh\nexec %s "$@"\n' "$graphnet" >bin/graphnet
chmod +x bin/graphnet
on="env -i PATH=$PWD/bin HOME=$PWD/there TMPDIR=$PWD/there bash -c"
export GRAPHNET_TEST=here
is_clean() {  # the far side deletes its folder once the stream has ended
  for _ in $(seq 100); do
    [ -z "$(ls -A there)" ] && return
    sleep 0.1
  done
  ls -A there; fail "files are left there"
}
mkdir in
cp "$samples"/resnet.pt "$samples"/gpt.pb "$samples"/gpt.safetensors in
quick="--warmup 0 --trials 2"
"$graphnet" bench in --backend nope $quick --record ref -o recorded >out.txt || { cat out.txt; fail record; }

# --- Both sides are there, and the results are those of here; a banner does not matter.
expect 0 '^jit  *2  *2 ' "$graphnet" bench in --backend jit $quick --on "echo Welcome to the far side; $on" -o far
grep -q '"equal":\[true\]' far/jit.jsonl || { cat far/jit.jsonl; fail equal; }
is_clean
# Against a reference, only the backend runs there.
expect 0 '2 samples in both, 2 right in both' "$graphnet" bench in --backend nope --against ref --on "$on"
is_clean
# A wrong backend is wrong there, too.
wrong="python3 $evaluate/miscompiling_worker.py $graphnet relu gelu"
expect 1 'FAIL in/resnet.pt: exec: accuracy' "$graphnet" bench in/resnet.pt --backend exec --exec "$wrong" \
  --exec-reads graphnet --against ref --on "$on"
is_clean

# --- The stream breaks 50 times, wherever it is: the results are the same.
for i in 1 2 3 4 5 6 7 8 9 10; do cp "$samples"/gpt.pb "in/gpt_$i.pb"; cp "$samples"/gpt.safetensors "in/gpt_$i.safetensors"; done
"$graphnet" bench in --backend nope $quick --record many -o many_recorded >out.txt
cuts=0
for seed in 1 2 3 4 5 6 7 8 9 10; do
  rm -f count
  expect 0 '12 samples in both, 12 right in both' "$graphnet" bench in --backend nope --against many \
    --on "$evaluate/cut_stream.py $PWD/count 5 $seed $on"
  [ "$(wc -c <count)" -ge 6 ] || fail "the stream was not cut 5 times: $(cat count)"
done
is_clean
# A stream that always breaks ends, with one line.
expect 2 'on the far side: the connection was lost 9 times: false: ended without an answer' \
  "$graphnet" bench in --backend nope --against many --on false

# --- What the far side lacks.
expect 2 'on the far side: there is no python3 on the PATH' "$graphnet" bench in --backend nope --against ref \
  --on "env PATH=$PWD/none bash -c"
expect 2 'on the far side: there is no graphnet on the PATH' "$graphnet" bench in --backend nope --against ref \
  --on "env PATH=$PWD/without TMPDIR=$PWD/there $PWD/bin/bash -c"
expect 2 "on the far side: the worker ended with code 1: ModuleNotFoundError: No module named 'torch'" \
  "$graphnet" bench in --backend torch --against ref --on "env PYTHONPATH= TMPDIR=$PWD/there $PWD/bin/env -i PATH=$PWD/without TMPDIR=$PWD/there $PWD/bin/bash -c"
expect 2 'was compiled for this machine' "$graphnet" bench in --backend openvino --against ref --on "$on"
is_clean
