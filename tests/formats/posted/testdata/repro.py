
import os
os.environ['LIBTORCH'] = '/usr/lib/python3/torch'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/torchinductor_root'
os.environ.pop('TORCHDYNAMO_REPRO_AFTER', None)
os.environ.pop('TORCHDYNAMO_REPRO_LEVEL', None)

import torch
from torch import tensor, device
import torch.fx as fx
from torch._dynamo.testing import rand_strided
from math import inf
import torch._inductor.inductor_prims



import torch._dynamo.config
import torch._inductor.config
import torch._functorch.config
import torch.fx.experimental._config
torch._dynamo.config.replay_side_effects = True
torch._dynamo.config.side_effect_replay_policy = 'info'
torch._dynamo.config.recompile_limit = 8
torch._dynamo.config.accumulated_recompile_limit = 256
torch._dynamo.config.specialize_int = False
torch._dynamo.config.specialize_float = False
torch._dynamo.config.assume_static_by_default = True
torch._dynamo.config.automatic_dynamic_shapes = True
torch._dynamo.config.capture_scalar_outputs = False
torch._dynamo.config.capture_dynamic_output_shape_ops = False
torch._dynamo.config.prefer_deferred_runtime_asserts_over_guards = False
torch._dynamo.config.do_not_emit_runtime_asserts = False
torch._dynamo.config.dont_skip_tracing = False
torch._dynamo.config.allow_rnn = False
torch._dynamo.config.allow_empty_graphs = False
torch._inductor.config.deterministic = False
torch._functorch.config.decompose_custom_triton_ops = True
torch._functorch.config.fake_tensor_allow_unsafe_data_ptr_access = True



isolate_fails_code_str = None





if "__compile_source__" in globals():
    import inspect as __after_aot_inspect
    import linecache as __after_aot_linecache
    __after_aot_filename = __after_aot_inspect.currentframe().f_code.co_filename
    __after_aot_linecache.cache[__after_aot_filename] = (
        len(__compile_source__),
        None,
        __compile_source__.splitlines(True),
        __after_aot_filename,
    )
# torch version: 2.13.0+cpu
# torch cuda version: None
# torch git version: cf30153c4c131c8164ee7798e5022d810682e2cb


# torch.cuda.is_available()==False, no GPU info collected
torch._higher_order_ops.triton_kernel_wrap.kernel_side_table.reset_table()

from torch.nn import *
class Repro(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()



    def forward(self, x_1, y_1, w_1):
        mm = torch.ops.aten.mm.default(x_1, w_1);  w_1 = None
        relu = torch.ops.aten.relu.default(mm);  mm = None
        add = torch.ops.aten.add.Tensor(relu, y_1);  relu = y_1 = None
        sum_1 = torch.ops.aten.sum.dim_IntList(x_1, [1]);  x_1 = None
        _to_copy = torch.ops.aten._to_copy.default(sum_1, dtype = torch.bfloat16);  sum_1 = None
        return (add, _to_copy)

def load_args(reader):
    buf0 = reader.storage(None, 128)
    reader.tensor(buf0, (4, 8), is_leaf=True)  # x_1
    buf1 = reader.storage(None, 16)
    reader.tensor(buf1, (4, 1), is_leaf=True)  # y_1
    buf2 = reader.storage(None, 96)
    reader.tensor(buf2, (8, 3), (1, 8), is_leaf=True)  # w_1
load_args._version = 0
mod = Repro()
if __name__ == '__main__':
    from torch._dynamo.repro.after_aot import run_repro
    with torch.no_grad():
        run_repro(mod, load_args, accuracy=False, command='run', save_dir=None, tracing_mode='real', check_str=None)
        # To run it separately, do 
        # mod, args = run_repro(mod, load_args, accuracy=False, command='get_args', save_dir=None, tracing_mode='real', check_str=None)
        # mod(*args)