#!/bin/sh
# Starts the program of the package graphnet_ir that this script was installed with. Python would
# take ten times as long as the program itself.
self=$0
[ -L "$self" ] && self=$(readlink -f "$self")
above=${self%/*}/..
# As pip lays it out: an environment or --user, Fedora's, Debian's for root, --target.
for place in "$above"/lib/python3.@MINOR@/site-packages "$above"/lib64/python3.@MINOR@/site-packages \
  "$above"/lib/python3.@MINOR@/dist-packages "$above"; do
  program=$place/graphnet_ir/bin/graphnet
  [ -x "$program" ] && exec "$program" "$@"
done
echo "graphnet: there is no package graphnet_ir where pip puts it beside $self" >&2
exit 2
