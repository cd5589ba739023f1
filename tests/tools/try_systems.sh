#!/usr/bin/env bash
# Tries the tarball and the wheel in clean systems, Debian 12 and 13 or those that are named, made by
# debootstrap below ROOT; as root, ten minutes.
#
#   [WHEELS="FILE…"] tests/tools/try_systems.sh ROOT [SUITE…]
#
# A wheel is tried in the systems whose Python it is for; WHEELS names wheels for other Pythons than the
# one of this machine. Ends with "N passed, N failed".
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
wheels=(bazel-bin/python/wheel.dist/*.whl ${WHEELS:-})
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
  chroot "$root/$suite" apt-get -qq install --no-install-recommends python3-venv >/dev/null
  version=$(chroot "$root/$suite" python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  for wheel in "${wheels[@]}"; do
    [[ $wheel == *-"$version"-* ]] || continue
    # LibTorch's Python packages are for the Python of this machine.
    torch=$(dirname "$libtorch")
    [[ $torch == *"/python${version:2:1}.${version:3}/"* ]] || torch=
    try wheel "$suite" "$wheel" "$torch"
  done
done
echo "$passed passed, $failed failed"
(( failed == 0 ))
