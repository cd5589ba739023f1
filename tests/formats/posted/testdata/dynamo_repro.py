
import os
os.environ['LIBTORCH'] = '/usr/lib/python3/torch'
os.environ['TORCHINDUCTOR_CACHE_DIR'] = '/tmp/torchinductor_root'
os.environ.pop('TORCHDYNAMO_REPRO_AFTER', None)
os.environ.pop('TORCHDYNAMO_REPRO_LEVEL', None)

from math import inf
import torch
from torch import tensor, device
import torch.fx as fx
import torch._dynamo
from torch._dynamo.testing import rand_strided
from torch._dynamo.debug_utils import run_fwd_maybe_bwd

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






from torch.nn import *
class Repro(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()



    def forward(self, L_fn_modules_0_parameters_weight_ : torch.nn.parameter.Parameter, L_fn_modules_0_parameters_bias_ : torch.nn.parameter.Parameter, L_args_0_ : torch.Tensor):
        l_fn_modules_0_parameters_weight_ = L_fn_modules_0_parameters_weight_
        l_fn_modules_0_parameters_bias_ = L_fn_modules_0_parameters_bias_
        l_args_0_ = L_args_0_
        input_1 = torch._C._nn.linear(l_args_0_, l_fn_modules_0_parameters_weight_, l_fn_modules_0_parameters_bias_);  l_args_0_ = l_fn_modules_0_parameters_weight_ = l_fn_modules_0_parameters_bias_ = None
        input_2 = torch.nn.functional.relu(input_1, inplace = False);  input_1 = None
        return (input_2,)


mod = Repro()

def load_args(reader):
    buf0 = reader.storage(None, 128)
    reader.tensor(buf0, (4, 8), requires_grad=True, is_leaf=True)  # L_fn_modules_0_parameters_weight_
    buf1 = reader.storage(None, 16)
    reader.tensor(buf1, (4,), requires_grad=True, is_leaf=True)  # L_fn_modules_0_parameters_bias_
    buf2 = reader.storage(None, 64)
    reader.tensor(buf2, (2, 8), is_leaf=True)  # L_args_0_
load_args._version = 0

if __name__ == '__main__':
    from torch._dynamo.repro.after_dynamo import run_repro
    run_repro(mod, load_args, accuracy=False, command='run',
        save_dir=None, autocast=False, backend='inductor')
