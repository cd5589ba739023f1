#!/usr/bin/env bash
# `graphnet show --format pir` and `--format loops`, and text of PIR as an input of commands.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"

# expect NAME: the last command printed the standard input into out.txt.
expect() {
  if ! diff -u - out.txt; then
    echo "FAILED: $1" >&2
    exit 1
  fi
}

cat >a.gn <<'EOF'
graph @forward(%x : f32[64, 128], %y : f32[64, 128]) {
  %d = torch.sub(%x, %y)
  %p = operator.mul(%d, %x)
  %s = mylib.f(%p, [1, 2])
  return (%s,)
}
EOF

"$graphnet" show a.gn --format pir >a.pir
sed 's/ {[^}]*}//; s/ : (.*//' a.pir >out.txt
expect "operations" <<'EOF'
{
    (%0) = "pd_op.data" [id:1] ()
    (%1) = "pd_op.data" [id:2] ()
    (%2) = "pd_op.subtract" [id:3] (%0, %1)
    (%3) = "pd_op.multiply" [id:4] (%2, %0)
    (%4) = "mylib.f" [id:5] (%3)
    () = "builtin.shadow_output" [id:6] (%4)
}
EOF

test "$(grep -c 'builtin.tensor<64x128xf32> { () }.(op_[1-4])$' a.pir)" = 4

# The printed text can be read: as a file, on the standard input, by other commands.
"$graphnet" show a.pir --format pir | diff - a.pir
"$graphnet" show - --format pir <a.pir | diff - a.pir
"$graphnet" check a.pir >/dev/null
"$graphnet" stats a.pir >/dev/null
"$graphnet" convert a.pir a.pb
"$graphnet" show a.pb --format pir | diff - a.pir
"$graphnet" show a.gn --format pir -o b.pir
diff a.pir b.pir
mkdir folder
cp a.pir folder
"$graphnet" check folder | grep -q '1 passed'

"$graphnet" show a.gn --format pir --fused >fused.pir
test "$(grep -c 'cinn_op.fusion' fused.pir)" = 1
"$graphnet" show fused.pir --format pir | diff - fused.pir

"$graphnet" show a.gn --format loops --group 0 >out.txt
expect "serial loops" <<'EOF'
{
  ScheduleBlock(root_1)
  {
    serial for (i, 0ll, 64ll)
    {
      serial for (j, 0ll, 128ll)
      {
        ScheduleBlock(var_3)
        {
          i0_1, i1_1 = axis.bind(i, j)
          var_3[i0_1, i1_1] = ((var[i0_1, i1_1] - var_0[i0_1, i1_1]) * var[i0_1, i1_1])
        }
      }
    }
  }
}
EOF
"$graphnet" show a.gn --format loops --bound >out.txt
grep -q 'thread_bind\[blockIdx.x\] for (i_j_fused, 0, 32)' out.txt
grep -q 'thread_bind\[threadIdx.x\] for (i_j_fused_0, 0, 256)' out.txt
grep -q 'call group_0 (x, y) -> (multiply: float32\[64, 128\])' out.txt
grep -q 'call mylib.f (multiply) -> (f)' out.txt

# refuse MESSAGE COMMAND…: the command exits with 2 and prints MESSAGE.
refuse() {
  local message=$1 status=0
  shift
  "$@" >/dev/null 2>err.txt || status=$?
  if [ "$status" != 2 ] || ! grep -qF -- "$message" err.txt; then
    echo "FAILED: $* exits with $status and prints:" >&2
    cat err.txt >&2
    exit 1
  fi
}
sed 's/(%2, %0)/(%2, %9)/' a.pir >bad.pir
refuse 'bad.pir:5:41: no operation before has the result %9' "$graphnet" show bad.pir
head -c 700 a.pir >cut.pir
refuse 'cut.pir:' "$graphnet" show cut.pir
refuse '--fused is for --format pir' "$graphnet" show a.gn --fused
refuse '--bound and --group for --format loops' "$graphnet" show a.gn --format pir --bound
refuse 'no group 1: there are 1' "$graphnet" show a.gn --format loops --group 1
echo PASS
