{
    (%0) = "pd_op.data" [id:1] () {dtype:(pd_op.DataType)float32,name:"x",place:(pd_op.Place)Place(undefined:0),shape:(pd_op.IntArray)[4],stop_gradient:[false]} : () -> builtin.tensor<4xf32>
    (%1) = "Tensor.view" [id:2] (%0) {call:".view(%a0, (2, 2))",stop_gradient:[false]} : (builtin.tensor<4xf32>) -> builtin.tensor<2x2xf32>
    (%2) = "torch.cond" [id:3] (%1) {call:"torch.cond(True, @r0, @r1, (%a0,))",stop_gradient:[true]} : (builtin.tensor<2x2xf32>) -> <<NULL TYPE>> {
        ^%arg_0 {type:(Type)builtin.tensor<2x2xf32>}
        () = "cf.yield" [id:4] (%arg_0) {} : (builtin.tensor<2x2xf32>) -> 
    } else {
        ^%arg_1 {type:(Type)builtin.tensor<2x2xf32>}
        (%3) = "mylib.f" [id:5] (%arg_1) {call:"mylib.f([%a0], n = 3)",stop_gradient:[true]} : (builtin.tensor<2x2xf32>) -> <<NULL TYPE>>
        () = "cf.yield" [id:6] (%3) {call:"return [%a0, None]"} : (<<NULL TYPE>>) -> 
    }
    () = "builtin.shadow_output" [id:7] (%2) {output_name:"output_0"} : (<<NULL TYPE>>) -> 
}
