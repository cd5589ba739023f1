import torch

class GraphModule(torch.nn.Module):
    
    
    
    def forward(self, L_self_modules_in_parameters_bias_, L_self_modules_in_parameters_weight_, hidden_1):
        l_self_modules_in_parameters_bias_ = L_self_modules_in_parameters_bias_
        l_self_modules_in_parameters_weight_ = L_self_modules_in_parameters_weight_
        attn = torch.nn.functional.scaled_dot_product_attention(hidden_1, hidden_1, hidden_1, dropout_p = 0.0, is_causal = True)
        sum_1 = attn + hidden_1;  attn = None
        inner = torch.nn.functional.linear(sum_1, l_self_modules_in_parameters_weight_, l_self_modules_in_parameters_bias_);  sum_1 = None
        inner_1 = torch.nn.functional.relu(inner, inplace = True);  inner = None
        return (inner_1,)
        