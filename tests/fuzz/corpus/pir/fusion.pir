{
 (%0) = "pd_op.data" [id:33] () {dtype:(pd_op.DataType)float32,name:"x",place:(pd_op.Place)Place(gpu:0),shape:(pd_op.IntArray)[-1,128],stop_gradient:[false],sym_shape_str:"shape[S0, 128], data[NULL]"} : () -> builtin.tensor<-1x128xf32> { (shape[S0, 128], data[NULL]) }	(op_33)
 (%1) = "cinn_op.fusion" [id:40] () {} : () -> builtin.tensor<-1x128xf32> { (shape[Add(S0, 1), 128], data[NULL]) } {
  (%2) = "pd_op.exp" [id:34] (%0) {stop_gradient:[false]} : (builtin.tensor<-1x128xf32>) -> builtin.tensor<-1x128xf32> { (shape[S0, 128], data[NULL]) }	(op_34)
  (%3) = "cinn_op.yield_store" [id:35] (%2) {} : (builtin.tensor<-1x128xf32>) -> builtin.tensor<-1x128xf32>
  () = "cf.yield" [id:36] (%3) {} : (builtin.tensor<-1x128xf32>) -> 
 }
 () = "builtin.shadow_output" [id:41] (%1) {output_name:"output_0"} : (builtin.tensor<-1x128xf32>) -> 
}
