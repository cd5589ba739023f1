#!/usr/bin/env bash
# Builds the extension graphnet_ir._core with AddressSanitizer and UndefinedBehaviorSanitizer, and
# has tests/python/random_calls.py call it. Takes that script's arguments:
#
#   tests/tools/random_calls_under_asan.sh [--seed N] [--calls N] [--threads N]
#
# Its core is compiled so, too, some hundred files. What runs operators stays out: LibTorch has no
# build with sanitizers, and no random call needs it.
set -euo pipefail
cd "$(dirname "$0")/../.."
targets=(//python:extension //python:graphnet_core)
./bazelw build --config=asan --noshow_progress "${targets[@]}"
root=$(./bazelw info execution_root 2>/dev/null)
built=$(./bazelw cquery --config=asan "set(${targets[*]})" --output=starlark \
  --starlark:expr='"\n".join([file.path for file in target.files.to_list()])' 2>/dev/null)

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/graphnet_ir"
cp python/graphnet_ir/*.py "$place/graphnet_ir"
while read -r file; do cp "$root/$file" "$place/graphnet_ir"; done <<<"$built"

# Python itself is without sanitizers, so their libraries come first, and libstdc++ for exceptions.
# It frees not all when it ends. With malloc, objects of Python are watched, too.
preload=
for library in libasan.so libubsan.so libstdc++.so; do
  preload+=" $(gcc -print-file-name=$library)"
done
env LD_PRELOAD="$preload" PYTHONMALLOC=malloc PYTHONPATH="$place" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
  "${PYTHON:-/usr/bin/python3}" -P tests/python/random_calls.py "$@"
