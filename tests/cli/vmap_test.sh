#!/usr/bin/env bash
# Flat vmap nesting through the tool: it is reverted, written as nested functions, read back, run,
# flattened again and expanded.
set -euo pipefail
graphnet=$PWD/$1
cd "$TEST_TMPDIR"

fail() { echo "FAILED: $*" >&2; exit 1; }
contains() { grep -qF -- "$2" <<<"$1" || fail "expected '$2' in: $1"; }

# There are two levels, a captured value, and a value whose batch dimension is removed although it
# is not batched.
mkdir flat
cat >flat/model.py <<'END_OF_MODEL'
import torch

class GraphModule(torch.nn.Module):
    def forward(self, q : torch.Tensor, k : torch.Tensor, w : torch.Tensor):
        lazy = torch._functorch.predispatch.lazy_load_decompositions();  lazy = None
        open1 = torch._functorch.predispatch._vmap_increment_nesting(5, 'error');  open1 = None
        a = torch._functorch.predispatch._add_batch_dim(q, 0, 1)
        lazy_1 = torch._functorch.predispatch.lazy_load_decompositions();  lazy_1 = None
        open2 = torch._functorch.predispatch._vmap_increment_nesting(3, 'error');  open2 = None
        b = torch._functorch.predispatch._add_batch_dim(k, 0, 2)
        le = b.le(a)
        ones = le.new_ones((), dtype = torch.bool)
        mask = ones.__and__(le)
        score = (b * a).sin()
        inner = torch._functorch.predispatch._remove_batch_dim(mask, 2, 3, 0)
        inner_1 = torch._functorch.predispatch._remove_batch_dim(score, 2, 3, 0)
        close2 = torch._functorch.predispatch._vmap_decrement_nesting();  close2 = None
        picked = torch.where(inner, inner_1, w)
        total = torch.einsum('i,i->', picked, w)
        outer = torch._functorch.predispatch._remove_batch_dim(inner, 1, 5, 0)
        outer_1 = torch._functorch.predispatch._remove_batch_dim(total, 1, 5, 0)
        close1 = torch._functorch.predispatch._vmap_decrement_nesting();  close1 = None
        return (outer, outer_1)
END_OF_MODEL
for input in q:5 k:3 w:3; do
  printf 'class Program_weight_tensor_meta_%s:\n    name = "%s"\n    shape = [%s]\n' \
    "${input%:*}" "${input%:*}" "${input#*:}"
  printf '    dtype = "torch.float32"\n    device = "cpu"\n    mean = 0.5\n    std = 1.0\n    data = None\n'
done >flat/weight_meta.py
: >flat/input_meta.py
: >flat/input_tensor_constraints.py
printf '{"framework": "torch", "model_name": "flat"}' >flat/graph_net.json

# --- Reverted: each body is a nested function, and no flat call is left.
"$graphnet" opt flat --passes=revert-vmap -o nested --verify-each >/dev/null
model=$(cat nested/model.py)
[ "$(grep -c '^ *def ' nested/model.py)" -eq 3 ] || fail "not one function a body: $model"
contains "$model" "        def "
contains "$model" "            def "
! grep -q "_batch_dim\|nesting" nested/model.py || fail "a flat call is left: $model"
# Reading back gives the written graph.
contains "$("$graphnet" check nested)" "1 passed, 0 failed"
"$graphnet" convert nested again >/dev/null
diff nested/model.py again/model.py || fail "the folder is read back as something else"

# --- The same bits.
out=$("$graphnet" diff-run flat nested)
contains "$out" "o0   bit-equal"
contains "$out" "o1   bit-equal"

# --- It is validated by running, although values inside of open levels have no memory.
for format in graphnet protobuf; do
  "$graphnet" decompose flat -o "pieces_$format" --pieces 2 --to $format >/dev/null
  contains "$("$graphnet" validate flat "pieces_$format" --run)" "2 of 2 outputs bit-equal"
done

# --- Flattening gives the original; the calls that open and close levels have no names.
"$graphnet" opt nested --passes=flatten-vmap,canonical-names -o flattened --verify-each >/dev/null
"$graphnet" opt flat --passes=canonical-names -o original >/dev/null
diff original/model.py flattened/model.py || fail "flattened it is something else"

# --- Expanding leaves no vmap.
out=$("$graphnet" opt nested --passes=expand-vmap -o expanded --verify-each)
! grep -q "vmap" expanded/model.py || fail "vmap is left: $out"
out=$("$graphnet" diff-run flat expanded)
contains "$out" "o0   bit-equal"
contains "$out" "o1   bit-equal"
echo PASSED
