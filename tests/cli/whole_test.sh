#!/usr/bin/env bash
# Outputs appear whole or not at all: if there is no room, if files would exceed their limit, and if
# the program is killed at any moment. This includes outputs of several files.
set -euo pipefail
graphnet=$PWD/$1
samples=$PWD/samples
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }

# Lists a folder without temporary files, which a killed program cannot remove.
listing() { find "$1" -mindepth 1 ! -path '*.tmp' ! -path '*.tmp/*' -printf '%P\n' | sort; }
# Prints a digest of all content.
content() { (cd "$1" && find . -type f ! -path '*.tmp' ! -path '*.tmp/*' -print0 | sort -z | xargs -0 -r sha256sum); }

# Commands that write several files. OUT is the existing folder that they write into.
cat >commands <<'END'
convert SAMPLES/resnet.pt OUT/y.pb
convert SAMPLES/resnet.pt OUT/new/sub/y.pb
convert SAMPLES/vit.pt OUT/y.mlir
convert SAMPLES/resnet.pt OUT/y
convert SAMPLES/resnet.pt OUT/y.pt2
opt SAMPLES/resnet.pb -p dce -o OUT/y.pb
opt SAMPLES/vit.pb -p dce -o OUT/new/sub
subgraph SAMPLES/resnet.pb --range 8:130 -o OUT/y.pb
extract SAMPLES/resnet.pt --input f32[1,3,64,64] -o OUT/y
extract SAMPLES/detector.pt --input f32[1,3,64,64] -o OUT/y --format graphnet
roundtrip SAMPLES/resnet.pb -o OUT/y
shard SAMPLES/vit.pb --input f32[2,3,64,64] --mesh 2 --values -o OUT/y
END

# no_room WHY COMMAND…: the exit code is 2, one line has the reason, and `out` has nothing new.
no_room() {
  local why=$1 code=0 before
  shift
  before=$(content "$out")
  "$@" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "$*: exit code $code: $(cat out.txt err.txt)"
  grep -q '^graphnet: ' err.txt || fail "$*: $(cat err.txt)"
  grep -q "$why" err.txt || fail "$*: $(cat err.txt)"
  [ "$(content "$out")" = "$before" ] || fail "$*: changes what was there: $(listing "$out")"
  [ -z "$(find "$out" -name '*.tmp')" ] || fail "$*: leaves $(find "$out" -name '*.tmp')"
}

run_all() {
  while read -r command; do
    command=${command//SAMPLES/$samples}
    # shellcheck disable=SC2086
    "$@" "$graphnet" ${command//OUT/$out}
  done <commands
}

# --- Files would exceed their limit: afterwards there is nothing new, and old files are unchanged.
limited() { (ulimit -f 8 && exec "$@"); }
out=limit
mkdir "$out"
run_all no_room "File too large" limited
[ -z "$(ls -A "$out")" ] || fail "something is left: $(ls -A "$out")"
"$graphnet" convert "$samples/unet.pt" "$out/y.pb"
no_room "File too large" limited "$graphnet" convert "$samples/resnet.pt" "$out/y.pb"
"$graphnet" check "$out/y.pb" >/dev/null || fail "the old pair does not fit"
rm -r "$out"

# --- A full disk, if this machine allows one.
out=full
mkdir "$out"
if mount -t tmpfs -o size=48k none "$out" 2>/dev/null; then
  trap 'umount "$TEST_TMPDIR/full"' EXIT
  run_all no_room "No space left on device"
  [ -z "$(ls -A "$out")" ] || fail "something is left: $(ls -A "$out")"
  # The mount point cannot be renamed: its content is replaced.
  no_room "No space left on device" "$graphnet" extract "$samples/resnet.pt" --input 'f32[1,3,64,64]' -o "$out"
  printf 'graph @forward(%%x : f32[2, 3]) {\n  %%y = torch.relu(%%x)\n  return (%%y,)\n}\n' >small.gn
  "$graphnet" convert small.gn "$out" --to graphnet
  [ -f "$out/graph_net.json" ] || fail "no sample at a mount point: $(ls -A "$out")"
  rm "$out"/*
  # A benchmark blames neither side for it.
  dd if=/dev/zero of="$out/fill" bs=1k count=20 2>/dev/null
  code=0
  "$graphnet" bench "$samples/resnet.pb" --backend nope --trials 1 --warmup 0 -o "$out/log" >out.txt 2>err.txt || code=$?
  [ "$code" -eq 2 ] || fail "bench on a full disk: exit code $code: $(cat out.txt err.txt)"
  grep -q "No space left on device" err.txt || fail "bench: $(cat err.txt)"
  ! grep -rq eager_fail "$out" || fail "bench blames the eager side"
else
  echo "not run: no place can be mounted here"
fi

# --- Killed at any moment: the output is whole or missing; a program never gets another's weights.
"$graphnet" convert "$samples/vit.pt" vit.pb
"$graphnet" convert "$samples/unet.pt" unet.pb
mkdir killed
for round in $(seq 1 40); do
  [ $((round % 10)) -ne 0 ] || rm -rf killed/*
  from=$([ $((round % 2)) -eq 0 ] && echo vit || echo unet)
  timeout -s KILL "0.0$((round % 6 + 1))" "$graphnet" convert $from.pb killed/y.pb 2>/dev/null || true
  if [ -f killed/y.pb ]; then
    "$graphnet" convert killed/y.pb back.pb || fail "round $round: y.pb without its weights: $(ls killed)"
    cmp -s back.safetensors vit.safetensors || cmp -s back.safetensors unet.safetensors || fail "round $round: other weights"
  else
    [ ! -e killed/y.safetensors ] || fail "round $round: weights alone"
  fi
  timeout -s KILL "0.$((round % 8 + 1))" "$graphnet" extract "$samples/resnet.pt" --input 'f32[1,3,64,64]' \
    -o killed/captured >/dev/null 2>&1 || true
  [ ! -e killed/captured ] || [ -f killed/captured/stitch.pb ] || fail "round $round: half an extraction"
done
echo PASSED
