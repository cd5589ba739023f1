"""Values that arguments of nodes are read as."""


class ImmutableList(list):
    """A list of a node's arguments. Changing it raises: it is a copy. Assign to node.args instead."""

    __slots__ = ()

    def _refuse(self, *args, **kwargs):
        raise NotImplementedError(
            "the lists of a node's arguments are copies; assign to node.args to change them")

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return ImmutableList, (list(self),)


def map_nodes(value, function):
    """A value with function(node) in the place of each node, however deep (torch.fx's map_arg)."""
    from graphnet_ir._core import Node

    if isinstance(value, Node):
        return function(value)
    if isinstance(value, list):
        return ImmutableList(map_nodes(element, function) for element in value)
    if isinstance(value, tuple):
        return tuple(map_nodes(element, function) for element in value)
    if isinstance(value, dict):
        return {key: map_nodes(element, function) for key, element in value.items()}
    if isinstance(value, slice):
        return slice(map_nodes(value.start, function), map_nodes(value.stop, function),
                     map_nodes(value.step, function))
    return value
