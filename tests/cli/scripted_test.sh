#!/usr/bin/env bash
# What programs of TorchScript declare, take and return: methods, literals, dicts, names.
set -euo pipefail
# shellcheck source=tests/cli/scripted.sh
source tests/cli/scripted.sh

# Methods.
"$make_archive" "$scratch/methods.pt" <<'END'
def encode(self, x):
    return x + self.buffer
def decode(self, x, k: int):
    return x * k
END
refused "the module has no method forward; --method chooses one of encode, decode" run "$scratch/methods.pt"
contains "$("$graphnet" hash "$scratch/methods.pt#encode" 2>&1)" \
  "methods.pt#encode: parameters that encode does not read are left out: weight"
refused "no method nope; --method chooses one of encode, decode" show "$scratch/methods.pt" --method nope
for way in "$scratch/methods.pt --method decode" "$scratch/methods.pt#decode"; do
  contains "$("$graphnet" show $way)" "graph @decode"
  "$graphnet" check $way >/dev/null || fail "check $way"
  "$graphnet" hash $way >/dev/null || fail "hash $way"
  [ "$(run $way --input 'x=i64[1]:3..3' --input 5)" = "o0 [15]" ] || fail "run $way"
  rm -rf "$scratch/captured"
  "$graphnet" extract $way -o "$scratch/captured" --input 'i64[1]:3..3' --input k=5 --check >/dev/null ||
    fail "extract $way"
  "$graphnet" convert $way "$scratch/decode.pb" || fail "convert $way"
done
[ "$(run "$scratch/decode.pb" --input 'x=i64[1]:3..3' --input k=5)" = "o0 [15]" ] || fail "decode.pb"

# An input may have the name of a weight, or of a word of --input.
"$make_archive" "$scratch/names.pt" <<'END'
def forward(self, int, buffer):
    return int * 2 + buffer * self.buffer
END
"$graphnet" convert "$scratch/names.pt" "$scratch/names.pb" || fail "names.pb"
"$graphnet" convert "$scratch/names.pb" "$scratch/again.pt" 2>"$scratch/notes" || fail "again.pt"
contains "$(cat "$scratch/notes")" "note: renamed for TorchScript: input int is int_"
[ "$(run "$scratch/names.pt" --input 'int=i64[1]:4..4' --input 'buffer=i64[1]:3..3')" = \
  "$(run "$scratch/names.pt" --input 'i64[1]:4..4' --input 'i64[1]:3..3')" ] || fail "names.pt"
for file in "$scratch/names.pb" "$scratch/again.pt"; do
  [ "$(run "$file" --input 'i64[1]:4..4' --input 'i64[1]:3..3')" = \
    "$(run "$scratch/names.pt" --input 'i64[1]:4..4' --input 'i64[1]:3..3')" ] || fail "$file"
done

# Literals have the declared type; texts and devices are returned.
"$make_archive" "$scratch/literals.pt" <<'END'
def forward(self, x, rate: int, gain: float, flag: bool, name: str, u: Union[int, float], d: Device, ls: List[float]):
    y = x * rate
    if flag:
        y = y + 1
    if isinstance(u, int):
        y = y + 100
    else:
        y = y + 200
    return y, name + "!", d, gain * ls[1]
END
contains "$(run "$scratch/literals.pt" --input 'x=i64[1]:2..2' --input rate=16000 --input 2 --input true \
  --input name=16000 --input u=3 --input cpu --input '[1,4]')" "o0 [32101]
o1 16000!
o2 cpu
o3 [8.0]"
contains "$(run "$scratch/literals.pt" --input 'x=i64[1]:2..2' --input rate=1 --input gain=0.5 --input flag=false \
  --input name=abc --input u=3.0 --input d=cpu --input 'ls=list(1,float=4)')" "o0 [202]
o1 abc!
o2 cpu
o3 [2.0]"
refused "1.5 is no integer" run "$scratch/literals.pt" --input 'x=i64[1]' --input rate=1.5
refused "1 is neither true nor false" run "$scratch/literals.pt" --input 'x=i64[1]' --input flag=1
refused "abc is no value of type Union" run "$scratch/literals.pt" --input u=abc
refused "expected a dtype and sizes" run "$scratch/literals.pt" --input x=16000

