"""Names of what nodes call: Python's functions as GraphNet's folders and torch.fx spell them."""

import builtins
import re
import sys
from typing import Any


def name_of(function: Any) -> str:
    """Returns a name such as 'operator.add', 'torch.relu' or 'aten.add.Tensor'."""
    if isinstance(function, str):
        return function
    plain = getattr(function, "__name__", "")
    if getattr(builtins, plain or " ", None) is function:
        return f"builtins.{plain}"
    torch = sys.modules.get("torch")
    if torch is not None:
        ops = sys.modules.get("torch._ops")
        if ops is not None and isinstance(function, ops.OpOverload):
            name = function._schema.name.split("::")[1]
            return f"{function.namespace}.{name}.{function._overloadname}"
        if ops is not None and isinstance(function, ops.OpOverloadPacket):
            return f"torch.ops.{function._qualified_op_name}".replace("::", ".")
        if ops is not None and isinstance(function, ops.HigherOrderOperator):
            return f"torch.ops.higher_order.{function.name()}"
        from torch.fx.node import _get_qualified_name

        name = _get_qualified_name(function)
    else:
        module = getattr(function, "__module__", None)
        name = f"{module}.{function.__name__}" if module else function.__name__
    return re.sub(r"^_operator\.", "operator.", name)
