{
    (%0) = "builtin.parameter" () {is_distributed:[false],is_parameter:[true],need_clip:[true],parameter_name:"w_0",persistable:[true],stop_gradient:[false],trainable:[true]} : () -> tensor<128xf32>
    (%1) = "pd_op.data" () {dtype:float32,name:"x",place:Place(undefined:0),shape:[-1,128],stop_gradient:[true]} : () -> tensor<-1x128xf32>
    (%2) = "pd_op.subtract" (%1, %0) {stop_gradient:[true]} : (tensor<-1x128xf32>, tensor<128xf32>) -> tensor<-1x128xf32>
    (%3) = "pd_op.full_int_array" () {dtype:int64,place:Place(cpu),stop_gradient:[true],value:[]} : () -> tensor<0xi64>
    (%4) = "pd_op.sum" (%2, %3) {dtype:Undefined,keepdim:false,stop_gradient:[true]} : (tensor<-1x128xf32>, tensor<0xi64>) -> tensor<f32>
    (%5, %6) = "pd_op.dropout" (%2, <<NULL VALUE>>, %4) {fix_seed:false,is_test:false,mode:"upscale_in_train",seed:0,stop_gradient:[true,true]} : (tensor<-1x128xf32>, <<NULL TYPE>>, tensor<f32>) -> tensor<-1x128xf32>, tensor<-1x128xu8>
    (%7) = "pd_op.cast" (%4) {dtype:bool,stop_gradient:[true]} : (tensor<f32>) -> tensor<b>
    (%8) = "pd_op.if" (%7) {stop_gradient:[true]} -> tensor<-1x128xf32> {
        (%9) = "pd_op.add" (%2, %5) {stop_gradient:[true]} : (tensor<-1x128xf32>, tensor<-1x128xf32>) -> tensor<-1x128xf32>
        () = "cf.yield" (%9) {} : (tensor<-1x128xf32>) -> 
    } else {
        () = "cf.yield" (%2) {} : (tensor<-1x128xf32>) -> 
    }
    () = "builtin.shadow_output" (%8) {output_name:"output_0"} : (tensor<-1x128xf32>) -> 
}
