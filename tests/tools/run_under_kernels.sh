#!/usr/bin/env bash
# run_under_kernels.sh [TARGET…]: runs tests with each set of kernels that LibTorch and oneMKL have
# for this processor, with one thread and with two. A test that passes only with some of them
# asserts how this machine rounds. Without targets, it runs all tests that touch numbers: those that
# link LibTorch, and those of the tool that run graphs.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  mapfile -t targets < <(
    ./bazelw query --noshow_progress 'kind("cc_test", rdeps(//tests/..., @libtorch//:torch))' 2>/dev/null
    for name in decompose extract opt pt2 reduce run schema shard validate vmap whole bench; do
      echo "//tests/cli:${name}_test"
    done)
fi

kernels=(default)
for flag in avx2 avx512f; do
  if grep -qw "$flag" /proc/cpuinfo; then kernels+=("${flag%f}"); fi
done

failed=0
for kernel in "${kernels[@]}"; do
  for rounding in "" COMPATIBLE; do
    for threads in 1 2; do
      options=(--test_env="ATEN_CPU_CAPABILITY=$kernel" --test_env="OMP_NUM_THREADS=$threads")
      [ -z "$rounding" ] || options+=(--test_env="MKL_CBWR=$rounding")
      echo "== ATEN_CPU_CAPABILITY=$kernel MKL_CBWR=$rounding OMP_NUM_THREADS=$threads"
      ./bazelw test --noshow_progress --test_output=errors "${options[@]}" "${targets[@]}" || failed=1
    done
  done
done
[ "$failed" -eq 0 ] && echo "all passed with each set of kernels"
exit "$failed"
