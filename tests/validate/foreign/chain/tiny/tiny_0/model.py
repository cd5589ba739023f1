import torch

class GraphModule(torch.nn.Module):
    
    
    
    def forward(self, L_self_modules_in_parameters_bias_, L_self_modules_in_parameters_weight_, L_self_modules_out_parameters_weight_, L_x_):
        l_self_modules_in_parameters_bias_ = L_self_modules_in_parameters_bias_
        l_self_modules_in_parameters_weight_ = L_self_modules_in_parameters_weight_
        l_self_modules_out_parameters_weight_ = L_self_modules_out_parameters_weight_
        l_x_ = L_x_
        hidden = torch.nn.functional.linear(l_x_, l_self_modules_in_parameters_weight_, l_self_modules_in_parameters_bias_);  l_x_ = None
        hidden_1 = torch.nn.functional.gelu(hidden);  hidden = None
        return (l_self_modules_in_parameters_bias_, l_self_modules_in_parameters_weight_, l_self_modules_out_parameters_weight_, hidden_1)
        