class Program_weight_tensor_meta_L_self_modules_out_parameters_weight_:
	name = "L_self_modules_out_parameters_weight_"
	shape = [3, 4]
	dtype = "torch.float32"
	device = "cpu"
	mean = 0.000
	std = 0.300
	data = [-0.750000, 0.500000, 0.000000, -0.500000, 0.750000, 0.250000, -0.250000, -0.750000, 0.500000, 0.000000, -0.500000, 0.750000]

class Program_weight_tensor_meta_hidden_1:
	name = "hidden_1"
	shape = [2, 4, 8]
	dtype = "torch.float32"
	device = "cpu"
	mean = 0.050
	std = 0.200
	data = None

class Program_weight_tensor_meta_inner_1:
	name = "inner_1"
	shape = [2, 4, 8]
	dtype = "torch.float32"
	device = "cpu"
	mean = 0.050
	std = 0.100
	data = None
