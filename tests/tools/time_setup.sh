#!/usr/bin/env bash
# How long a bare Debian takes from a clone to the tool, or to all tests; as root.
#
#   tests/tools/time_setup.sh ROOT COMMAND SUITE [MIRROR]
#   tests/tools/time_setup.sh /tmp/bare './bazelw run //:graphnet -- --version' bookworm
#
# ROOT is the folder that debootstrap makes, and must not be there: what is timed is what a
# newcomer waits for, packages and LibTorch included. apt and pip are set up as they are here.
set -euo pipefail
project=$(cd "$(dirname "$0")/../.." && pwd)
root=$1
[ ! -e "$root" ] || { echo "$root is there already" >&2; exit 2; }
debootstrap --variant=minbase "$3" "$root" "${@:4}" >/dev/null
cp /etc/resolv.conf "$root/etc/"
cp -r /etc/apt/apt.conf.d /etc/apt/sources.list* "$root/etc/apt/"
mkdir -p "$root/usr/share/keyrings" "$root/etc/ssl/certs" "$root/root/.config"
cp /usr/share/keyrings/debian-* "$root/usr/share/keyrings/"
# There for when the packages make the list of certificates anew.
mkdir -p "$root/usr/local/share/ca-certificates"
cp /etc/ssl/certs/ca-certificates.crt "$root/usr/local/share/ca-certificates/here.crt"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
if [ -e /etc/pip.conf ]; then cp /etc/pip.conf "$root/etc/"; fi
if [ -e ~/.config/pip ]; then cp -r ~/.config/pip "$root/root/.config/"; fi
git clone -q "$project" "$root/project"

mounted=()
trap 'for place in "${mounted[@]}"; do umount -l "$place"; done' EXIT
bind() {
  mkdir -p "$root$1"
  mount --bind "$1" "$root$1" && mounted=("$root$1" "${mounted[@]}")
}
bind /proc
bind /dev
bind /dev/pts
for wheels in $(pip config get global.find-links 2>/dev/null); do bind "$wheels"; done
# What the command costs of processors, as the server that Bazel starts outlives it.
account=/sys/fs/cgroup/cpuacct/graphnet_setup
if mkdir -p "$account" 2>/dev/null; then
  echo $$ >"$account/cgroup.procs"
  used=$(<"$account/cpuacct.usage")
else
  account=
fi
begin=$SECONDS
chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
  bash -c "cd /project && $2"
echo "$((SECONDS - begin)) s${account:+, of processors $((($(<"$account/cpuacct.usage") - used) / 1000000000)) s}"
chroot "$root" bash -c "cd /project && bazel shutdown" >/dev/null 2>&1 || true
