#!/usr/bin/env bash
# Loops, branches and state of TorchScript that given inputs decide, as .pt2 and MLIR.
set -euo pipefail
# shellcheck source=tests/cli/scripted.sh
source tests/cli/scripted.sh

# Loops whose turns the given inputs decide are written out; the program is for these inputs only.
loop() {  # NAME "WORDS OF --input …" reads the body of forward(self, x, n: int)
  sed '1i def forward(self, x, n: int):' >"$scratch/loop.py"
  "$make_archive" "$scratch/$1.pt" <"$scratch/loop.py"
}
loop step <<'END'
    for i in range(1, n, 2):
        x = x + i
    return x
END
loop down <<'END'
    for i in range(n, 0, -1):
        x = x * i + 1
    return x
END
loop while <<'END'
    while n > 0:
        x = x + n
        n -= 2
    return x, n
END
loop break <<'END'
    out: List[Tensor] = []
    for i in range(n):
        if i == 1:
            continue
        out.append(x * i)
        if i == 3:
            break
    return torch.stack(out)
END
loop slices <<'END'
    y = x.clone()
    for i in range(0, x.size(0), n):
        y[i:i + n] += i
    return y
END
loop early <<'END'
    for i in range(n):
        x = x + i
        if i == 2:
            return x
    return x * 2
END
for name in step down while break slices early; do
  given="--input x=f32[4,3] --input n=5"
  note=$("$graphnet" convert "$scratch/$name.pt" "$scratch/$name.pt2" $given 2>&1) || fail "convert $name: $note"
  contains "$note" "the program is written for n = 5 only"
  "$graphnet" convert "$scratch/$name.pt" "$scratch/$name.mlir" $given >/dev/null 2>&1 || fail "$name.mlir"
  expected=$(run "$scratch/$name.pt" $given)
  [ -n "$expected" ] && [ "$(run "$scratch/$name.pt2" --input x=f32[4,3])" = "$expected" ] || fail "run $name.pt2"
  "$graphnet" hash --normal-form "$scratch/$name.pt" $given >/dev/null || fail "hash $name"
  refused "the number of its turns follows from the input n, whose value is not known; give it, for example --input n=3" \
    convert "$scratch/$name.pt" "$scratch/no.pt2" --input x=f32[4,3]
done
"$graphnet" diff --normal-form "$scratch/step.pt" "$scratch/step.pt" --input n=5 >/dev/null || fail "diff --normal-form"

# Whether a loop goes on may depend on data.
loop data <<'END'
    for i in range(5):
        x = x + 1
        if bool(x.sum() > 5):
            break
    return x
END
loop data_while <<'END'
    while bool(x.sum() < n):
        x = x + 1
    return x
END
loop data_turns <<'END'
    for i in range(int(x.sum().item())):
        x = x + i
    return x
END
for name in data data_while data_turns; do
  for ending in pt2 mlir; do
    refused ":2:5: torch.ops.higher_order.while_loop (node while_loop): the number of its turns is known only when it runs: it depends on the data of tensors or on other values that cannot be followed, or it is too large" \
      convert "$scratch/$name.pt" "$scratch/no.$ending" --input x=f32[4,3] --input n=5
  done
  "$graphnet" hash --normal-form "$scratch/$name.pt" --input x=f32[4,3] --input n=5 >/dev/null || fail "hash $name"
done
loop data_continue <<'END'
    for i in range(n):
        if bool(x.sum() > 5):
            continue
        x = x + i
    return x
END
for seed in 1 2 3; do
  "$graphnet" convert "$scratch/data_continue.pt" "$scratch/data_continue.pt2" --input x=f32[4,3] --input n=4 >/dev/null 2>&1 || fail "data_continue"
  expected=$(run "$scratch/data_continue.pt" --input x=f32[4,3] --input n=4 --seed $seed)
  [ "$(run "$scratch/data_continue.pt2" --input x=f32[4,3] --seed $seed)" = "$expected" ] || fail "data_continue, seed $seed"
done

# State, branches, texts: what follows from the given inputs is computed.
"$make_archive" "$scratch/state.pt" <<'END'
def reset(self, by: float):
    self.buffer = torch.full([3], by)
def forward(self, x, rate: int, mode: str):
    assert x.dim() < 3, "too many dimensions"
    rows: List[Tensor] = []
    for i in range(0, x.size(0), rate // 8000):
        rows.append(x[i] + self.buffer)
    if rate == 16000:
        self.reset(2.5)
    old = self.buffer
    self.buffer = old * 2 + torch.stack(rows).mean()
    old.add_(1)
    y = torch.stack(rows)
    if mode == "max":
        y = y.max(0)[0]
    elif mode == "mean":
        y = y.mean(0)
    return y, old
END
for given in "rate=16000 mode=max" "rate=8000 mode=mean" "rate=24000 mode=all"; do
  words="--input x=f32[4,3]"
  for word in $given; do words+=" --input $word"; done
  note=$("$graphnet" convert "$scratch/state.pt" "$scratch/state.pt2" $words 2>&1) || fail "convert state, $given: $note"
  grep -q "cannot keep" <<<"$note" && fail "the buffer is kept: $note"
  expected=$(run "$scratch/state.pt" $words)
  [ -n "$expected" ] && [ "$(run "$scratch/state.pt2" --input x=f32[4,3])" = "$expected" ] || fail "run state.pt2, $given"
  "$graphnet" convert "$scratch/state.pt" "$scratch/state.mlir" $words >/dev/null 2>&1 || fail "state.mlir, $given"
done
# A branch on data that are too many to be looked at.
loop large <<'END'
    y = torch.relu(x)
    if bool(y.mean() > 0.3):
        y = y * 2
    else:
        y = y - 1
    return y.sum(0)
END
"$graphnet" convert "$scratch/large.pt" "$scratch/large.pt2" --input x=f32[300,400] --input n=2 >/dev/null 2>&1 || fail "convert large"
for seed in 1 2; do
  [ "$(run "$scratch/large.pt2" --input x=f32[300,400] --seed $seed)" = \
    "$(run "$scratch/large.pt" --input x=f32[300,400] --input n=2 --seed $seed)" ] || fail "run large.pt2"
done

"$make_archive" "$scratch/grows.pt" <<'END'
def forward(self, x):
    self.buffer = torch.cat([self.buffer, x])
    return self.buffer.sum()
END
note=$("$graphnet" convert "$scratch/grows.pt" "$scratch/grows.pt2" --input x=f32[2] 2>&1) || fail "convert grows: $note"
contains "$note" "the program assigns buffer, which torch.export cannot keep: each call starts with the saved values"
"$make_archive" "$scratch/branch.pt" <<'END'
def forward(self, x):
    if bool(x.sum() > 0):
        self.buffer = self.buffer + 1
    return x + self.buffer
END
refused "the program assigns this attribute in a branch or loop that depends on data" \
  convert "$scratch/branch.pt" "$scratch/no.pt2" --input x=f32[3]
