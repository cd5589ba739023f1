import torch


class GraphModule(torch.nn.Module):
    def forward(self, x0: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, x3: torch.Tensor, x4: torch.Tensor, x5: torch.Tensor):
        def body_1(p_2):
            v_3 = p_2.new_full((3,), 0.5)
            def body_4(p_5, p_6):
                def body_7(p_8, p_9):
                    v_10 = p_9.new_ones((2,))
                    v_11 = v_10[..., None]
                    return v_11
                r_12 = torch.vmap(body_7, in_dims=(None, 0), out_dims=0, randomness='error')(p_5, p_6)
                v_13 = torch.split(p_6, 1, dim=-1)[-1]
                v_14 = torch.atan2(p_5, p_5)
                return v_14
            r_15 = torch.vmap(body_4, in_dims=(0, None), out_dims=0, randomness='error')(v_3, p_2)
            v_16 = p_2.reshape([3, 1])
            v_17 = v_3.contiguous()
            return (v_17, v_16)
        r_18 = torch.vmap(body_1, in_dims=(1,), out_dims=(0, -3), randomness='error')(x1)
        r_19 = r_18[0]
        r_20 = r_18[1]
        def body_35(p_36, p_37, p_38):
            v_39 = p_37.narrow(0, 0, 1)
            v_40 = p_38.chunk(2, 0)[0]
            v_41 = p_37.mean(0, False)
            v_42 = p_37.gt(0)
            return v_42
        r_43 = torch.vmap(body_35, in_dims=(0, None, None), out_dims=0, randomness='error')(x3, x3, x5)
        def body_44(p_45, p_46, p_47):
            def body_48(p_49, p_50):
                v_51 = p_49.unsqueeze(-3)
                v_52 = v_51.unbind(1)[0]
                return v_52
            r_53 = torch.vmap(body_48, in_dims=(1, 0), out_dims=0, randomness='error')(p_47, p_47)
            v_54 = torch.arange(3)
            return (v_54, r_53)
        r_55 = torch.vmap(body_44, in_dims=(0, 2, 3), out_dims=(0, 3), randomness='error')(x2, x0, x4)
        r_56 = r_55[0]
        r_57 = r_55[1]
        def body_118(p_119, p_120, p_121):
            v_122 = p_121.sum(-2, keepdim=False)
            v_123 = torch.split(v_122, 1, dim=-1)[-1]
            v_124 = p_121.repeat(2, 1, 1)
            def body_125(p_126):
                def body_127(p_128, p_129):
                    v_130 = p_129.chunk(2, -1)[0]
                    v_131 = p_128 - 1.5
                    v_132 = p_128.new_zeros(())
                    v_133 = v_132.mul(10).to(torch.int64).abs()
                    return v_133
                r_134 = torch.vmap(body_127, in_dims=(None, 1), out_dims=0, randomness='error')(p_126, p_126)
                v_135 = p_126.amax(-2)
                v_136 = torch.index_select(p_126, 1, (r_134 % 2))
                v_137 = torch.stack([v_135, v_135], dim=-1)
                return v_137
            r_138 = torch.vmap(body_125, in_dims=(2,), out_dims=-3, randomness='error')(p_119)
            return (r_138, v_123)
        r_139 = torch.vmap(body_118, in_dims=(0, None, 1), out_dims=(3, -1), randomness='error')(x4, x3, x2)
        r_140 = r_139[0]
        r_141 = r_139[1]
        def body_172(p_173, p_174, p_175, p_176):
            v_177 = torch.cat([p_173, p_173], -3)
            def body_178(p_179):
                v_180 = p_179.narrow(0, 0, 1)
                v_181 = p_179 * v_180
                def body_182(p_183, p_184):
                    v_185 = p_184[..., None]
                    v_186 = torch.sub(v_185, v_185, alpha=2)
                    def body_187(p_188, p_189):
                        v_190 = p_188[None]
                        v_191 = v_190.gt(0)
                        return v_191
                    r_192 = torch.vmap(body_187, in_dims=(None, -1), out_dims=0, randomness='error')(p_183, v_186)
                    return (r_192, v_186)
                r_193 = torch.vmap(body_182, in_dims=(0, -1), out_dims=(1, -2), randomness='error')(v_181, p_179)
                r_194 = r_193[0]
                r_195 = r_193[1]
                return (r_195, v_181)
            r_196 = torch.vmap(body_178, in_dims=(1,), out_dims=(0, -2), randomness='error')(p_175)
            r_197 = r_196[0]
            r_198 = r_196[1]
            return (r_198, v_177)
        r_199 = torch.vmap(body_172, in_dims=(2, None, 1, None), out_dims=(1, -4), randomness='error')(x4, x3, x0, x1)
        r_200 = r_199[0]
        r_201 = r_199[1]
        def body_202(p_203, p_204):
            v_205 = p_204.new_zeros(())
            v_206 = 2 * v_205
            v_207 = torch.softmax(p_203, 1)
            return (v_207, v_205)
        r_208 = torch.vmap(body_202, in_dims=(-1, 0), out_dims=(-1, 0), randomness='error')(x2, x1)
        r_209 = r_208[0]
        r_210 = r_208[1]
        def body_238(p_239, p_240, p_241):
            v_242 = p_240.new_full((3,), 0.5)
            v_243 = torch.permute(p_240, (1, 2, 0))
            v_244 = torch.split(p_241, 1, dim=2)[-1]
            def body_245(p_246, p_247, p_248, p_249):
                def body_250(p_251, p_252, p_253, p_254):
                    v_255 = p_253.reshape([3, 1])
                    v_256 = p_254[..., 0]
                    v_257 = p_251.mean(-2, True)
                    return (v_257, v_255)
                r_258 = torch.vmap(body_250, in_dims=(None, -1, 0, -3), out_dims=(1, 1), randomness='error')(p_246, p_248, p_249, p_246)
                r_259 = r_258[0]
                r_260 = r_258[1]
                v_261 = torch.stack([p_248, p_248], dim=3)
                v_262 = v_261.to(torch.float64)
                return v_262
            r_263 = torch.vmap(body_245, in_dims=(None, -1, None, 2), out_dims=0, randomness='error')(p_241, p_241, v_243, p_240)
            return (r_263, v_242)
        r_264 = torch.vmap(body_238, in_dims=(0, 0, 1), out_dims=(3, 1), randomness='error')(x0, x4, x4)
        r_265 = r_264[0]
        r_266 = r_264[1]
        def body_293(p_294, p_295):
            v_296 = p_294.flatten()
            def body_297(p_298):
                def body_299(p_300, p_301):
                    v_302 = torch.cat([p_301, p_301], 0)
                    v_303 = torch.var(p_300, -2, correction=0)
                    v_304 = v_302.expand([2, 6])
                    v_305 = v_304.float()
                    return v_305
                r_306 = torch.vmap(body_299, in_dims=(None, 1), out_dims=2, randomness='error')(p_298, p_298)
                v_307 = torch.norm(r_306)
                v_308 = p_298.new_full((3,), 0.5)
                return v_308
            r_309 = torch.vmap(body_297, in_dims=(-3,), out_dims=1, randomness='error')(p_294)
            return (r_309, v_296)
        r_310 = torch.vmap(body_293, in_dims=(-4, -3), out_dims=(1, -1), randomness='error')(x4, x0)
        r_311 = r_310[0]
        r_312 = r_310[1]
        def body_313(p_314, p_315, p_316, p_317, p_318, p_319):
            v_320 = p_317.float()
            def body_321(p_322, p_323, p_324, p_325, p_326):
                v_327 = p_325.unbind(-1)[0]
                v_328 = torch.clamp(p_323, -0.5, 0.5)
                return v_328
            r_329 = torch.vmap(body_321, in_dims=(None, -1, None, 3, 0), out_dims=-1, randomness='error')(p_317, p_319, p_318, p_314, p_316)
            v_330 = p_315.repeat(2, 1)
            return v_330
        r_331 = torch.vmap(body_313, in_dims=(None, -2, None, None, -2, 1), out_dims=-1, randomness='error')(x4, x1, x5, x1, x4, x0)
        def body_365(p_366, p_367, p_368):
            v_369 = torch.sub(p_366, p_368, alpha=2)
            v_370 = v_369.to(torch.float16)
            return (v_370, v_369)
        r_371 = torch.vmap(body_365, in_dims=(-2, 1, 0), out_dims=(1, -1), randomness='error')(x1, x0, x3)
        r_372 = r_371[0]
        r_373 = r_371[1]
        def body_395(p_396, p_397, p_398, p_399, p_400):
            v_401 = torch.sort(p_400, dim=-1)[0]
            def body_402(p_403, p_404):
                v_405 = p_403.cumsum(0)
                def body_406(p_407, p_408, p_409, p_410):
                    v_411 = p_410.max()
                    v_412 = p_410.select(-1, 0)
                    v_413 = torch.split(p_409, 1, dim=-1)[-1]
                    v_414 = torch.sort(p_408, dim=-1)[0]
                    return v_414
                r_415 = torch.vmap(body_406, in_dims=(0, None, 0, None), out_dims=2, randomness='error')(v_405, p_403, p_403, v_405)
                return (r_415, v_405)
            r_416 = torch.vmap(body_402, in_dims=(None, 3), out_dims=(1, 2), randomness='error')(p_398, p_397)
            r_417 = r_416[0]
            r_418 = r_416[1]
            return (r_418, r_417)
        r_419 = torch.vmap(body_395, in_dims=(None, None, None, 1, -3), out_dims=(0, 0), randomness='error')(x3, x4, x5, x4, x0)
        r_420 = r_419[0]
        r_421 = r_419[1]
        def body_544(p_545, p_546, p_547):
            v_548 = p_545.reshape(-1)
            v_549 = torch.nn.functional.relu(p_545)
            def body_550(p_551, p_552):
                v_553 = p_551.new_ones((2,))
                v_554 = p_552.reshape(-1)
                def body_555(p_556, p_557):
                    v_558 = p_557.to(torch.float16)
                    v_559 = torch.sin(v_558)
                    return (v_559, v_558)
                r_560 = torch.vmap(body_555, in_dims=(1, -1), out_dims=(0, 0), randomness='error')(p_552, p_551)
                r_561 = r_560[0]
                r_562 = r_560[1]
                v_563 = torch.maximum(r_562, r_562)
                return (v_563, r_562)
            r_564 = torch.vmap(body_550, in_dims=(1, 1), out_dims=(1, 0), randomness='error')(p_545, p_547)
            r_565 = r_564[0]
            r_566 = r_564[1]
            return (r_566, r_565)
        r_567 = torch.vmap(body_544, in_dims=(1, 0, None), out_dims=(0, 2), randomness='error')(x2, x0, x0)
        r_568 = r_567[0]
        r_569 = r_567[1]
        def body_570(p_571, p_572):
            v_573 = p_572.flatten()
            v_574 = 2 * v_573
            v_575 = v_574.sum(-1, keepdim=True)
            v_576 = v_575.sum(0, keepdim=False)
            return v_576
        r_577 = torch.vmap(body_570, in_dims=(-1, None), out_dims=0, randomness='error')(x3, x2)
        def body_578(p_579, p_580):
            v_581 = p_580.argmax()
            v_582 = torch.ops.aten.index(p_580, [(v_581 % 2), None, (v_581 % 2)])
            v_583 = p_580.max()
            def body_584(p_585, p_586, p_587, p_588):
                v_589 = p_585.float()
                v_590 = torch.ones_like(p_588)
                return (v_590, v_589)
            r_591 = torch.vmap(body_584, in_dims=(None, -2, None, None), out_dims=(0, 0), randomness='error')(v_582, p_580, p_579, v_583)
            r_592 = r_591[0]
            r_593 = r_591[1]
            return r_593
        r_594 = torch.vmap(body_578, in_dims=(0, 2), out_dims=0, randomness='error')(x3, x4)
        def body_595(p_596, p_597):
            v_598 = p_596.cumsum(-1)
            def body_599(p_600, p_601, p_602, p_603, p_604, p_605):
                v_606 = torch.outer(p_601, p_605)
                v_607 = torch.permute(p_601, (0,))
                v_608 = p_602.new_zeros(())
                v_609 = p_602 > p_601
                return v_609
            r_610 = torch.vmap(body_599, in_dims=(None, -2, None, 1, None, -2), out_dims=-2, randomness='error')(p_597, v_598, p_596, p_597, v_598, p_596)
            v_611 = v_598.narrow(1, 0, 1)
            v_612 = v_611.type_as(v_611)
            return (v_612, v_611, p_597)
        r_613 = torch.vmap(body_595, in_dims=(None, 2), out_dims=(0, 0, 1), randomness='error')(x1, x0)
        r_614 = r_613[0]
        r_615 = r_613[1]
        r_616 = r_613[2]
        def body_668(p_669, p_670, p_671, p_672, p_673):
            v_674 = p_670[None]
            v_675 = torch.cat([v_674, v_674], -1)
            v_676 = v_674.repeat(2, 1, 1, 1)
            v_677 = torch.norm(v_674)
            return (v_677, v_675)
        r_678 = torch.vmap(body_668, in_dims=(None, None, None, 1, 0), out_dims=(0, 0), randomness='error')(x0, x5, x4, x2, x0)
        r_679 = r_678[0]
        r_680 = r_678[1]
        def body_681(p_682, p_683):
            v_684 = torch.matmul(p_682, p_682)
            v_685 = torch.sub(p_682, p_683, alpha=2)
            v_686 = p_683 > p_683
            return v_686
        r_687 = torch.vmap(body_681, in_dims=(None, 0), out_dims=0, randomness='error')(x5, x3)
        def body_720(p_721, p_722, p_723, p_724, p_725):
            def body_726(p_727, p_728, p_729, p_730):
                v_731 = p_727[..., None]
                v_732 = torch.stack([p_728, p_728], dim=1)
                def body_733(p_734, p_735, p_736):
                    v_737 = torch.tril(p_734)
                    def body_738(p_739, p_740):
                        v_741 = p_739.new_ones((2,))
                        v_742 = torch.log_softmax(v_741, dim=-1)
                        v_743 = p_739 > v_741
                        return v_743
                    r_744 = torch.vmap(body_738, in_dims=(-1, None), out_dims=1, randomness='error')(v_737, v_737)
                    return (r_744, v_737)
                r_745 = torch.vmap(body_733, in_dims=(None, -1, 0), out_dims=(2, 1), randomness='error')(v_732, v_732, p_728)
                r_746 = r_745[0]
                r_747 = r_745[1]
                return (r_747, v_732)
            r_748 = torch.vmap(body_726, in_dims=(0, 1, 1, None), out_dims=(2, -1), randomness='error')(p_724, p_725, p_722, p_721)
            r_749 = r_748[0]
            r_750 = r_748[1]
            v_751 = p_721.argmax()
            v_752 = torch.cat([r_750, r_750], 2)
            v_753 = p_725.mT
            return (v_753, r_749)
        r_754 = torch.vmap(body_720, in_dims=(None, None, None, 0, 1), out_dims=(-1, 3), randomness='error')(x3, x1, x0, x1, x0)
        r_755 = r_754[0]
        r_756 = r_754[1]
        def body_757(p_758, p_759, p_760, p_761, p_762):
            v_763 = p_759[0]
            v_764 = p_760.new_ones((2,))
            v_765 = p_762.repeat(2, 1, 1)
            return v_765
        r_766 = torch.vmap(body_757, in_dims=(-2, None, None, -1, None), out_dims=0, randomness='error')(x0, x0, x4, x2, x1)
        def body_779(p_780, p_781, p_782, p_783, p_784):
            v_785 = p_784.argmax()
            v_786 = torch.ones_like(p_780)
            v_787 = torch.ones_like(p_783)
            v_788 = v_787.to(torch.float16)
            return v_788
        r_789 = torch.vmap(body_779, in_dims=(1, None, -1, None, None), out_dims=0, randomness='error')(x5, x4, x4, x2, x3)
        def body_812(p_813, p_814, p_815, p_816, p_817, p_818):
            v_819 = torch.permute(p_818, (2, 0, 1))
            v_820 = p_816.chunk(2, 2)[0]
            v_821 = v_820.argmax(0)
            def body_822(p_823, p_824):
                v_825 = torch.maximum(p_823, p_823)
                v_826 = v_825.new_zeros(())
                v_827 = torch.tril(p_824)
                return v_827
            r_828 = torch.vmap(body_822, in_dims=(-2, 1), out_dims=-3, randomness='error')(p_818, p_813)
            return (r_828, v_821)
        r_829 = torch.vmap(body_812, in_dims=(0, None, 0, 1, None, None), out_dims=(1, -1), randomness='error')(x4, x1, x0, x4, x3, x0)
        r_830 = r_829[0]
        r_831 = r_829[1]
        def body_843(p_844, p_845):
            def body_846(p_847):
                v_848 = p_847.unbind(0)[0]
                v_849 = torch.matmul(v_848, v_848)
                v_850 = p_847.new_zeros(())
                v_851 = v_848[None]
                return (v_851, p_847)
            r_852 = torch.vmap(body_846, in_dims=(-3,), out_dims=(1, 2), randomness='error')(p_845)
            r_853 = r_852[0]
            r_854 = r_852[1]
            v_855 = p_844[-1:]
            return v_855
        r_856 = torch.vmap(body_843, in_dims=(None, 2), out_dims=1, randomness='error')(x1, x4)
        def body_887(p_888, p_889, p_890, p_891, p_892, p_893):
            def body_894(p_895, p_896, p_897):
                v_898 = torch.softmax(p_895, -1)
                v_899 = v_898.mul(10).to(torch.int64).abs()
                v_900 = torch.ones_like(p_895)
                def body_901(p_902, p_903, p_904, p_905, p_906):
                    v_907 = torch.topk(p_905, 1, dim=-1)[0]
                    def body_908(p_909, p_910, p_911, p_912, p_913):
                        v_914 = p_913.prod(-1)
                        v_915 = torch.ones_like(p_912)
                        v_916 = torch.sort(p_909, dim=0)[0]
                        return (v_916, v_914)
                    r_917 = torch.vmap(body_908, in_dims=(None, 0, -1, None, None), out_dims=(0, 0), randomness='error')(v_907, p_903, p_905, p_904, p_906)
                    r_918 = r_917[0]
                    r_919 = r_917[1]
                    v_920 = v_907.mean(0, False)
                    v_921 = p_902.ge(0)
                    return v_921
                r_922 = torch.vmap(body_901, in_dims=(-1, None, 0, 1, None), out_dims=0, randomness='error')(v_900, p_897, v_898, p_896, v_900)
                return (r_922, v_900)
            r_923 = torch.vmap(body_894, in_dims=(None, None, -2), out_dims=(1, 1), randomness='error')(p_892, p_889, p_893)
            r_924 = r_923[0]
            r_925 = r_923[1]
            v_926 = p_888[..., 0]
            return v_926
        r_927 = torch.vmap(body_887, in_dims=(None, 1, None, None, -2, -1), out_dims=0, randomness='error')(x5, x0, x4, x2, x1, x2)
        def body_978(p_979):
            def body_980(p_981, p_982):
                def body_983(p_984, p_985):
                    v_986 = torch.split(p_984, 1, dim=-1)[-1]
                    v_987 = p_984[..., 0]
                    v_988 = torch.tensor(True)
                    def body_989(p_990, p_991):
                        v_992 = torch.sigmoid(p_991)
                        v_993 = p_990.new_zeros(())
                        v_994 = torch.ones_like(p_991)
                        v_995 = v_993.ge(0)
                        return v_995
                    r_996 = torch.vmap(body_989, in_dims=(-1, 0), out_dims=0, randomness='error')(p_985, p_984)
                    return r_996
                r_997 = torch.vmap(body_983, in_dims=(None, -2), out_dims=1, randomness='error')(p_981, p_982)
                v_998 = p_981.unsqueeze(-2)
                v_999 = v_998.unsqueeze(-1)
                v_1000 = torch.log_softmax(v_998, dim=-2)
                return (v_1000, v_999)
            r_1001 = torch.vmap(body_980, in_dims=(-2, None), out_dims=(-1, -2), randomness='error')(p_979, p_979)
            r_1002 = r_1001[0]
            r_1003 = r_1001[1]
            v_1004 = p_979.chunk(2, -1)[0]
            return v_1004
        r_1005 = torch.vmap(body_978, in_dims=(-3,), out_dims=1, randomness='error')(x2)
        def body_1076(p_1077, p_1078, p_1079):
            v_1080 = p_1077.sum(-1, keepdim=True)
            v_1081 = torch.sort(v_1080, dim=0)[0]
            def body_1082(p_1083):
                def body_1084(p_1085, p_1086):
                    v_1087 = p_1086.select(0, 0)
                    v_1088 = torch.clamp(v_1087, -0.5, 0.5)
                    def body_1089(p_1090):
                        v_1091 = torch.sigmoid(p_1090)
                        v_1092 = v_1091.mul(10).to(torch.int64).abs()
                        v_1093 = v_1091.le(v_1091)
                        v_1094 = torch.sub(p_1090, v_1091, alpha=2)
                        return v_1094
                    r_1095 = torch.vmap(body_1089, in_dims=(-1,), out_dims=0, randomness='error')(p_1086)
                    return (r_1095, v_1087)
                r_1096 = torch.vmap(body_1084, in_dims=(0, None), out_dims=(1, 0), randomness='error')(p_1083, p_1083)
                r_1097 = r_1096[0]
                r_1098 = r_1096[1]
                v_1099 = r_1098.unbind(0)[0]
                v_1100 = torch.stack([p_1083, p_1083], dim=-1)
                return v_1100
            r_1101 = torch.vmap(body_1082, in_dims=(0,), out_dims=1, randomness='error')(v_1080)
            v_1102 = p_1077.gt(0)
            return (v_1102, r_1101, v_1080)
        r_1103 = torch.vmap(body_1076, in_dims=(-2, 2, -1), out_dims=(-1, 1, 0), randomness='error')(x0, x2, x3)
        r_1104 = r_1103[0]
        r_1105 = r_1103[1]
        r_1106 = r_1103[2]
        def body_1107(p_1108, p_1109, p_1110):
            v_1111 = p_1110.unsqueeze(-3)
            v_1112 = torch.nn.functional.relu(p_1109)
            v_1113 = torch.arange(3)
            def body_1114(p_1115, p_1116, p_1117):
                v_1118 = p_1115.new_zeros(())
                v_1119 = p_1115.mT
                v_1120 = p_1116.mul(v_1118)
                v_1121 = torch.softmax(p_1115, -1)
                return (v_1121, v_1120)
            r_1122 = torch.vmap(body_1114, in_dims=(-3, -2, 0), out_dims=(2, 2), randomness='error')(p_1110, p_1108, v_1111)
            r_1123 = r_1122[0]
            r_1124 = r_1122[1]
            return (r_1124, p_1110)
        r_1125 = torch.vmap(body_1107, in_dims=(None, -1, 2), out_dims=(1, 0), randomness='error')(x2, x3, x4)
        r_1126 = r_1125[0]
        r_1127 = r_1125[1]
        def body_1164(p_1165, p_1166):
            v_1167 = torch.cat([p_1165, p_1165], 0)
            v_1168 = p_1166.mul(10).to(torch.int64).abs()
            return (v_1168, v_1167)
        r_1169 = torch.vmap(body_1164, in_dims=(0, 0), out_dims=(-1, 0), randomness='error')(x5, x2)
        r_1170 = r_1169[0]
        r_1171 = r_1169[1]
        def body_1190(p_1191, p_1192):
            v_1193 = torch.topk(p_1191, 1, dim=0)[0]
            v_1194 = torch.tensor(True)
            def body_1195(p_1196, p_1197, p_1198):
                v_1199 = p_1197[None]
                v_1200 = p_1198.select(-1, 0)
                v_1201 = v_1200.new_full((3,), 0.5)
                def body_1202(p_1203, p_1204, p_1205, p_1206):
                    v_1207 = torch.ones_like(p_1206)
                    v_1208 = p_1206.mul(p_1206)
                    v_1209 = p_1206.unsqueeze(0)
                    v_1210 = torch.atan2(p_1205, p_1204)
                    return v_1210
                r_1211 = torch.vmap(body_1202, in_dims=(0, None, None, None), out_dims=0, randomness='error')(p_1198, v_1200, p_1198, v_1199)
                return r_1211
            r_1212 = torch.vmap(body_1195, in_dims=(None, -1, None), out_dims=2, randomness='error')(v_1194, p_1191, p_1191)
            return (r_1212, v_1193)
        r_1213 = torch.vmap(body_1190, in_dims=(-1, None), out_dims=(3, 0), randomness='error')(x5, x0)
        r_1214 = r_1213[0]
        r_1215 = r_1213[1]
        def body_1216(p_1217, p_1218, p_1219, p_1220, p_1221):
            v_1222 = torch.matmul(p_1217, p_1217)
            def body_1223(p_1224, p_1225, p_1226, p_1227, p_1228):
                v_1229 = p_1225.mean()
                v_1230 = p_1225.mul(10).to(torch.int64).abs()
                def body_1231(p_1232, p_1233, p_1234, p_1235, p_1236):
                    v_1237 = p_1232 @ p_1233
                    v_1238 = p_1233.gt(0)
                    v_1239 = p_1236.max()
                    return v_1239
                r_1240 = torch.vmap(body_1231, in_dims=(1, None, 0, None, 1), out_dims=0, randomness='error')(p_1226, p_1227, p_1228, v_1229, p_1224)
                v_1241 = p_1225.new_full((3,), 0.5)
                return v_1241
            r_1242 = torch.vmap(body_1223, in_dims=(-3, None, None, None, 1), out_dims=0, randomness='error')(p_1220, p_1221, p_1218, p_1219, p_1221)
            v_1243 = r_1242.gt(0)
            return v_1243
        r_1244 = torch.vmap(body_1216, in_dims=(1, 0, -1, None, None), out_dims=1, randomness='error')(x1, x2, x4, x2, x1)
        def body_1245(p_1246, p_1247, p_1248):
            v_1249 = p_1248[None]
            v_1250 = torch.sub(p_1246, p_1246, alpha=2)
            v_1251 = v_1249.amax(-2)
            return v_1251
        r_1252 = torch.vmap(body_1245, in_dims=(1, None, None), out_dims=0, randomness='error')(x0, x2, x3)
        def body_1253(p_1254, p_1255, p_1256, p_1257):
            v_1258 = p_1254.neg()
            v_1259 = p_1257[..., 1:, None]
            v_1260 = p_1255.reshape(-1)
            return v_1260
        r_1261 = torch.vmap(body_1253, in_dims=(None, -1, None, None), out_dims=-1, randomness='error')(x1, x0, x2, x3)
        def body_1262(p_1263, p_1264, p_1265):
            v_1266 = p_1263.chunk(2, -1)[0]
            v_1267 = p_1264[:, 0]
            v_1268 = v_1266.transpose(-2, 1)
            def body_1269(p_1270):
                def body_1271(p_1272, p_1273):
                    v_1274 = p_1273.repeat(2, 1)
                    v_1275 = p_1273.neg()
                    return v_1275
                r_1276 = torch.vmap(body_1271, in_dims=(-1, None), out_dims=1, randomness='error')(p_1270, p_1270)
                v_1277 = r_1276.cumsum(-1)
                return (v_1277, r_1276)
            r_1278 = torch.vmap(body_1269, in_dims=(1,), out_dims=(1, 0), randomness='error')(p_1263)
            r_1279 = r_1278[0]
            r_1280 = r_1278[1]
            return r_1280
        r_1281 = torch.vmap(body_1262, in_dims=(-3, None, 0), out_dims=2, randomness='error')(x0, x1, x4)
        def body_1316(p_1317):
            def body_1318(p_1319, p_1320):
                def body_1321(p_1322, p_1323):
                    def body_1324(p_1325):
                        v_1326 = torch.movedim(p_1325, -1, 0)
                        v_1327 = torch.roll(p_1325, 1, -1)
                        v_1328 = v_1327.mean()
                        return v_1328
                    r_1329 = torch.vmap(body_1324, in_dims=(0,), out_dims=-1, randomness='error')(p_1323)
                    v_1330 = r_1329.unbind(0)[0]
                    v_1331 = torch.cat([r_1329, r_1329], -1)
                    return v_1331
                r_1332 = torch.vmap(body_1321, in_dims=(0, 1), out_dims=1, randomness='error')(p_1320, p_1319)
                v_1333 = p_1319 + p_1320
                v_1334 = p_1320 > v_1333
                return v_1334
            r_1335 = torch.vmap(body_1318, in_dims=(None, 0), out_dims=-4, randomness='error')(p_1317, p_1317)
            v_1336 = torch.stack([p_1317, p_1317], dim=-1)
            return (v_1336, r_1335)
        r_1337 = torch.vmap(body_1316, in_dims=(1,), out_dims=(-4, 0), randomness='error')(x4)
        r_1338 = r_1337[0]
        r_1339 = r_1337[1]
        def body_1340(p_1341, p_1342, p_1343):
            v_1344 = 2 * p_1341
            v_1345 = torch.softmax(p_1341, -1)
            v_1346 = p_1343.mT
            def body_1347(p_1348, p_1349, p_1350, p_1351):
                def body_1352(p_1353, p_1354, p_1355, p_1356):
                    v_1357 = p_1354.unbind(0)[0]
                    v_1358 = p_1356 > p_1353
                    v_1359 = torch.atan2(p_1355, p_1355)
                    v_1360 = torch.ones_like(p_1356)
                    return v_1360
                r_1361 = torch.vmap(body_1352, in_dims=(None, -1, None, None), out_dims=0, randomness='error')(p_1351, p_1351, p_1348, p_1350)
                v_1362 = torch.roll(p_1351, 1, -2)
                v_1363 = r_1361.prod(0)
                return (v_1363, v_1362)
            r_1364 = torch.vmap(body_1347, in_dims=(0, -1, -1, None), out_dims=(0, 0), randomness='error')(p_1341, p_1343, v_1344, v_1346)
            r_1365 = r_1364[0]
            r_1366 = r_1364[1]
            return (r_1366, v_1344)
        r_1367 = torch.vmap(body_1340, in_dims=(1, 1, 0), out_dims=(2, 0), randomness='error')(x1, x5, x2)
        r_1368 = r_1367[0]
        r_1369 = r_1367[1]
        def body_1370(p_1371, p_1372):
            v_1373 = torch.norm(p_1372)
            v_1374 = torch.split(p_1372, 1, dim=-3)[-1]
            v_1375 = torch.linalg.vector_norm(v_1374, dim=2)
            v_1376 = torch.tensor(True)
            return (v_1376, v_1375)
        r_1377 = torch.vmap(body_1370, in_dims=(1, 0), out_dims=(0, 1), randomness='error')(x4, x4)
        r_1378 = r_1377[0]
        r_1379 = r_1377[1]
        def body_1380(p_1381, p_1382):
            v_1383 = torch.arange(3)
            v_1384 = torch.tensor(True)
            v_1385 = torch.stack([p_1381, p_1381], dim=0)
            v_1386 = torch.topk(v_1385, 1, dim=0)[0]
            return (v_1386, v_1383)
        r_1387 = torch.vmap(body_1380, in_dims=(2, -1), out_dims=(2, 1), randomness='error')(x2, x3)
        r_1388 = r_1387[0]
        r_1389 = r_1387[1]
        def body_1390(p_1391, p_1392):
            v_1393 = p_1391.mul(p_1391)
            def body_1394(p_1395, p_1396):
                v_1397 = p_1396.abs()
                def body_1398(p_1399, p_1400):
                    def body_1401(p_1402, p_1403, p_1404):
                        v_1405 = p_1402.new_zeros(())
                        v_1406 = torch.tanh(p_1402)
                        v_1407 = v_1405 - 1.5
                        v_1408 = torch.tensor(True)
                        return v_1408
                    r_1409 = torch.vmap(body_1401, in_dims=(None, 0, -1), out_dims=0, randomness='error')(p_1400, p_1400, p_1399)
                    v_1410 = torch.nn.functional.gelu(p_1399)
                    return v_1410
                r_1411 = torch.vmap(body_1398, in_dims=(1, None), out_dims=-1, randomness='error')(p_1395, v_1397)
                return r_1411
            r_1412 = torch.vmap(body_1394, in_dims=(2, 1), out_dims=2, randomness='error')(p_1391, p_1392)
            return r_1412
        r_1413 = torch.vmap(body_1390, in_dims=(-2, 1), out_dims=2, randomness='error')(x4, x0)
        def body_1457(p_1458, p_1459, p_1460):
            v_1461 = p_1458.unflatten(-1, [1, -1])
            v_1462 = torch.log_softmax(p_1460, dim=-2)
            v_1463 = p_1458.unflatten(-1, [1, -1])
            v_1464 = v_1463.min(1)[0]
            return (v_1464, v_1461)
        r_1465 = torch.vmap(body_1457, in_dims=(None, 0, -1), out_dims=(0, 1), randomness='error')(x3, x3, x2)
        r_1466 = r_1465[0]
        r_1467 = r_1465[1]
        def body_1468(p_1469, p_1470):
            v_1471 = p_1469.expand([2, 4, 2])
            v_1472 = v_1471.narrow(-2, 0, 1)
            v_1473 = v_1471[0]
            v_1474 = torch.cat([p_1470, p_1470], 1)
            return v_1474
        r_1475 = torch.vmap(body_1468, in_dims=(2, -2), out_dims=1, randomness='error')(x2, x0)
        def body_1580(p_1581, p_1582, p_1583, p_1584):
            v_1585 = p_1583.new_full((3,), 0.5)
            v_1586 = torch.tensor(True)
            v_1587 = p_1582.cumsum(-2)
            v_1588 = v_1585.gt(0).all(-1)
            return v_1588
        r_1589 = torch.vmap(body_1580, in_dims=(-4, None, -2, -3), out_dims=0, randomness='error')(x4, x4, x2, x4)
        def body_1602(p_1603, p_1604, p_1605, p_1606, p_1607, p_1608):
            def body_1609(p_1610, p_1611):
                v_1612 = p_1610 * p_1610
                def body_1613(p_1614, p_1615, p_1616):
                    v_1617 = torch.split(p_1616, 1, dim=-1)[-1]
                    v_1618 = p_1614.le(p_1614)
                    v_1619 = torch.tensor(True)
                    return (v_1619, v_1618)
                r_1620 = torch.vmap(body_1613, in_dims=(0, None, 1), out_dims=(0, -1), randomness='error')(p_1611, p_1611, p_1610)
                r_1621 = r_1620[0]
                r_1622 = r_1620[1]
                v_1623 = r_1621.logical_not()
                v_1624 = p_1610.chunk(2, 1)[0]
                return v_1624
            r_1625 = torch.vmap(body_1609, in_dims=(None, 0), out_dims=0, randomness='error')(p_1605, p_1606)
            v_1626 = p_1608.unsqueeze(0)
            return (v_1626, r_1625)
        r_1627 = torch.vmap(body_1602, in_dims=(None, None, 0, None, 1, 1), out_dims=(-1, 0), randomness='error')(x4, x2, x0, x5, x2, x4)
        r_1628 = r_1627[0]
        r_1629 = r_1627[1]
        def body_1787(p_1788, p_1789, p_1790, p_1791, p_1792, p_1793):
            def body_1794(p_1795, p_1796, p_1797):
                v_1798 = p_1796.ge(0)
                v_1799 = p_1796.chunk(2, 0)[0]
                return (v_1799, v_1798)
            r_1800 = torch.vmap(body_1794, in_dims=(-1, 1, 0), out_dims=(-1, -2), randomness='error')(p_1789, p_1791, p_1791)
            r_1801 = r_1800[0]
            r_1802 = r_1800[1]
            v_1803 = torch.logsumexp(r_1801, 0)
            return (v_1803, r_1802)
        r_1804 = torch.vmap(body_1787, in_dims=(None, 1, None, None, 2, -1), out_dims=(1, 2), randomness='error')(x0, x5, x4, x5, x0, x1)
        r_1805 = r_1804[0]
        r_1806 = r_1804[1]
        def body_1807(p_1808, p_1809, p_1810, p_1811, p_1812, p_1813):
            def body_1814(p_1815, p_1816):
                v_1817 = p_1815.neg()
                v_1818 = torch.norm(v_1817)
                def body_1819(p_1820, p_1821):
                    v_1822 = p_1821.narrow(0, 0, 1)
                    v_1823 = torch.matmul(p_1821, p_1821)
                    def body_1824(p_1825, p_1826, p_1827, p_1828):
                        v_1829 = p_1827.to(torch.float64)
                        v_1830 = v_1829 > p_1828
                        return v_1830
                    r_1831 = torch.vmap(body_1824, in_dims=(0, None, None, None), out_dims=1, randomness='error')(p_1821, v_1823, p_1821, v_1822)
                    v_1832 = torch.sigmoid(p_1820)
                    return (v_1832, v_1822)
                r_1833 = torch.vmap(body_1819, in_dims=(0, None), out_dims=(-1, 1), randomness='error')(v_1817, p_1815)
                r_1834 = r_1833[0]
                r_1835 = r_1833[1]
                return (r_1835, r_1834)
            r_1836 = torch.vmap(body_1814, in_dims=(-1, None), out_dims=(1, 0), randomness='error')(p_1812, p_1812)
            r_1837 = r_1836[0]
            r_1838 = r_1836[1]
            v_1839 = p_1812.reshape(-1)
            v_1840 = torch.arange(3)
            return v_1840
        r_1841 = torch.vmap(body_1807, in_dims=(None, None, -3, 0, 1, None), out_dims=0, randomness='error')(x5, x4, x0, x4, x2, x1)
        def body_1868(p_1869, p_1870, p_1871, p_1872, p_1873):
            v_1874 = p_1872[..., None]
            v_1875 = v_1874 > p_1872
            return (v_1875, v_1874)
        r_1876 = torch.vmap(body_1868, in_dims=(None, 2, None, -1, None), out_dims=(-2, 1), randomness='error')(x1, x0, x5, x1, x4)
        r_1877 = r_1876[0]
        r_1878 = r_1876[1]
        def body_1879(p_1880):
            def body_1881(p_1882):
                v_1883 = p_1882.new_full((3,), 0.5)
                v_1884 = torch.matmul(p_1882, p_1882)
                return v_1884
            r_1885 = torch.vmap(body_1881, in_dims=(1,), out_dims=-1, randomness='error')(p_1880)
            v_1886 = torch.matmul(p_1880, p_1880.mT)
            return (v_1886, r_1885)
        r_1887 = torch.vmap(body_1879, in_dims=(1,), out_dims=(-2, 0), randomness='error')(x0)
        r_1888 = r_1887[0]
        r_1889 = r_1887[1]
        def body_1890(p_1891):
            v_1892 = torch.stack([p_1891, p_1891], dim=-3)
            v_1893 = v_1892.unbind(0)[0]
            v_1894 = v_1892.new_full((3,), 0.5)
            v_1895 = v_1893.type_as(v_1893)
            return (v_1895, v_1893)
        r_1896 = torch.vmap(body_1890, in_dims=(2,), out_dims=(2, -1), randomness='error')(x0)
        r_1897 = r_1896[0]
        r_1898 = r_1896[1]
        def body_1899(p_1900, p_1901, p_1902):
            v_1903 = torch.split(p_1902, 1, dim=-1)[-1]
            v_1904 = p_1901[:, 0]
            v_1905 = p_1901.unflatten(-2, [1, -1])
            return (v_1905, v_1904)
        r_1906 = torch.vmap(body_1899, in_dims=(0, 2, None), out_dims=(1, 1), randomness='error')(x3, x2, x3)
        r_1907 = r_1906[0]
        r_1908 = r_1906[1]
        def body_1909(p_1910, p_1911, p_1912, p_1913):
            v_1914 = p_1911.repeat(2, 1)
            v_1915 = p_1913.argmax(-1)
            v_1916 = p_1911.new_ones((2,))
            v_1917 = v_1916[0]
            return (v_1917, v_1916)
        r_1918 = torch.vmap(body_1909, in_dims=(-2, -1, 0, None), out_dims=(0, 1), randomness='error')(x5, x1, x2, x2)
        r_1919 = r_1918[0]
        r_1920 = r_1918[1]
        def body_1972(p_1973, p_1974, p_1975):
            v_1976 = p_1975.amax(-1)
            v_1977 = torch.stack([p_1973, p_1974], dim=-4)
            v_1978 = torch.ones_like(p_1975)
            def body_1979(p_1980, p_1981, p_1982, p_1983, p_1984):
                v_1985 = torch.tensor(True)
                def body_1986(p_1987, p_1988):
                    v_1989 = p_1987.abs()
                    v_1990 = v_1989.ge(0)
                    v_1991 = v_1990.logical_not()
                    v_1992 = torch.sub(p_1988, v_1989, alpha=2)
                    return v_1992
                r_1993 = torch.vmap(body_1986, in_dims=(0, 0), out_dims=-1, randomness='error')(p_1980, p_1984)
                return (r_1993, p_1982)
            r_1994 = torch.vmap(body_1979, in_dims=(1, -1, -1, None, None), out_dims=(0, 2), randomness='error')(v_1978, p_1974, p_1973, p_1975, v_1976)
            r_1995 = r_1994[0]
            r_1996 = r_1994[1]
            return r_1996
        r_1997 = torch.vmap(body_1972, in_dims=(0, 1, None), out_dims=1, randomness='error')(x4, x4, x1)
        def body_1998(p_1999):
            def body_2000(p_2001, p_2002):
                v_2003 = p_2002.max()
                def body_2004(p_2005, p_2006, p_2007):
                    v_2008 = 2 * p_2007
                    v_2009 = 2 * p_2007
                    def body_2010(p_2011):
                        v_2012 = torch.clamp(p_2011, -0.5, 0.5)
                        v_2013 = v_2012.le(p_2011)
                        return (v_2013, v_2012)
                    r_2014 = torch.vmap(body_2010, in_dims=(0,), out_dims=(-1, -1), randomness='error')(p_2006)
                    r_2015 = r_2014[0]
                    r_2016 = r_2014[1]
                    v_2017 = torch.sort(p_2006, dim=-1)[0]
                    return v_2017
                r_2018 = torch.vmap(body_2004, in_dims=(None, None, -1), out_dims=1, randomness='error')(v_2003, p_2002, p_2002)
                v_2019 = v_2003.le(v_2003)
                return (v_2019, v_2003)
            r_2020 = torch.vmap(body_2000, in_dims=(0, None), out_dims=(0, 0), randomness='error')(p_1999, p_1999)
            r_2021 = r_2020[0]
            r_2022 = r_2020[1]
            v_2023 = torch.linalg.vector_norm(r_2022, dim=-1)
            v_2024 = torch.maximum(v_2023, p_1999)
            v_2025 = r_2021.any()
            return v_2025
        r_2026 = torch.vmap(body_1998, in_dims=(-2,), out_dims=0, randomness='error')(x5)
        def body_2068(p_2069, p_2070, p_2071):
            v_2072 = torch.linalg.vector_norm(p_2069, dim=-2)
            v_2073 = p_2070.transpose(-1, 0)
            v_2074 = p_2071.to(torch.float16)
            v_2075 = p_2070.unsqueeze(-1)
            return v_2075
        r_2076 = torch.vmap(body_2068, in_dims=(None, None, -1), out_dims=0, randomness='error')(x0, x3, x3)
        def body_2077(p_2078, p_2079, p_2080, p_2081):
            def body_2082(p_2083, p_2084, p_2085):
                v_2086 = p_2083.reshape([12, 1])
                v_2087 = p_2083.mean()
                v_2088 = v_2086.expand([2, 12, 1])
                v_2089 = v_2086.ge(0)
                return v_2089
            r_2090 = torch.vmap(body_2082, in_dims=(None, 2, -1), out_dims=0, randomness='error')(p_2081, p_2079, p_2080)
            v_2091 = p_2078.select(0, 0)
            v_2092 = p_2079.prod()
            return v_2092
        r_2093 = torch.vmap(body_2077, in_dims=(1, 0, None, 0), out_dims=0, randomness='error')(x2, x4, x5, x0)
        def body_2094(p_2095, p_2096):
            v_2097 = p_2096.le(p_2095)
            def body_2098(p_2099, p_2100, p_2101):
                def body_2102(p_2103, p_2104, p_2105):
                    v_2106 = p_2105.le(p_2105)
                    v_2107 = p_2105.mean(-1, False)
                    v_2108 = v_2107.to(torch.float64)
                    return v_2108
                r_2109 = torch.vmap(body_2102, in_dims=(None, -1, 1), out_dims=-1, randomness='error')(p_2100, p_2100, p_2101)
                v_2110 = r_2109.contiguous()
                return (v_2110, r_2109)
            r_2111 = torch.vmap(body_2098, in_dims=(1, None, None), out_dims=(0, 1), randomness='error')(v_2097, v_2097, p_2095)
            r_2112 = r_2111[0]
            r_2113 = r_2111[1]
            return r_2113
        r_2114 = torch.vmap(body_2094, in_dims=(-1, 0), out_dims=2, randomness='error')(x2, x3)
        def body_2115(p_2116, p_2117, p_2118):
            v_2119 = p_2117.argmax(-1)
            v_2120 = p_2117.flip([0])
            return (v_2120, v_2119)
        r_2121 = torch.vmap(body_2115, in_dims=(None, -2, 2), out_dims=(-1, -1), randomness='error')(x3, x1, x2)
        r_2122 = r_2121[0]
        r_2123 = r_2121[1]
        def body_2124(p_2125, p_2126, p_2127, p_2128, p_2129):
            v_2130 = torch.cat([p_2129, p_2129], -1)
            v_2131 = p_2129.new_full((3,), 0.5)
            return (v_2131, v_2130)
        r_2132 = torch.vmap(body_2124, in_dims=(1, None, 0, None, 0), out_dims=(1, -1), randomness='error')(x5, x1, x5, x3, x2)
        r_2133 = r_2132[0]
        r_2134 = r_2132[1]
        def body_2198(p_2199, p_2200, p_2201):
            v_2202 = p_2200.ge(0)
            def body_2203(p_2204, p_2205, p_2206):
                v_2207 = p_2204[-1:]
                v_2208 = p_2206.mean()
                def body_2209(p_2210, p_2211, p_2212, p_2213):
                    v_2214 = torch.ones_like(p_2211)
                    def body_2215(p_2216, p_2217):
                        v_2218 = 2 * p_2217
                        v_2219 = p_2216.mul(10).to(torch.int64).abs()
                        return (v_2219, v_2218)
                    r_2220 = torch.vmap(body_2215, in_dims=(0, 0), out_dims=(-1, -1), randomness='error')(p_2213, p_2212)
                    r_2221 = r_2220[0]
                    r_2222 = r_2220[1]
                    v_2223 = torch.maximum(p_2213, p_2210)
                    return v_2223
                r_2224 = torch.vmap(body_2209, in_dims=(None, 0, None, None), out_dims=0, randomness='error')(v_2208, v_2207, p_2206, p_2204)
                return (r_2224, v_2208)
            r_2225 = torch.vmap(body_2203, in_dims=(0, 1, 1), out_dims=(1, 0), randomness='error')(p_2201, v_2202, p_2201)
            r_2226 = r_2225[0]
            r_2227 = r_2225[1]
            v_2228 = r_2227.cumsum(-1)
            return (v_2228, r_2226)
        r_2229 = torch.vmap(body_2198, in_dims=(-1, 1, None), out_dims=(0, 0), randomness='error')(x2, x0, x5)
        r_2230 = r_2229[0]
        r_2231 = r_2229[1]
        def body_2294(p_2295):
            v_2296 = p_2295.le(p_2295)
            v_2297 = p_2295.mean(-1, False)
            v_2298 = v_2297.repeat(2, 1)
            v_2299 = torch.stack([p_2295, p_2295], dim=-1)
            return v_2299
        r_2300 = torch.vmap(body_2294, in_dims=(2,), out_dims=-3, randomness='error')(x2)
        def body_2328(p_2329, p_2330, p_2331):
            v_2332 = torch.sort(p_2329, dim=0)[0]
            v_2333 = torch.tensor(True)
            return v_2333
        r_2334 = torch.vmap(body_2328, in_dims=(0, 1, 2), out_dims=0, randomness='error')(x2, x1, x0)
        def body_2353(p_2354, p_2355, p_2356, p_2357, p_2358, p_2359):
            v_2360 = p_2357.mul(p_2358)
            v_2361 = v_2360.cumsum(-1)
            v_2362 = p_2354.float()
            v_2363 = v_2361[None]
            return (v_2363, p_2356)
        r_2364 = torch.vmap(body_2353, in_dims=(None, 0, 1, None, 0, None), out_dims=(1, -1), randomness='error')(x2, x0, x2, x4, x4, x0)
        r_2365 = r_2364[0]
        r_2366 = r_2364[1]
        def body_2447(p_2448, p_2449, p_2450):
            v_2451 = 2 * p_2448
            def body_2452(p_2453, p_2454):
                v_2455 = p_2454.min(-1)[0]
                v_2456 = p_2454.to(torch.float64)
                return v_2456
            r_2457 = torch.vmap(body_2452, in_dims=(-1, None), out_dims=0, randomness='error')(p_2448, p_2450)
            v_2458 = torch.matmul(p_2449, p_2449.mT)
            return v_2458
        r_2459 = torch.vmap(body_2447, in_dims=(None, 0, None), out_dims=-2, randomness='error')(x0, x4, x3)
        return (r_19, r_20, r_43, r_56, r_57, r_140, r_141, r_200, r_201, r_209, r_210, r_265, r_266, r_311, r_312, r_331, r_372, r_373, r_420, r_421, r_568, r_569, r_577, r_594, r_614, r_615, r_616, r_679, r_680, r_687, r_755, r_756, r_766, r_789, r_830, r_831, r_856, r_927, r_1005, r_1104, r_1105, r_1106, r_1126, r_1127, r_1170, r_1171, r_1214, r_1215, r_1244, r_1252, r_1261, r_1281, r_1338, r_1339, r_1368, r_1369, r_1378, r_1379, r_1388, r_1389, r_1413, r_1466, r_1467, r_1475, r_1589, r_1628, r_1629, r_1805, r_1806, r_1841, r_1877, r_1878, r_1888, r_1889, r_1897, r_1898, r_1907, r_1908, r_1919, r_1920, r_1997, r_2026, r_2076, r_2093, r_2114, r_2122, r_2123, r_2133, r_2134, r_2230, r_2231, r_2300, r_2334, r_2365, r_2366, r_2459,)
