{
 (%0) = "x.y" () {a:(Int64)3,b:[(Int32)1,(Float)0.5],c:(pd_op.IntArray)[2,-1],d:<#AttrNull>,e:(cinn_op.Group)<x,y>,f:"a \"b\"",g:(Double)inf,h:(0x7fac3)} : () -> vec[tensor<2xf32>,tensor<-1xi8>]
}
