import torch

class GraphModule(torch.nn.Module):
    
    
    
    def forward(self, L_self_modules_out_parameters_weight_, hidden_1, inner_1):
        l_self_modules_out_parameters_weight_ = L_self_modules_out_parameters_weight_
        pooled = torch.nn.functional.avg_pool2d(inner_1, 2, 2, 0, False, True, None)
        padded = torch.nn.functional.pad(pooled, (0, 1), 'constant', 0.5);  pooled = None
        narrowed = padded[(Ellipsis, slice(1, None, None))];  padded = None
        scores = torch.nn.functional.linear(narrowed, l_self_modules_out_parameters_weight_, None);  narrowed = None
        scores_1 = scores.softmax(dim = -1);  scores = None
        size = scores_1.size(1)
        total = scores_1 * size;  scores_1 = size = None
        return (total, hidden_1)
        