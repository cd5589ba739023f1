class Program_weight_tensor_meta_x0:
    name = "x0"
    shape = [2, 3, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.1
    std = 1.0
    data = None

class Program_weight_tensor_meta_x1:
    name = "x1"
    shape = [3, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.1
    std = 1.0
    data = None

class Program_weight_tensor_meta_x2:
    name = "x2"
    shape = [4, 2, 3]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.1
    std = 1.0
    data = None

class Program_weight_tensor_meta_x3:
    name = "x3"
    shape = [3]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.1
    std = 1.0
    data = None

class Program_weight_tensor_meta_x4:
    name = "x4"
    shape = [2, 2, 3, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.1
    std = 1.0
    data = None

class Program_weight_tensor_meta_x5:
    name = "x5"
    shape = [4, 4]
    dtype = "torch.float32"
    device = "cpu"
    mean = 0.1
    std = 1.0
    data = None