# Everything that TorchScript declares can be given: members of unions, dtypes, devices in lists,
# None in a list. Each program counts what it got in digits of its own.
"$make_archive" "$scratch/union.pt" <<'END'
def forward(self, s: Optional[Union[Tensor, int, List[Tensor], List[int], Dict[str, Tensor], Tuple[int, float]]]):
    if s is None:
        return torch.tensor(1)
    elif isinstance(s, Tensor):
        return torch.tensor(2) + 10 * s.dim()
    elif isinstance(s, int):
        return torch.tensor(3) + 10 * s
    elif isinstance(s, List[Tensor]):
        return torch.tensor(4) + 10 * len(s)
    elif isinstance(s, List[int]):
        return torch.tensor(5) + 10 * s[0]
    elif isinstance(s, Dict[str, Tensor]):
        return torch.tensor(6) + 10 * len(s)
    else:
        return torch.tensor(7) + 10 * s[0]
END
for case in "None 1" "i64[] 2" "f32[2,3] 22" "4 43" "int=4 43" "[f32[2],f32[3]] 24" "list(f32[2]) 14" "[7,8] 75" \
    "dict(b=f32[2],a=f32[1]) 26" "{a:f32[2]} 16" "(8,9) 87" "tuple(8,9.5) 87"; do
  [ "$(run "$scratch/union.pt" --input "s=${case% *}")" = "o0 [${case##* }]" ] ||
    fail "union $case: $(run "$scratch/union.pt" --input "s=${case% *}")"
  rm -rf "$scratch/captured"
  "$graphnet" extract "$scratch/union.pt" -o "$scratch/captured" --input "s=${case% *}" --check >/dev/null ||
    fail "extract of a union: $case"
done
[ "$(run "$scratch/union.pt")" = "o0 [1]" ] || fail "a union without a value"
for word in abc 1.5 '[abc]' '(1,2,3)'; do
  refused "no value of type" run "$scratch/union.pt" --input "s=$word"
done
"$make_archive" "$scratch/any.pt" <<'END'
def forward(self, x, a: Any):
    if isinstance(a, List[int]):
        return x * a[1]
    return x
END
[ "$(run "$scratch/any.pt" --input i64[1]:2..2 --input 'a=[1,3]')" = "o0 [6]" ] || fail "a list as Any"
refused "the type of the elements of an empty structure is unknown" run "$scratch/any.pt" --input 'x=i64[1]' --input 'a=[]'
refused "its elements are of different types" run "$scratch/any.pt" --input 'x=i64[1]' --input 'a=[1,b]'
"$make_archive" "$scratch/kinds.pt" <<'END'
def forward(self, x, t: int, ds: List[Device], ts: List[Optional[Tensor]], ls: List[List[int]],
            d: Dict[int, float]):
    return x.to(dtype=t), ds[1], len(ts), len(ls), d[2]
