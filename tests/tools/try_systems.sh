#!/usr/bin/env bash
# Tries the tarball and the wheel in clean systems, Debian 12 and 13 or those that are named, made by
# debootstrap below ROOT; as root, ten minutes.
#
#   tests/tools/try_systems.sh ROOT [SUITE…]
#
# The wheel is tried in a system whose Python it is for. Ends with "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$1
shift
(( $# )) || set -- bookworm trixie
command -v debootstrap >/dev/null || apt-get -qq install --no-install-recommends debootstrap >/dev/null
./bazelw build --noshow_progress //:dist //python:wheel
libtorch=$(readlink -f "$(./bazelw info output_base)"/external/libtorch/include/ATen/../..)
tarball=$(./bazelw cquery --noshow_progress --output=starlark \
  --starlark:expr='target.files.to_list()[0].path' //:dist)
wheel=$(ls bazel-bin/python/wheel.dist/*.whl)
mkdir -p "$root"
passed=0 failed=0

try() {  # KIND SUITE FILE TORCH
  echo "--- $1 in $2"
  BAZEL=1 tests/tools/try_in_chroot.sh "$1" "$root/$2" "$3" "$4" "$2" | tee "$root/log" || true
  read -r p _ f _ < <(tail -n 1 "$root/log" | grep -E '^[0-9]+ passed, [0-9]+ failed$' || echo "0 passed, 1 failed")
  passed=$((passed + p)) failed=$((failed + f))
}

for suite; do
  try dist "$suite" "$tarball" "$libtorch"
  version=$(chroot "$root/$suite" python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])' || true)
  if [[ $wheel == *-"$version"-* ]]; then
    chroot "$root/$suite" apt-get -qq install --no-install-recommends python3-venv >/dev/null
    try wheel "$suite" "$wheel" "$(dirname "$libtorch")"
  fi
done
echo "$passed passed, $failed failed"
(( failed == 0 ))
