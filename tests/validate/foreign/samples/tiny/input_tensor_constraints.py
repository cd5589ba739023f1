from sympy import Symbol

S0 = Symbol("S0")
S1 = Symbol("S1")

dynamic_dim_constraint_symbols = [S0, S1]

dynamic_dim_constraint_symbol2example_value = {S0: 2, S1: 4}

dynamic_dim_constraint_relations = []

dynamic_dim_constraint_input_shapes = [
    ([8], "L_self_modules_in_parameters_bias_"),
    ([8, 8], "L_self_modules_in_parameters_weight_"),
    ([3, 4], "L_self_modules_out_parameters_weight_"),
    ([S0, S1, 8], "L_x_"),
    ([], "s0"),
]
