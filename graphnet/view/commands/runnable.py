

# --- The program above runs with the values that lie in FILE.py.safetensors beside this file:
#
#     python FILE.py [RESULTS.safetensors]
#     from FILE import GraphModule, arguments; GraphModule()(**arguments(x=my_tensor))
#
import inspect
import json
import sys

import safetensors.torch


def arguments(**given):
    """What forward takes, by name: the weights and inputs of the file, or what is given."""
    # Tensors of a mapped file lie at any address, for which kernels may round otherwise: they are copied.
    path = __file__ + ".safetensors"
    values = {name: tensor.clone() for name, tensor in safetensors.torch.load_file(path).items()}
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    for key in header.get("__metadata__", {}):
        if key.startswith("graphnet.dtype."):  # pairs of real and imaginary parts
            name = key.removeprefix("graphnet.dtype.")
            values[name] = torch.view_as_complex(values[name])
    values.update(given)
    numbers = (int, float, bool, torch.SymInt, torch.SymFloat, torch.SymBool)
    taken = {}
    for name, parameter in list(inspect.signature(GraphModule.forward).parameters.items())[1:]:
        value = values.pop(name, None)
        if isinstance(value, torch.Tensor) and parameter.annotation in numbers:
            value = value.item()
        elif isinstance(value, torch.Tensor) and parameter.annotation is torch.nn.parameter.Parameter:
            value = torch.nn.Parameter(value, requires_grad=value.is_floating_point() or value.is_complex())
        taken[name] = value
    if values:
        raise TypeError("forward takes no " + ", ".join(values))
    return taken


if __name__ == "__main__":
    with torch.no_grad():
        leaves = torch.utils._pytree.tree_leaves(GraphModule()(**arguments()))
    results = {f"o{i}": torch.as_tensor(leaf).contiguous() for i, leaf in enumerate(leaves)}
    for name, result in results.items():
        print(name, result.dtype, list(result.shape))
    if len(sys.argv) > 1:
        safetensors.torch.save_file(results, sys.argv[1])
