#!/usr/bin/env bash
# Tries the tarball of //:dist or the wheel of //python:wheel in a clean system, made by debootstrap; as
# root, some minutes.
#
#   tests/tools/try_in_chroot.sh dist  ROOT TARBALL LIBTORCH      SUITE [MIRROR [SCRIPT]]
#   tests/tools/try_in_chroot.sh wheel ROOT WHEEL   SITE_PACKAGES SUITE [MIRROR [SCRIPT]]
#
# ROOT is the folder of the system; one that is there already is used again. SUITE is bookworm, trixie,
# noble, …; SCRIPT is debootstrap's, for a suite that it does not know.
#
# dist: what a user would install is installed: compiler, CMake, pkg-config, the libraries' packages, and
# Bazel where BAZEL=1. LIBTORCH may be empty: then the core only, and how its absence is told. In a system
# with another Abseil, only the tool can be tried: TOOL_ONLY=1.
#
# wheel: the system has python3-venv and nothing else. SITE_PACKAGES is that of a Python which has torch, and
# may be empty: then what needs torch is only refused.
#
# Ends with "N passed, N failed".
set -euo pipefail
project=$(cd "$(dirname "$0")/../.." && pwd)
kind=$1 root=$2 file=$3 torch=$4
shift 4

include=()
[ "$kind" = dist ] || include=(--include=python3-venv)
[ -e "$root/etc/os-release" ] || debootstrap --variant=minbase "${include[@]}" "$1" "$root" "${@:2}"
mounted=()
trap 'for place in "${mounted[@]}"; do umount "$place"; done' EXIT
# Java is not installed without.
for place in proc dev; do
  mount --bind "/$place" "$root/$place" && mounted+=("$root/$place")
done
rm -rf "$root/try" && mkdir -p "$root/try/torch"
if [ -n "$torch" ]; then
  mount --bind -o ro "$torch" "$root/try/torch" && mounted+=("$root/try/torch")
fi

try_dist() {
  local packages=()
  if [ -z "${TOOL_ONLY:-}" ]; then
    packages+=(cmake g++ libabsl-dev libprotobuf-dev libssl-dev make pkg-config zlib1g-dev)
  fi
  if [ -n "${BAZEL:-}" ]; then
    packages+=(bazel-bootstrap bazel-platforms bazel-rules-java bazel-rules-proto bazel-skylib
      protobuf-compiler)
  fi
  cp /etc/resolv.conf "$root/etc/"
  if (( ${#packages[@]} )); then
    chroot "$root" apt-get -qq update
    chroot "$root" env DEBIAN_FRONTEND=noninteractive \
      apt-get -qq install --no-install-recommends "${packages[@]}" >/dev/null
  fi
  mkdir -p "$root/try/project/tests"
  cp -r "$project/examples" "$project/samples" "$root/try/project/"
  cp -r "$project/tests/tools" "$root/try/project/tests/"
  # Its checks take the public headers from this page.
  mkdir "$root/try/project/docs" && cp "$project/docs/library.md" "$root/try/project/docs/"
  tar -xzf "$file" -C "$root/try" --one-top-level=unpacked --strip-components=1
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    /try/project/tests/tools/try_dist.sh /try/unpacked ${torch:+/try/torch}
}

passed=0
failed=0
# check NAME COMMAND…: in the system, with nothing of this shell's environment.
check() {
  local name=$1
  shift
  if chroot "$root" /usr/bin/env -i PATH=/try/environment/bin:/usr/bin:/bin HOME=/root "$@" \
    >"$root/try/log" 2>&1; then
    passed=$((passed + 1))
    echo "ok: $name"
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    tail -n 30 "$root/try/log"
  fi
}

try_wheel() {
  cp "$file" "$project"/samples/resnet.{pb,safetensors} "$root/try/"
  check "an environment" python3 -m venv /try/environment
  check "the wheel installs, and wants nothing" \
    pip install --no-index --disable-pip-version-check "/try/$(basename "$file")"
  check "its libraries find theirs" bash -c \
    '! ldd /try/environment/lib/python3*/site-packages/graphnet_ir/{_core*.so,libgraphnet_core.so,bin/graphnet} |
      grep "not found"'
  check "the tool: a check" graphnet check /try/resnet.pb
  check "the tool: a conversion" graphnet convert /try/resnet.pb /try/resnet.gn
  check "the tool without torch: a run, refused in one line" bash -c "said=\$(graphnet run /try/resnet.pb 2>&1)
    [ \$? -eq 2 ] && [ \$(wc -l <<<\"\$said\") -eq 1 ] && grep -q 'needs LibTorch' <<<\"\$said\""
  check "Python: a sample" python -c \
    'import graphnet_ir; assert graphnet_ir.load("/try/resnet.pb").graph.nodes'
  if [ -n "$torch" ]; then
    check "an environment that has torch" python -c \
      'import sysconfig; open(sysconfig.get_path("purelib") + "/torch.pth", "w").write("/try/torch\n")'
    check "the tool: a run" graphnet run /try/resnet.pb
    check "Python: a run" python -c \
      'import graphnet_ir; graphnet_ir.run(graphnet_ir.load("/try/resnet.pb"))'
  fi
  check "it goes without a trace" bash -c 'pip uninstall --yes graphnet_ir &&
    ! find /try/environment | grep graphnet'
  rm "$root/try/log"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ]
}

"try_$kind"