END
[ "$(run "$scratch/kinds.pt" --input 'i64[1]:3..3' --input t=torch.float64 --input 'ds=[cpu,meta]' \
  --input 'ts=[f32[2],None,f32[1]]' --input 'ls=[[1],[],[2]]' --input '{1: 2, 2: 2.5}')" = "o0 [3.0]
o1 meta
o2 [3]
o3 [3]
o4 [2.5]" ] || fail "kinds of inputs"

# Defaults of every kind hold, also in what is written anew.
"$make_archive" "$scratch/default_kinds.pt" <<'END'
def forward(self, x, c: complex = 1+2j, d: Device = torch.device("cpu"), t: Tuple[int, Tuple[str, float]] = (2, ("ab", 1.5)),
            u: Union[int, float] = 2.5, s: str = 'a"b', n: Optional[int] = 4, e: Optional[List[int]] = None):
    if u is None or n is None or e is not None:
        return x, "wrong", d
    return x * t[0] + t[1][1] + u + n, s + t[1][0] + str(int(torch.imag(torch.ones(1) * c))), d
END
expected="o0 [12.0]
o1 a\"bab2
o2 cpu"
"$graphnet" check "$scratch/default_kinds.pt" >/dev/null || fail "check of defaults"
[ "$(run "$scratch/default_kinds.pt" --input i64[1]:2..2)" = "$expected" ] ||
  fail "defaults: $(run "$scratch/default_kinds.pt" --input i64[1]:2..2)"
"$graphnet" convert "$scratch/default_kinds.pt" "$scratch/written.pt" || fail "defaults are written"
[ "$(run "$scratch/written.pt" --input i64[1]:2..2)" = "$expected" ] ||
  fail "defaults that were written: $(run "$scratch/written.pt" --input i64[1]:2..2)"
contains "$(run "$scratch/default_kinds.pt" --input i64[1]:2..2 --input 't=(1,(q,0))' --input u=0)" "o0 [6.0]
o1 a\"bq2"

# Dicts keep the order of their keys.
"$make_archive" "$scratch/dict.pt" <<'END'
def forward(self, d: Dict[str, Tensor], e: Dict[int, Tensor]):
    return list(d.values()), list(e.values())
END
[ "$(run "$scratch/dict.pt" --input 'd=dict(b=i64[]:1..1,a=i64[]:2..2)' --input 'dict(7=i64[]:3..3,3=i64[]:4..4)')" = "o0 [1]
o1 [2]
o2 [3]
o3 [4]" ] || fail "the order of a dict's keys"

# Nested lists of numbers.
"$make_archive" "$scratch/nested.pt" <<'END'
def forward(self, x):
    return torch.tensor([[1, 2], [3, 4]]) + x, torch.tensor([[[1.5], [2.5]]]), torch.tensor([[True], [False]])
END
[ "$(run "$scratch/nested.pt" --input 'i64[]:1..1')" = "o0 [2, 3, 4, 5]
o1 [1.5, 2.5]
o2 [True, False]" ] || fail "nested lists"

# The names of outputs are no part of a folder.
"$make_archive" "$scratch/output.pt" <<'END'
def forward(self, x, f: bool, g: bool):
    if f:
        output = x + 1
    else:
        output = x * 2
    if g:
        output_1 = output + 3
    else:
        output_1 = output
    return output_1
END
"$graphnet" check "$scratch/output.pt" >/dev/null || fail "check output.pt"
cat >"$scratch/nan.gn" <<'END'
graphnet.module 1

attribute e : f32[0] {mean = nan(0xfff8000000000000), std = 0.0, data = []}
graph @forward(%x : f32[2] {mean = 0.0, std = nan(0x7ff8000000000001), data = [nan(0xfff8000000000000), 1.0]}) {
  %y = aten.add.Scalar(%x, nan(0xfff8000000000000))
  return (%y,)
}
end
END
"$graphnet" check "$scratch/nan.gn" >/dev/null || fail "check nan.gn"

# --inputs is wherever --input is.
"$make_archive" "$scratch/bag.pt" <<'END'
def forward(self, i, o):
    return torch.embedding_bag(self.weight.view(3, 1), i, o)[0]
END
python3 - "$scratch/bag.safetensors" <<'END'
import json, struct, sys
header = {n: {"dtype": "I64", "shape": [k], "data_offsets": [b, b + 8 * k]} for n, k, b in [("i", 4, 0), ("o", 2, 32)]}
text = json.dumps(header).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(text)) + text + struct.pack("<6q", 0, 1, 2, 1, 0, 2))
END
for command in "convert $scratch/bag.pt $scratch/bag.pt2" "opt $scratch/bag.pt -p dce -o $scratch/bag.pb" \
    "hash $scratch/bag.pt" "decompose $scratch/bag.pt --pieces 1 -o $scratch/bag_decomposed"; do
  "$graphnet" $command --input i=i64[4] --input o=i64[2] --inputs "$scratch/bag.safetensors" >/dev/null ||
    fail "--inputs: $command"
done

# Default values of inputs that are no tensors may be replaced where pieces are cut and where they
# run; the pieces are the original's all the same.
"$make_archive" "$scratch/defaults.pt" <<'PROGRAM'
def forward(self, x, scale: float = 1.0, n: int = 2, flag: bool = True, mode: str = "sum"):
    y = torch.relu(x)
    z = y * scale + n
    if flag:
        z = z * 2.0
    if mode == "sum":
        z = z + 1
    return torch.sin(z)
PROGRAM
for cut in "" "--input scale=0.5" "--input n=7 --input flag=false" "--input mode=max --input scale=0.5"; do
  for style in chain dag; do
    rm -rf "$scratch/pieces"
    "$graphnet" decompose "$scratch/defaults.pt" --pieces 2 -o "$scratch/pieces" --style $style --input 'x=f32[3]' $cut >/dev/null || fail "decompose $cut"
    "$graphnet" validate "$scratch/defaults.pt" "$scratch/pieces" >/dev/null || fail "validate, $style, cut with $cut"
    for run in "" "--input scale=0.25" "--input mode=max --input n=1"; do
      out=$("$graphnet" validate "$scratch/defaults.pt" "$scratch/pieces" --run --input 'x=f32[3]' $run) ||
        fail "validate --run $run, $style, cut with $cut: $out"
      contains "$out" "1 of 1 outputs bit-equal"
    done
  done
done
