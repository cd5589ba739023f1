#!/usr/bin/env bash
# Tries the wheel of //python:wheel in a clean system, made by debootstrap, that has python3-venv
# and nothing else; as root, some minutes.
#
#   tests/tools/try_wheel_in_chroot.sh ROOT WHEEL SITE_PACKAGES SUITE [MIRROR [SCRIPT]]
#
# ROOT is the folder of the system; one that is there already is used again. SITE_PACKAGES is that
# of a Python which has torch, and may be empty: then what needs torch is only refused. SUITE is
# bookworm or another one with the Python that the wheel is for; SCRIPT is debootstrap's, for a
# suite that it does not know. Ends with "N passed, N failed".
set -euo pipefail
project=$(cd "$(dirname "$0")/../.." && pwd)
root=$1 wheel=$2 site_packages=$3
shift 3

[ -e "$root/etc/os-release" ] ||
  debootstrap --variant=minbase --include=python3-venv "$1" "$root" "${@:2}"
mounted=()
trap 'for place in "${mounted[@]}"; do umount "$place"; done' EXIT
for place in proc dev; do
  mount --bind "/$place" "$root/$place" && mounted+=("$root/$place")
done
rm -rf "$root/try" && mkdir -p "$root/try/torch"
cp "$wheel" "$project"/samples/resnet.{pb,safetensors} "$root/try/"
if [ -n "$site_packages" ]; then
  mount --bind -o ro "$site_packages" "$root/try/torch" && mounted+=("$root/try/torch")
fi

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
# refuses NAME COMMAND: with exit code 2 and one line.
refuses() {
  check "$1" bash -c "said=\$($2 2>&1); [ \$? -eq 2 ] && [ \$(wc -l <<<\"\$said\") -eq 1 ] &&
    grep -q 'needs LibTorch' <<<\"\$said\""
}

check "an environment" python3 -m venv /try/environment
check "the wheel installs, and wants nothing" \
  pip install --no-index --disable-pip-version-check "/try/$(basename "$wheel")"
check "its libraries find theirs" bash -c \
  '! ldd /try/environment/lib/python3*/site-packages/graphnet_ir/{_core*.so,libgraphnet_core.so,bin/graphnet} |
    grep "not found"'
check "the tool: a check" graphnet check /try/resnet.pb
check "the tool: a conversion" graphnet convert /try/resnet.pb /try/resnet.gn
refuses "the tool without torch: a run" "graphnet run /try/resnet.pb"
check "Python: a sample" python -c \
  'import graphnet_ir; assert graphnet_ir.load("/try/resnet.pb").graph.nodes'
if [ -n "$site_packages" ]; then
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
