#!/bin/sh
# Starts the program of the package graphnet_ir that this script was installed with. Python would
# take ten times as long as the program itself.
self=$0
[ -L "$self" ] && self=$(readlink -f "$self")
above=${self%/*}/..
room=
case "$1" in  # packages of Python do the work of these
  corpus | harvest) room=$1 ;;
  differentiate) room=gradients ;;
esac
if [ -n "$room" ]; then
  shift
  python=$above/bin/python3
  [ -x "$python" ] || python=python3
  [ -d "$above/graphnet_ir" ] && export PYTHONPATH="$above${PYTHONPATH:+:$PYTHONPATH}"  # --target
  exec "$python" -P -m "graphnet_ir.$room" "$@"  # -P: nothing is imported from here
fi
# As pip lays it out: an environment or --user, Fedora's, Debian's for root, --target.
for place in "$above"/lib/python3.@MINOR@/site-packages "$above"/lib64/python3.@MINOR@/site-packages \
  "$above"/lib/python3.@MINOR@/dist-packages "$above"; do
  program=$place/graphnet_ir/bin/graphnet
  [ -x "$program" ] && exec "$program" "$@"
done
echo "graphnet: there is no package graphnet_ir where pip puts it beside $self" >&2
exit 2
