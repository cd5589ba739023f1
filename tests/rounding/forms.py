"""Programs that compute the same as another one, by other calls or in another order."""


def _lines(match, calls, last):
    """Calls with names of their own, and the last of them under the name of the node."""
    name = match["name"]
    text = []
    for i, call in enumerate(calls):
        text.append(f"  %{name}_p{i} = {call.format(*[f'%{name}_p{k}' for k in range(i)])}")
    text.append(f"  %{name} = {last.format(*[f'%{name}_p{k}' for k in range(len(calls))])}"
                f"{match['rest']}")
    return "\n".join(text)


def _rewrite(program, names, make):
    """Rewrites every call for which `make` returns calls; None if there is none."""
    made, found = program, False
    for line, match, arguments in program.calls(*names):
        calls = make(match["target"], arguments)
        if calls is not None:
            made = made.with_line(line, _lines(match, *calls))
            found = True
    return made if found else None


def linear_as_product(program):
    def make(_, a):
        product = [f"aten.t.default({a[1]})", f"aten.matmul.default({a[0]}, {{0}})"]
        if len(a) > 2 and a[2].startswith("%"):
            return product, f"aten.add.Tensor({{1}}, {a[2]})"
        return product[:1], f"aten.matmul.default({a[0]}, {{0}})"
    return _rewrite(program, ("linear",), make)


def softmax_by_exp(program):
    def make(target, a):
        if len(a) > 2 or not target.startswith("aten.softmax"):
            return None
        return ([f"aten.amax.default({a[0]}, [{a[1]}], True)", f"aten.sub.Tensor({a[0]}, {{0}})",
                 "aten.exp.default({1})", f"aten.sum.dim_IntList({{2}}, [{a[1]}], True)"],
                "aten.div.Tensor({2}, {3})")
    return _rewrite(program, ("softmax",), make)


def layer_norm_in_steps(program):
    def make(_, a):
        if len(a) < 5 or a[1].count(",") or not (a[2].startswith("%") and a[3].startswith("%")):
            return None
        return ([f"aten.mean.dim({a[0]}, [-1], True)", f"aten.sub.Tensor({a[0]}, {{0}})",
                 "aten.mul.Tensor({1}, {1})", "aten.mean.dim({2}, [-1], True)",
                 f"aten.add.Tensor({{3}}, {a[4]})", "aten.rsqrt.default({4})",
                 "aten.mul.Tensor({1}, {5})", f"aten.mul.Tensor({{6}}, {a[2]})"],
                f"aten.add.Tensor({{7}}, {a[3]})")
    return _rewrite(program, ("layer_norm",), make)


def gelu_in_steps(program):
    def make(_, a):
        if len(a) > 1:
            return None
        return ([f"aten.mul.Tensor({a[0]}, 0.7071067811865476)", "aten.erf.default({0})",
                 "aten.add.Tensor({1}, 1)", f"aten.mul.Tensor({a[0]}, 0.5)"],
                "aten.mul.Tensor({3}, {2})")
    return _rewrite(program, ("gelu",), make)


def silu_in_steps(program):
    return _rewrite(program, ("silu", "silu_"),
                    lambda _, a: ([f"aten.neg.default({a[0]})", "aten.exp.default({0})",
                                   "aten.add.Tensor({1}, 1)"], f"aten.div.Tensor({a[0]}, {{2}})"))


def batch_norm_as_scale(program):
    def make(_, a):
        if len(a) < 8 or a[5] != "False" or not all(a[i].startswith("%") for i in range(1, 5)):
            return None
        return ([f"aten.add.Tensor({a[4]}, {a[7]})", "aten.rsqrt.default({0})",
                 f"aten.mul.Tensor({a[1]}, {{1}})", f"aten.mul.Tensor({a[3]}, {{2}})",
                 f"aten.sub.Tensor({a[2]}, {{3}})", "aten.view.default({2}, [-1, 1, 1])",
                 "aten.view.default({4}, [-1, 1, 1])", f"aten.mul.Tensor({a[0]}, {{5}})"],
                "aten.add.Tensor({7}, {6})")
    return _rewrite(program, ("batch_norm",), make)


def attention_in_steps(program):
    def make(_, a):
        if len(a) != 3:
            return None
        return ([f"aten.size.int({a[0]}, -1)", "aten.sqrt.int({0})",
                 f"aten.transpose.int({a[1]}, -2, -1)", f"aten.matmul.default({a[0]}, {{2}})",
                 "aten.div.Tensor({3}, {1})", "aten.softmax.int({4}, -1)"],
                f"aten.matmul.default({{5}}, {a[2]})")
    return _rewrite(program, ("scaled_dot_product_attention",), make)


def products_reversed(program):
    """A product whose terms are added from the last to the first."""
    def make(_, a):
        if len(a) < 2 or not a[1].startswith("%"):
            return None
        rest = ", ".join(["{1}", *a[2:]])
        return ([f"aten.flip.default({a[0]}, [-1])", f"aten.flip.default({a[1]}, [-1])"],
                f"aten.linear.default({{0}}, {rest})")
    return _rewrite(program, ("linear",), make)


def channels_reversed(program):
    """A convolution whose input channels are added from the last to the first."""
    def make(target, a):
        groups = a[6] if len(a) > 6 else "1"
        if groups != "1" or not a[1].startswith("%"):
            return None
        rest = ", ".join(["{0}", "{1}", *a[2:]])
        return ([f"aten.flip.default({a[0]}, [1])", f"aten.flip.default({a[1]}, [1])"],
                f"{target}({rest})")
    return _rewrite(program, ("conv2d",), make)


FORMS = {
    "linear as product and sum": linear_as_product,
    "softmax by exp": softmax_by_exp,
    "layer norm in steps": layer_norm_in_steps,
    "gelu in steps": gelu_in_steps,
    "silu in steps": silu_in_steps,
    "batch norm as scale": batch_norm_as_scale,
    "attention in steps": attention_in_steps,
    "products added in reverse": products_reversed,
    "channels added in reverse": channels_reversed,
}
