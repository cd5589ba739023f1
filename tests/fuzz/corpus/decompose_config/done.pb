
graphnet-decompose8@HPZbertb@cd49b0a4aacb3928462b4aafe7c2fdf3f8ea0cc6a3ceac4b3e2ff63362d4d999hôrM

subgraph_0z"	input_ids"attention_mask"token_type_ids*bias*layer_norm_3r9

subgraph_1zô"bias"layer_norm_3*layer_norm_8*tanh