#!/usr/bin/env bash
# Tries the tarball of //:dist in a clean system, made by debootstrap; as root, some minutes.
#
#   tests/tools/try_dist_in_chroot.sh ROOT TARBALL LIBTORCH SUITE [MIRROR [SCRIPT]]
#
# ROOT is the folder of the system; one that is there already is used again. LIBTORCH may be
# empty: then the core only, and how its absence is told. What a user would
# install is installed: compiler, CMake, pkg-config, the libraries' packages, and Bazel where
# BAZEL=1. SUITE is bookworm, trixie, noble, …; SCRIPT is debootstrap's, for a suite that it
# does not know. In a system with another Abseil, only the tool can be tried: TOOL_ONLY=1.
set -euo pipefail
project=$(cd "$(dirname "$0")/../.." && pwd)
root=$1 tarball=$2 libtorch=$3
shift 3

[ -e "$root/etc/os-release" ] || debootstrap --variant=minbase "$1" "$root" "${@:2}"
packages=()
if [ -z "${TOOL_ONLY:-}" ]; then
  packages+=(cmake g++ libabsl-dev libprotobuf-dev libssl-dev make pkg-config zlib1g-dev)
fi
if [ -n "${BAZEL:-}" ]; then
  packages+=(bazel-bootstrap bazel-platforms bazel-rules-java bazel-rules-proto bazel-skylib
    protobuf-compiler)
fi
mounted=()
trap 'for place in "${mounted[@]}"; do umount "$place"; done' EXIT
# Java is not installed without.
for place in proc dev; do
  mount --bind "/$place" "$root/$place" && mounted+=("$root/$place")
done
cp /etc/resolv.conf "$root/etc/"
if (( ${#packages[@]} )); then
  chroot "$root" apt-get -qq update
  chroot "$root" env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install --no-install-recommends "${packages[@]}" >/dev/null
fi

rm -rf "$root/try" && mkdir -p "$root/try/project/tests" "$root/try/libtorch"
cp -r "$project/examples" "$project/samples" "$root/try/project/"
cp -r "$project/tests/tools" "$root/try/project/tests/"
tar -xzf "$tarball" -C "$root/try" --one-top-level=unpacked --strip-components=1
if [ -n "$libtorch" ]; then
  mount --bind -o ro "$libtorch" "$root/try/libtorch" && mounted+=("$root/try/libtorch")
fi
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
  /try/project/tests/tools/try_dist.sh /try/unpacked ${libtorch:+/try/libtorch}
