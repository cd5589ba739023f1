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
        def body_21(p_22, p_23, p_24, p_25, p_26, p_27):
            v_28 = torch.split(p_26, 1, dim=1)[-1]
            v_29 = p_26.repeat(2, 1, 1)
            v_30 = torch.clamp(p_25, -0.5, 0.5)
            v_31 = torch.sub(p_23, p_22, alpha=2)
            return (v_31, p_23)
        r_32 = torch.vmap(body_21, in_dims=(None, None, None, 0, 1, -2), out_dims=(0, 0), randomness='error')(x1, x4, x0, x3, x0, x1)
        r_33 = r_32[0]
        r_34 = r_32[1]
        def body_59(p_60, p_61, p_62):
            v_63 = torch.nn.functional.linear(p_61, p_61)
            v_64 = p_60.transpose(0, 1)
            return v_64
        r_65 = torch.vmap(body_59, in_dims=(0, None, None), out_dims=-1, randomness='error')(x0, x3, x4)
        def body_66(p_67, p_68):
            v_69 = p_68[:, 0]
            def body_70(p_71, p_72, p_73, p_74):
                def body_75(p_76, p_77):
                    v_78 = p_77.chunk(2, -2)[0]
                    v_79 = torch.cat([v_78, v_78], -2)
                    v_80 = p_77.new_zeros(())
                    return (v_80, v_79)
                r_81 = torch.vmap(body_75, in_dims=(0, 0), out_dims=(0, 2), randomness='error')(p_72, p_74)
                r_82 = r_81[0]
                r_83 = r_81[1]
                v_84 = r_82.new_ones((2,))
                return v_84
            r_85 = torch.vmap(body_70, in_dims=(1, 2, None, None), out_dims=0, randomness='error')(p_68, p_67, p_68, p_67)
            return (r_85, v_69)
        r_86 = torch.vmap(body_66, in_dims=(0, 0), out_dims=(0, 1), randomness='error')(x4, x0)
        r_87 = r_86[0]
        r_88 = r_86[1]
        def body_89(p_90, p_91):
            v_92 = p_91[None, ..., -1]
            v_93 = p_91[..., 0]
            def body_94(p_95):
                def body_96(p_97, p_98):
                    v_99 = p_98.float()
                    def body_100(p_101, p_102, p_103):
                        v_104 = torch.tensor(True)
                        v_105 = p_103.masked_fill(v_104, 0.25)
                        v_106 = p_103.transpose(-1, 0)
                        return v_106
                    r_107 = torch.vmap(body_100, in_dims=(0, None, -1), out_dims=1, randomness='error')(p_97, p_97, p_98)
                    return r_107
                r_108 = torch.vmap(body_96, in_dims=(0, None), out_dims=0, randomness='error')(p_95, p_95)
                v_109 = torch.clamp(p_95, -0.5, 0.5)
                return v_109
            r_110 = torch.vmap(body_94, in_dims=(0,), out_dims=2, randomness='error')(p_91)
            v_111 = torch.nn.functional.gelu(p_90)
            return (v_111, v_92)
        r_112 = torch.vmap(body_89, in_dims=(0, None), out_dims=(-2, 0), randomness='error')(x2, x0)
        r_113 = r_112[0]
        r_114 = r_112[1]
        def body_115(p_116, p_117, p_118):
            def body_119(p_120, p_121, p_122, p_123, p_124):
                v_125 = torch.softmax(p_120, -1)
                def body_126(p_127, p_128, p_129):
                    v_130 = p_127.reshape(-1)
                    v_131 = v_130.transpose(-1, -1)
                    v_132 = v_130.expand([2, 24])
                    v_133 = p_129 * v_131
                    return (v_133, v_131)
                r_134 = torch.vmap(body_126, in_dims=(0, 1, None), out_dims=(1, -1), randomness='error')(p_120, v_125, p_124)
                r_135 = r_134[0]
                r_136 = r_134[1]
                v_137 = r_135[..., None]
                v_138 = p_120.repeat(2, 1, 1, 1, 1)
                return (v_138, v_125)
            r_139 = torch.vmap(body_119, in_dims=(None, -1, None, 0, None), out_dims=(0, 0), randomness='error')(p_117, p_117, p_116, p_116, p_118)
            r_140 = r_139[0]
            r_141 = r_139[1]
            v_142 = p_116.float()
            return (v_142, r_140)
        r_143 = torch.vmap(body_115, in_dims=(0, None, 0), out_dims=(-1, 0), randomness='error')(x1, x4, x3)
        r_144 = r_143[0]
        r_145 = r_143[1]
        def body_146(p_147, p_148, p_149, p_150):
            v_151 = torch.split(p_149, 1, dim=-2)[-1]
            v_152 = torch.sin(p_148)
            return (v_152, p_150)
        r_153 = torch.vmap(body_146, in_dims=(None, None, None, 0), out_dims=(0, -1), randomness='error')(x2, x4, x5, x3)
        r_154 = r_153[0]
        r_155 = r_153[1]
        def body_156(p_157, p_158):
            v_159 = p_157.argmax()
            def body_160(p_161, p_162, p_163, p_164):
                def body_165(p_166, p_167, p_168, p_169):
                    v_170 = p_169.reshape([24, 1])
                    v_171 = p_166.unbind(-2)[0]
                    return (v_171, p_166)
                r_172 = torch.vmap(body_165, in_dims=(0, None, None, None), out_dims=(1, -1), randomness='error')(p_163, p_163, p_161, p_164)
                r_173 = r_172[0]
                r_174 = r_172[1]
                v_175 = p_164.mT
                v_176 = p_163 * p_163
                v_177 = p_162.abs()
                return (v_177, v_176)
            r_178 = torch.vmap(body_160, in_dims=(None, 1, None, None), out_dims=(-2, 0), randomness='error')(v_159, p_157, p_158, p_157)
            r_179 = r_178[0]
            r_180 = r_178[1]
            v_181 = r_180[0, (v_159 % 2)]
            return v_181
        r_182 = torch.vmap(body_156, in_dims=(None, -3), out_dims=0, randomness='error')(x2, x4)
        def body_183(p_184, p_185, p_186, p_187):
            def body_188(p_189, p_190, p_191, p_192):
                def body_193(p_194, p_195, p_196, p_197):
                    v_198 = p_197.new_zeros(())
                    def body_199(p_200, p_201, p_202):
                        v_203 = p_201.gt(0).all(0)
                        v_204 = torch.arange(3)
                        v_205 = p_201.unbind(0)[0]
                        return v_205
                    r_206 = torch.vmap(body_199, in_dims=(None, 1, 0), out_dims=0, randomness='error')(p_197, p_194, p_197)
                    return r_206
                r_207 = torch.vmap(body_193, in_dims=(None, None, -2, None), out_dims=0, randomness='error')(p_192, p_191, p_189, p_190)
                v_208 = r_207.neg()
                return (v_208, r_207)
            r_209 = torch.vmap(body_188, in_dims=(None, 1, None, None), out_dims=(0, 0), randomness='error')(p_184, p_186, p_185, p_187)
            r_210 = r_209[0]
            r_211 = r_209[1]
            v_212 = torch.nn.functional.relu(p_185)
            return v_212
        r_213 = torch.vmap(body_183, in_dims=(0, 1, None, 1), out_dims=1, randomness='error')(x0, x4, x1, x2)
        def body_214(p_215, p_216, p_217, p_218):
            v_219 = p_215.type_as(p_215)
            v_220 = p_218.new_full((3,), 0.5)
            def body_221(p_222, p_223, p_224, p_225, p_226, p_227):
                v_228 = p_225.amax(-1)
                v_229 = torch.nn.functional.relu(p_225)
                v_230 = torch.stack([p_226, p_226], dim=1)
                return v_230
            r_231 = torch.vmap(body_221, in_dims=(None, None, -1, -2, 2, None), out_dims=0, randomness='error')(p_216, v_220, v_220, p_218, p_217, p_215)
            v_232 = v_220[0]
            return (v_232, r_231)
        r_233 = torch.vmap(body_214, in_dims=(-1, 0, None, None), out_dims=(0, 0), randomness='error')(x2, x1, x4, x1)
        r_234 = r_233[0]
        r_235 = r_233[1]
        def body_236(p_237, p_238, p_239):
            def body_240(p_241, p_242, p_243, p_244, p_245):
                def body_246(p_247, p_248, p_249, p_250, p_251, p_252):
                    v_253 = torch.sub(p_249, p_247, alpha=2)
                    v_254 = p_248.amax(-2)
                    v_255 = p_247.expand([2, 2, 4])
                    v_256 = p_247.argmax()
                    return (v_256, v_253)
                r_257 = torch.vmap(body_246, in_dims=(0, None, None, 0, 1, None), out_dims=(-1, 2), randomness='error')(p_245, p_242, p_243, p_242, p_241, p_244)
                r_258 = r_257[0]
                r_259 = r_257[1]
                v_260 = torch.nn.functional.relu(p_242)
                v_261 = p_242.argmax()
                v_262 = torch.topk(v_260, 1, dim=0)[0]
                return (v_262, r_258)
            r_263 = torch.vmap(body_240, in_dims=(None, 1, 0, None, None), out_dims=(0, 0), randomness='error')(p_237, p_238, p_238, p_239, p_238)
            r_264 = r_263[0]
            r_265 = r_263[1]
            v_266 = r_264[0, (r_265 % 1)]
            return v_266
        r_267 = torch.vmap(body_236, in_dims=(-1, -2, 0), out_dims=0, randomness='error')(x2, x4, x3)
        def body_279(p_280, p_281, p_282, p_283, p_284):
            v_285 = p_284.to(torch.float64)
            def body_286(p_287, p_288, p_289, p_290, p_291):
                v_292 = p_291.unsqueeze(0)
                v_293 = p_289.contiguous()
                v_294 = p_288.neg()
                return (v_294, v_292)
            r_295 = torch.vmap(body_286, in_dims=(0, None, None, 2, None), out_dims=(0, 0), randomness='error')(p_283, p_280, p_283, p_280, p_281)
            r_296 = r_295[0]
            r_297 = r_295[1]
            v_298 = torch.cat([v_285, v_285], -1)
            return v_298
        r_299 = torch.vmap(body_279, in_dims=(None, None, 0, None, 2), out_dims=1, randomness='error')(x2, x5, x3, x3, x2)
        def body_300(p_301, p_302, p_303):
            v_304 = p_302.reshape([12, 1])
            def body_305(p_306, p_307, p_308, p_309):
                v_310 = p_306.new_full((3,), 0.5)
                v_311 = torch.cat([p_306, p_308], 0)
                v_312 = p_307.flatten()
                def body_313(p_314, p_315, p_316, p_317):
                    v_318 = torch.movedim(p_317, 0, 0)
                    v_319 = torch.arange(3)
                    v_320 = torch.stack([p_314, p_314], dim=1)
                    return (v_320, p_315)
                r_321 = torch.vmap(body_313, in_dims=(None, None, 0, None), out_dims=(0, 0), randomness='error')(p_307, v_311, p_307, v_312)
                r_322 = r_321[0]
                r_323 = r_321[1]
                return (r_323, v_312)
            r_324 = torch.vmap(body_305, in_dims=(None, None, None, 0), out_dims=(0, 0), randomness='error')(p_303, p_302, p_301, v_304)
            r_325 = r_324[0]
            r_326 = r_324[1]
            v_327 = v_304.argmax()
            return (v_327, r_326)
        r_328 = torch.vmap(body_300, in_dims=(1, 1, 0), out_dims=(-1, 0), randomness='error')(x4, x2, x4)
        r_329 = r_328[0]
        r_330 = r_328[1]
        def body_331(p_332, p_333):
            v_334 = torch.outer(p_332, p_333)
            v_335 = v_334.sum()
            def body_336(p_337, p_338, p_339, p_340):
                v_341 = p_337 * p_337
                v_342 = torch.outer(p_338, p_340)
                return v_342
            r_343 = torch.vmap(body_336, in_dims=(None, None, 0, 1), out_dims=-1, randomness='error')(v_335, p_332, p_333, v_334)
            v_344 = v_334.contiguous()
            return v_344
        r_345 = torch.vmap(body_331, in_dims=(-1, None), out_dims=-3, randomness='error')(x5, x3)
        def body_346(p_347, p_348):
            v_349 = p_348.gt(0)
            v_350 = p_348.amax(-1)
            v_351 = p_348.chunk(2, 0)[0]
            v_352 = torch.stack([p_347, p_347], dim=-1)
            return (v_352, v_351)
        r_353 = torch.vmap(body_346, in_dims=(0, None), out_dims=(2, 0), randomness='error')(x0, x3)
        r_354 = r_353[0]
        r_355 = r_353[1]
        def body_356(p_357, p_358, p_359):
            def body_360(p_361, p_362, p_363, p_364):
                def body_365(p_366, p_367, p_368):
                    v_369 = torch.sub(p_368, p_368, alpha=2)
                    v_370 = v_369.to(torch.float16)
                    return (v_370, v_369)
                r_371 = torch.vmap(body_365, in_dims=(None, None, 0), out_dims=(1, -1), randomness='error')(p_361, p_363, p_363)
                r_372 = r_371[0]
                r_373 = r_371[1]
                v_374 = r_373.flip([-1])
                v_375 = p_364.abs()
                v_376 = torch.norm(r_373)
                return v_376
            r_377 = torch.vmap(body_360, in_dims=(None, None, None, 1), out_dims=0, randomness='error')(p_359, p_357, p_358, p_357)
            v_378 = torch.linalg.vector_norm(p_358, dim=-2)
            v_379 = p_359.transpose(-2, -2)
            return (v_379, v_378)
        r_380 = torch.vmap(body_356, in_dims=(None, 0, None), out_dims=(0, 1), randomness='error')(x0, x2, x1)
        r_381 = r_380[0]
        r_382 = r_380[1]
        def body_383(p_384, p_385, p_386):
            v_387 = p_384.expand([2, 3, 4])
            v_388 = v_387.ge(0)
            v_389 = p_384.flip([-2])
            def body_390(p_391, p_392, p_393, p_394, p_395):
                def body_396(p_397, p_398):
                    def body_399(p_400, p_401):
                        v_402 = p_401.max()
                        v_403 = p_401.contiguous()
                        v_404 = v_403.flatten()
                        v_405 = v_404.to(torch.float64)
                        return v_405
                    r_406 = torch.vmap(body_399, in_dims=(None, -2), out_dims=0, randomness='error')(p_397, p_398)
                    v_407 = p_397.neg()
                    v_408 = torch.var(p_398, -2, correction=0)
                    v_409 = torch.stack([p_398, p_398], dim=-1)
                    return (v_409, v_407, p_398)
                r_410 = torch.vmap(body_396, in_dims=(0, None), out_dims=(0, 0, 0), randomness='error')(p_393, p_391)
                r_411 = r_410[0]
                r_412 = r_410[1]
                r_413 = r_410[2]
                v_414 = torch.stack([p_395, p_395], dim=-1)
                return (v_414, r_412)
            r_415 = torch.vmap(body_390, in_dims=(-1, None, 1, 2, None), out_dims=(0, 0), randomness='error')(v_387, v_387, p_384, v_388, p_386)
            r_416 = r_415[0]
            r_417 = r_415[1]
            return (r_417, r_416, v_389)
        r_418 = torch.vmap(body_383, in_dims=(-3, -4, 1), out_dims=(0, 0, -2), randomness='error')(x0, x4, x2)
        r_419 = r_418[0]
        r_420 = r_418[1]
        r_421 = r_418[2]
        def body_422(p_423, p_424, p_425, p_426, p_427):
            v_428 = torch.nn.functional.gelu(p_423)
            v_429 = torch.cat([p_424, p_424], -2)
            v_430 = p_426.mT
            return v_430
        r_431 = torch.vmap(body_422, in_dims=(0, 2, None, None, -1), out_dims=0, randomness='error')(x1, x2, x0, x1, x3)
        def body_432(p_433, p_434, p_435, p_436):
            v_437 = p_435.mT
            def body_438(p_439, p_440, p_441):
                v_442 = torch.stack([p_440, p_440], dim=2)
                def body_443(p_444, p_445, p_446, p_447, p_448):
                    v_449 = p_446[..., 1:, None]
                    v_450 = v_449.select(-1, 0)
                    v_451 = p_446.cumsum(1)
                    return v_451
                r_452 = torch.vmap(body_443, in_dims=(1, 1, None, 1, None), out_dims=0, randomness='error')(v_442, p_440, p_439, p_439, v_442)
                v_453 = torch.norm(v_442)
                return v_453
            r_454 = torch.vmap(body_438, in_dims=(0, 0, 1), out_dims=0, randomness='error')(v_437, p_434, p_435)
            return (r_454, v_437)
        r_455 = torch.vmap(body_432, in_dims=(-1, 2, None, None), out_dims=(0, 0), randomness='error')(x2, x4, x4, x2)
        r_456 = r_455[0]
        r_457 = r_455[1]
        def body_458(p_459, p_460, p_461, p_462, p_463):
            v_464 = 2 * p_460
            def body_465(p_466, p_467, p_468, p_469, p_470):
                def body_471(p_472, p_473, p_474, p_475, p_476):
                    def body_477(p_478, p_479):
                        v_480 = torch.nn.functional.linear(p_478, p_478)
                        v_481 = p_479.mean(0, True)
                        v_482 = v_481.chunk(2, -1)[0]
                        v_483 = v_482.select(0, 0)
                        return v_483
                    r_484 = torch.vmap(body_477, in_dims=(None, -2), out_dims=0, randomness='error')(p_472, p_474)
                    v_485 = p_474[None, ..., -1]
                    return (v_485, r_484)
                r_486 = torch.vmap(body_471, in_dims=(None, -2, None, None, -1), out_dims=(0, 0), randomness='error')(p_467, p_469, p_470, p_466, p_466)
                r_487 = r_486[0]
                r_488 = r_486[1]
                v_489 = torch.sigmoid(p_468)
                return v_489
            r_490 = torch.vmap(body_465, in_dims=(None, 0, -1, None, 2), out_dims=-2, randomness='error')(p_460, p_463, p_460, p_461, p_459)
            v_491 = v_464.unbind(0)[0]
            return (v_491, v_464)
        r_492 = torch.vmap(body_458, in_dims=(0, None, -2, None, None), out_dims=(0, 0), randomness='error')(x4, x1, x2, x3, x5)
        r_493 = r_492[0]
        r_494 = r_492[1]
        def body_495(p_496, p_497, p_498):
            v_499 = p_497.ge(0)
            def body_500(p_501, p_502):
                v_503 = p_502.new_full((3,), 0.5)
                v_504 = torch.stack([v_503, v_503], dim=-1)
                v_505 = p_502.ge(0)
                v_506 = p_502.ge(0)
                return v_506
            r_507 = torch.vmap(body_500, in_dims=(-1, 0), out_dims=-1, randomness='error')(v_499, p_497)
            v_508 = p_496.reshape([12, 1])
            v_509 = torch.tanh(p_497)
            return (v_509, v_499)
        r_510 = torch.vmap(body_495, in_dims=(3, 1, 0), out_dims=(-1, -2), randomness='error')(x4, x5, x2)
        r_511 = r_510[0]
        r_512 = r_510[1]
        def body_513(p_514, p_515, p_516, p_517, p_518):
            v_519 = torch.linalg.vector_norm(p_518, dim=-1)
            v_520 = p_516.sum()
            v_521 = torch.arange(3)
            v_522 = torch.nn.functional.embedding((v_521 % 2), v_519)
            return (v_522, v_519)
        r_523 = torch.vmap(body_513, in_dims=(3, None, None, 0, None), out_dims=(0, 0), randomness='error')(x4, x2, x3, x2, x0)
        r_524 = r_523[0]
        r_525 = r_523[1]
        def body_526(p_527, p_528, p_529, p_530, p_531, p_532):
            v_533 = p_531.reshape(-1)
            v_534 = v_533.sum(-1, keepdim=False)
            v_535 = p_527[0]
            return (v_535, v_533)
        r_536 = torch.vmap(body_526, in_dims=(None, -4, 1, 1, None, None), out_dims=(0, 0), randomness='error')(x5, x4, x4, x2, x0, x3)
        r_537 = r_536[0]
        r_538 = r_536[1]
        def body_539(p_540, p_541, p_542):
            v_543 = p_540.reshape(-1)
            v_544 = p_542 @ p_541
            v_545 = p_541.new_zeros(())
            v_546 = torch.split(p_541, 1, dim=-1)[-1]
            return (v_546, v_544)
        r_547 = torch.vmap(body_539, in_dims=(1, -2, None), out_dims=(-1, -3), randomness='error')(x4, x2, x5)
        r_548 = r_547[0]
        r_549 = r_547[1]
        def body_550(p_551, p_552, p_553, p_554):
            def body_555(p_556, p_557, p_558, p_559, p_560, p_561):
                def body_562(p_563, p_564, p_565, p_566, p_567):
                    v_568 = p_566.max()
                    v_569 = p_566.to(torch.float64)
                    return (v_569, v_568)
                r_570 = torch.vmap(body_562, in_dims=(-1, None, None, 2, None), out_dims=(-1, 0), randomness='error')(p_557, p_557, p_556, p_560, p_559)
                r_571 = r_570[0]
                r_572 = r_570[1]
                v_573 = torch.permute(r_572, (0,))
                return (v_573, r_571)
            r_574 = torch.vmap(body_555, in_dims=(None, None, None, 0, 1, 0), out_dims=(0, 0), randomness='error')(p_551, p_553, p_552, p_554, p_553, p_551)
            r_575 = r_574[0]
            r_576 = r_574[1]
            v_577 = torch.tril(p_553)
            v_578 = torch.ones_like(v_577)
            v_579 = v_577.flatten()
            return v_579
        r_580 = torch.vmap(body_550, in_dims=(2, 1, None, 0), out_dims=0, randomness='error')(x0, x1, x4, x2)
        def body_581(p_582, p_583):
            def body_584(p_585, p_586, p_587):
                v_588 = torch.cat([p_586, p_586], -1)
                v_589 = v_588.flip([0])
                v_590 = torch.cat([p_586, p_586], -1)
                return v_590
            r_591 = torch.vmap(body_584, in_dims=(0, None, None), out_dims=0, randomness='error')(p_582, p_583, p_582)
            v_592 = p_582.narrow(0, 0, 1)
            return (v_592, r_591)
        r_593 = torch.vmap(body_581, in_dims=(None, -2), out_dims=(0, 0), randomness='error')(x2, x2)
        r_594 = r_593[0]
        r_595 = r_593[1]
        def body_596(p_597, p_598, p_599, p_600):
            v_601 = torch.maximum(p_598, p_600)
            v_602 = torch.cat([p_598, p_598], 1)
            return (v_602, v_601)
        r_603 = torch.vmap(body_596, in_dims=(3, None, None, None), out_dims=(0, 0), randomness='error')(x4, x1, x2, x4)
        r_604 = r_603[0]
        r_605 = r_603[1]
        def body_606(p_607, p_608, p_609, p_610):
            v_611 = p_610.flip([-1])
            def body_612(p_613, p_614, p_615, p_616, p_617):
                v_618 = p_614.to(torch.float16)
                def body_619(p_620, p_621, p_622, p_623):
                    v_624 = torch.stack([p_620, p_620], dim=-1)
                    v_625 = torch.clamp(p_623, -0.5, 0.5)
                    v_626 = torch.tril(v_624)
                    return v_626
                r_627 = torch.vmap(body_619, in_dims=(0, None, 0, None), out_dims=1, randomness='error')(v_618, p_616, p_615, p_615)
                return (r_627, v_618)
            r_628 = torch.vmap(body_612, in_dims=(-2, None, None, -2, 0), out_dims=(0, 0), randomness='error')(v_611, p_610, p_609, p_608, p_610)
            r_629 = r_628[0]
            r_630 = r_628[1]
            return r_630
        r_631 = torch.vmap(body_606, in_dims=(1, None, None, None), out_dims=0, randomness='error')(x2, x4, x3, x1)
        def body_632(p_633, p_634, p_635):
            def body_636(p_637, p_638, p_639, p_640, p_641):
                v_642 = p_639.abs()
                def body_643(p_644, p_645, p_646):
                    v_647 = p_644.contiguous()
                    def body_648(p_649, p_650, p_651, p_652):
                        v_653 = 2 * p_652
                        v_654 = p_650 + p_652
                        v_655 = 2 * p_650
                        return (v_655, v_654)
                    r_656 = torch.vmap(body_648, in_dims=(None, 0, -1, None), out_dims=(0, 0), randomness='error')(p_646, v_647, p_644, p_645)
                    r_657 = r_656[0]
                    r_658 = r_656[1]
                    return (r_658, r_657)
                r_659 = torch.vmap(body_643, in_dims=(0, 0, 0), out_dims=(0, 0), randomness='error')(v_642, p_638, p_640)
                r_660 = r_659[0]
                r_661 = r_659[1]
                v_662 = p_640.gt(0).all(0)
                return (v_662, r_660)
            r_663 = torch.vmap(body_636, in_dims=(2, -1, None, None, None), out_dims=(0, 0), randomness='error')(p_633, p_634, p_634, p_635, p_633)
            r_664 = r_663[0]
            r_665 = r_663[1]
            v_666 = p_635.select(-1, 0)
            v_667 = torch.softmax(r_665, 2)
            return (v_667, r_664)
        r_668 = torch.vmap(body_632, in_dims=(2, None, None), out_dims=(0, 0), randomness='error')(x4, x1, x3)
        r_669 = r_668[0]
        r_670 = r_668[1]
        def body_671(p_672, p_673, p_674):
            v_675 = p_672.select(-2, 0)
            def body_676(p_677, p_678, p_679, p_680, p_681):
                v_682 = torch.permute(p_680, (0,))
                def body_683(p_684, p_685, p_686):
                    v_687 = p_686.expand([2, 2, 4])
                    v_688 = torch.cat([p_685, p_685], -1)
                    v_689 = p_686.new_full((3,), 0.5)
                    v_690 = v_688.contiguous()
                    return (v_690, v_689)
                r_691 = torch.vmap(body_683, in_dims=(1, 0, 0), out_dims=(-4, 0), randomness='error')(p_679, p_678, p_679)
                r_692 = r_691[0]
                r_693 = r_691[1]
                v_694 = p_677.flatten()
                return v_694
            r_695 = torch.vmap(body_676, in_dims=(None, None, 2, None, 0), out_dims=0, randomness='error')(p_673, p_674, p_674, v_675, p_672)
            return r_695
        r_696 = torch.vmap(body_671, in_dims=(None, -1, None), out_dims=0, randomness='error')(x1, x0, x4)
        def body_697(p_698, p_699, p_700, p_701):
            v_702 = torch.cat([p_700, p_700], -1)
            def body_703(p_704, p_705, p_706):
                v_707 = p_705.mul(10).to(torch.int64).abs()
                def body_708(p_709, p_710, p_711, p_712):
                    v_713 = p_712.le(p_711)
                    v_714 = p_712[..., (p_710 % 2)]
                    v_715 = v_714.transpose(1, 0)
                    return v_715
                r_716 = torch.vmap(body_708, in_dims=(None, None, 0, None), out_dims=0, randomness='error')(p_705, v_707, p_704, p_706)
                v_717 = r_716.gt(0).all(1)
                v_718 = p_706.float()
                return v_718
            r_719 = torch.vmap(body_703, in_dims=(None, 0, 2), out_dims=-4, randomness='error')(p_698, p_701, p_699)
            return r_719
        r_720 = torch.vmap(body_697, in_dims=(2, None, 0, None), out_dims=0, randomness='error')(x4, x4, x1, x3)
        def body_721(p_722, p_723, p_724):
            v_725 = torch.tril(p_724)
            v_726 = p_723.argmax()
            v_727 = p_724[..., None]
            return v_727
        r_728 = torch.vmap(body_721, in_dims=(-3, 0, None), out_dims=0, randomness='error')(x2, x5, x4)
        def body_729(p_730, p_731, p_732, p_733):
            def body_734(p_735, p_736, p_737, p_738):
                def body_739(p_740, p_741, p_742, p_743):
                    v_744 = p_742.ge(0)
                    v_745 = p_741.to(torch.float64)
                    return (v_745, p_741)
                r_746 = torch.vmap(body_739, in_dims=(1, 0, -3, None), out_dims=(-2, -3), randomness='error')(p_735, p_735, p_738, p_735)
                r_747 = r_746[0]
                r_748 = r_746[1]
                v_749 = r_747.chunk(2, 2)[0]
                v_750 = r_747.chunk(2, 2)[0]
                v_751 = p_735.repeat(2, 1, 1, 1)
                return (v_751, r_747)
            r_752 = torch.vmap(body_734, in_dims=(None, None, 0, None), out_dims=(0, 0), randomness='error')(p_732, p_730, p_732, p_733)
            r_753 = r_752[0]
            r_754 = r_752[1]
            v_755 = torch.norm(r_753)
            v_756 = r_754.unbind(3)[0]
            return (v_756, r_754)
        r_757 = torch.vmap(body_729, in_dims=(None, 0, -1, None), out_dims=(0, 0), randomness='error')(x3, x2, x4, x0)
        r_758 = r_757[0]
        r_759 = r_757[1]
        def body_760(p_761, p_762, p_763, p_764, p_765, p_766):
            v_767 = torch.logsumexp(p_765, 0)
            def body_768(p_769, p_770, p_771, p_772):
                def body_773(p_774):
                    def body_775(p_776):
                        v_777 = torch.split(p_776, 1, dim=-1)[-1]
                        v_778 = p_776.type_as(p_776)
                        return (v_778, v_777, p_776)
                    r_779 = torch.vmap(body_775, in_dims=(0,), out_dims=(1, -1, 0), randomness='error')(p_774)
                    r_780 = r_779[0]
                    r_781 = r_779[1]
                    r_782 = r_779[2]
                    v_783 = r_782.contiguous()
                    return v_783
                r_784 = torch.vmap(body_773, in_dims=(2,), out_dims=0, randomness='error')(p_771)
                v_785 = r_784.type_as(r_784)
                v_786 = torch.permute(p_769, (1, 0))
                return (v_786, v_785)
            r_787 = torch.vmap(body_768, in_dims=(None, -1, None, None), out_dims=(0, 0), randomness='error')(p_761, p_764, p_763, v_767)
            r_788 = r_787[0]
            r_789 = r_787[1]
            v_790 = p_761.unbind(-1)[0]
            v_791 = v_790.repeat(2, 1)
            return v_791
        r_792 = torch.vmap(body_760, in_dims=(0, -2, None, None, 1, None), out_dims=2, randomness='error')(x2, x5, x0, x4, x1, x2)
        def body_793(p_794, p_795, p_796):
            v_797 = torch.movedim(p_794, -2, -2)
            v_798 = p_796.repeat(2, 1, 1, 1, 1)
            def body_799(p_800, p_801, p_802, p_803):
                def body_804(p_805, p_806, p_807, p_808):
                    def body_809(p_810):
                        v_811 = p_810.unbind(0)[0]
                        v_812 = p_810 @ p_810
                        v_813 = p_810.new_zeros(())
                        v_814 = v_811[None]
                        return (v_814, p_810)
                    r_815 = torch.vmap(body_809, in_dims=(-2,), out_dims=(-2, 0), randomness='error')(p_806)
                    r_816 = r_815[0]
                    r_817 = r_815[1]
                    v_818 = torch.norm(r_817)
                    return (v_818, r_816)
                r_819 = torch.vmap(body_804, in_dims=(1, None, 2, None), out_dims=(0, 0), randomness='error')(p_803, p_803, p_802, p_801)
                r_820 = r_819[0]
                r_821 = r_819[1]
                v_822 = torch.ones_like(r_820)
                return (v_822, r_820)
            r_823 = torch.vmap(body_799, in_dims=(2, None, None, None), out_dims=(0, 0), randomness='error')(p_795, p_796, p_795, p_794)
            r_824 = r_823[0]
            r_825 = r_823[1]
            return (r_825, v_797)
        r_826 = torch.vmap(body_793, in_dims=(0, 0, None), out_dims=(0, -3), randomness='error')(x0, x4, x4)
        r_827 = r_826[0]
        r_828 = r_826[1]
        def body_829(p_830, p_831, p_832, p_833, p_834, p_835):
            v_836 = p_834.to(torch.float64)
            v_837 = torch.split(p_830, 1, dim=-1)[-1]
            v_838 = p_833.new_full((3,), 0.5)
            def body_839(p_840, p_841, p_842, p_843):
                v_844 = p_841.ge(0)
                def body_845(p_846, p_847, p_848):
                    v_849 = torch.cat([p_846, p_846], 0)
                    v_850 = torch.stack([p_846, p_846], dim=0)
                    v_851 = torch.tril(v_849)
                    return v_851
                r_852 = torch.vmap(body_845, in_dims=(None, 0, 1), out_dims=0, randomness='error')(p_840, p_843, v_844)
                v_853 = torch.split(p_841, 1, dim=0)[-1]
                v_854 = p_841.mT
                return v_854
            r_855 = torch.vmap(body_839, in_dims=(None, 2, None, 1), out_dims=1, randomness='error')(p_830, p_831, p_832, p_833)
            return (r_855, v_836)
        r_856 = torch.vmap(body_829, in_dims=(None, None, 1, -3, None, 1), out_dims=(0, 0), randomness='error')(x1, x0, x4, x0, x4, x2)
        r_857 = r_856[0]
        r_858 = r_856[1]
        def body_859(p_860, p_861, p_862, p_863):
            v_864 = torch.stack([p_860, p_860], dim=0)
            def body_865(p_866, p_867, p_868):
                v_869 = p_868[..., 1:, None]
                v_870 = torch.movedim(p_867, -1, 1)
                v_871 = p_867.cumsum(0)
                v_872 = torch.nn.functional.relu(p_866)
                return (v_872, v_871)
            r_873 = torch.vmap(body_865, in_dims=(3, 2, None), out_dims=(1, 0), randomness='error')(v_864, p_860, p_863)
            r_874 = r_873[0]
            r_875 = r_873[1]
            return (r_875, r_874)
        r_876 = torch.vmap(body_859, in_dims=(None, None, None, 0), out_dims=(0, 0), randomness='error')(x4, x1, x0, x5)
        r_877 = r_876[0]
        r_878 = r_876[1]
        def body_879(p_880, p_881):
            v_882 = p_881.to(torch.float64)
            def body_883(p_884, p_885, p_886):
                def body_887(p_888, p_889, p_890):
                    def body_891(p_892, p_893, p_894, p_895):
                        v_896 = p_893.narrow(-1, 0, 1)
                        v_897 = p_895.unbind(-2)[0]
                        return (v_897, v_896)
                    r_898 = torch.vmap(body_891, in_dims=(None, 1, 2, None), out_dims=(0, -2), randomness='error')(p_889, p_888, p_890, p_888)
                    r_899 = r_898[0]
                    r_900 = r_898[1]
                    v_901 = r_900.mean(0, True)
                    v_902 = torch.ones_like(r_899)
                    return v_902
                r_903 = torch.vmap(body_887, in_dims=(0, None, None), out_dims=0, randomness='error')(p_884, p_885, p_884)
                v_904 = r_903.select(1, 0)
                v_905 = r_903.max()
                v_906 = r_903.to(torch.float16)
                return v_906
            r_907 = torch.vmap(body_883, in_dims=(None, -1, None), out_dims=0, randomness='error')(p_880, p_881, p_881)
            return (r_907, v_882)
        r_908 = torch.vmap(body_879, in_dims=(0, None), out_dims=(0, 0), randomness='error')(x4, x3)
        r_909 = r_908[0]
        r_910 = r_908[1]
        def body_911(p_912, p_913, p_914, p_915):
            v_916 = p_915.unbind(0)[0]
            def body_917(p_918, p_919, p_920, p_921):
                v_922 = torch.split(p_919, 1, dim=1)[-1]
                def body_923(p_924, p_925, p_926, p_927):
                    v_928 = p_925.le(p_924)
                    v_929 = v_928.any()
                    return (v_929, v_928, p_926)
                r_930 = torch.vmap(body_923, in_dims=(0, None, None, None), out_dims=(0, -1, 0), randomness='error')(p_921, p_919, p_918, v_922)
                r_931 = r_930[0]
                r_932 = r_930[1]
                r_933 = r_930[2]
                v_934 = p_920 - 1.5
                return (v_934, v_922)
            r_935 = torch.vmap(body_917, in_dims=(None, 2, None, 0), out_dims=(0, 2), randomness='error')(p_912, p_912, v_916, p_915)
            r_936 = r_935[0]
            r_937 = r_935[1]
            v_938 = v_916[0]
            return (v_938, r_936)
        r_939 = torch.vmap(body_911, in_dims=(None, None, -2, None), out_dims=(0, 0), randomness='error')(x2, x3, x1, x1)
        r_940 = r_939[0]
        r_941 = r_939[1]
        def body_942(p_943, p_944, p_945):
            v_946 = torch.topk(p_943, 1, dim=-1)[0]
            def body_947(p_948, p_949, p_950):
                def body_951(p_952):
                    v_953 = p_952.prod(0)
                    def body_954(p_955, p_956, p_957):
                        v_958 = p_957.le(p_955)
                        v_959 = p_955.ge(0)
                        v_960 = torch.movedim(p_957, -1, 0)
                        return (v_960, p_955)
                    r_961 = torch.vmap(body_954, in_dims=(0, None, None), out_dims=(0, -1), randomness='error')(p_952, v_953, p_952)
                    r_962 = r_961[0]
                    r_963 = r_961[1]
                    v_964 = torch.ones_like(v_953)
                    v_965 = p_952[..., 0]
                    return (v_965, v_953)
                r_966 = torch.vmap(body_951, in_dims=(-2,), out_dims=(0, -1), randomness='error')(p_950)
                r_967 = r_966[0]
                r_968 = r_966[1]
                v_969 = p_950.argmax(1)
                v_970 = p_949 > r_967
                return v_970
            r_971 = torch.vmap(body_947, in_dims=(None, 0, None), out_dims=0, randomness='error')(p_945, p_944, p_943)
            return (r_971, p_944)
        r_972 = torch.vmap(body_942, in_dims=(0, -1, -1), out_dims=(0, -2), randomness='error')(x2, x5, x4)
        r_973 = r_972[0]
        r_974 = r_972[1]
        def body_975(p_976, p_977):
            def body_978(p_979, p_980, p_981):
                v_982 = torch.tensor(True)
                def body_983(p_984, p_985, p_986, p_987):
                    def body_988(p_989, p_990, p_991):
                        v_992 = p_990.ge(0)
                        v_993 = p_990.masked_fill(v_992, 0.25)
                        v_994 = p_990.ge(0)
                        return v_994
                    r_995 = torch.vmap(body_988, in_dims=(0, None, None), out_dims=0, randomness='error')(p_986, p_987, p_984)
                    v_996 = p_985.masked_fill(p_984, 0.25)
                    v_997 = torch.sigmoid(p_986)
                    return (v_997, r_995)
                r_998 = torch.vmap(body_983, in_dims=(None, 0, 1, 0), out_dims=(-2, 0), randomness='error')(v_982, p_979, p_980, p_981)
                r_999 = r_998[0]
                r_1000 = r_998[1]
                return (r_1000, r_999)
            r_1001 = torch.vmap(body_978, in_dims=(-2, None, -2), out_dims=(0, 0), randomness='error')(p_976, p_977, p_977)
            r_1002 = r_1001[0]
            r_1003 = r_1001[1]
            v_1004 = torch.cat([r_1003, r_1003], -2)
            v_1005 = torch.log_softmax(p_977, dim=0)
            return (v_1005, v_1004)
        r_1006 = torch.vmap(body_975, in_dims=(-1, -3), out_dims=(-1, 0), randomness='error')(x0, x2)
        r_1007 = r_1006[0]
        r_1008 = r_1006[1]
        def body_1009(p_1010, p_1011, p_1012, p_1013, p_1014):
            v_1015 = p_1012[-1:]
            def body_1016(p_1017, p_1018):
                v_1019 = torch.cat([p_1018, p_1018], -1)
                v_1020 = torch.ones_like(v_1019)
                def body_1021(p_1022, p_1023, p_1024, p_1025):
                    def body_1026(p_1027, p_1028, p_1029, p_1030):
                        v_1031 = torch.split(p_1030, 1, dim=0)[-1]
                        v_1032 = torch.split(p_1030, 1, dim=0)[-1]
                        v_1033 = v_1031[None]
                        return (v_1033, v_1031)
                    r_1034 = torch.vmap(body_1026, in_dims=(0, None, None, None), out_dims=(0, 0), randomness='error')(p_1023, p_1022, p_1024, p_1025)
                    r_1035 = r_1034[0]
                    r_1036 = r_1034[1]
                    v_1037 = p_1022.mean()
                    v_1038 = r_1035.unflatten(-1, [1, -1])
                    v_1039 = r_1035.unbind(-2)[0]
                    return (v_1039, p_1025)
                r_1040 = torch.vmap(body_1021, in_dims=(-2, None, 0, 0), out_dims=(0, 1), randomness='error')(v_1019, p_1017, v_1020, p_1018)
                r_1041 = r_1040[0]
                r_1042 = r_1040[1]
                return r_1042
            r_1043 = torch.vmap(body_1016, in_dims=(None, -3), out_dims=0, randomness='error')(p_1013, v_1015)
            return r_1043
        r_1044 = torch.vmap(body_1009, in_dims=(None, 2, None, 0, 0), out_dims=0, randomness='error')(x0, x2, x2, x1, x3)
        def body_1045(p_1046, p_1047, p_1048):
            v_1049 = p_1046.sum(-1, keepdim=True)
            v_1050 = torch.sort(v_1049, dim=0)[0]
            def body_1051(p_1052):
                def body_1053(p_1054, p_1055):
                    v_1056 = p_1055.select(0, 0)
                    v_1057 = torch.clamp(v_1056, -0.5, 0.5)
                    def body_1058(p_1059):
                        v_1060 = torch.sigmoid(p_1059)
                        v_1061 = v_1060.mul(10).to(torch.int64).abs()
                        v_1062 = v_1060.le(v_1060)
                        v_1063 = torch.sub(p_1059, v_1060, alpha=2)
                        return v_1063
                    r_1064 = torch.vmap(body_1058, in_dims=(-1,), out_dims=0, randomness='error')(p_1055)
                    return (r_1064, v_1056)
                r_1065 = torch.vmap(body_1053, in_dims=(0, None), out_dims=(0, 0), randomness='error')(p_1052, p_1052)
                r_1066 = r_1065[0]
                r_1067 = r_1065[1]
                v_1068 = r_1067.unbind(0)[0]
                v_1069 = torch.stack([p_1052, p_1052], dim=-1)
                return v_1069
            r_1070 = torch.vmap(body_1051, in_dims=(0,), out_dims=1, randomness='error')(v_1049)
            v_1071 = p_1046.gt(0)
            return (v_1071, r_1070, v_1049)
        r_1072 = torch.vmap(body_1045, in_dims=(-2, 2, -1), out_dims=(-1, 0, 0), randomness='error')(x0, x2, x3)
        r_1073 = r_1072[0]
        r_1074 = r_1072[1]
        r_1075 = r_1072[2]
        def body_1076(p_1077, p_1078, p_1079):
            v_1080 = p_1079.unsqueeze(-3)
            v_1081 = torch.nn.functional.relu(p_1078)
            v_1082 = torch.arange(3)
            def body_1083(p_1084, p_1085, p_1086):
                v_1087 = p_1084.new_zeros(())
                v_1088 = p_1084.mT
                v_1089 = p_1085.mul(v_1087)
                v_1090 = torch.softmax(p_1084, -1)
                return (v_1090, v_1089)
            r_1091 = torch.vmap(body_1083, in_dims=(-3, -2, 0), out_dims=(2, 2), randomness='error')(p_1079, p_1077, v_1080)
            r_1092 = r_1091[0]
            r_1093 = r_1091[1]
            return (r_1093, p_1079)
        r_1094 = torch.vmap(body_1076, in_dims=(None, -1, 2), out_dims=(0, 0), randomness='error')(x2, x3, x4)
        r_1095 = r_1094[0]
        r_1096 = r_1094[1]
        def body_1097(p_1098, p_1099, p_1100, p_1101, p_1102, p_1103):
            v_1104 = torch.clamp(p_1098, -0.5, 0.5)
            def body_1105(p_1106, p_1107):
                v_1108 = torch.tensor(True)
                def body_1109(p_1110, p_1111):
                    v_1112 = p_1111.sum()
                    v_1113 = p_1110.reshape([4, 1])
                    def body_1114(p_1115, p_1116, p_1117, p_1118):
                        v_1119 = p_1118[None]
                        v_1120 = p_1116 - 1.5
                        v_1121 = torch.arange(3)
                        v_1122 = p_1117.unflatten(-1, [1, -1])
                        return (v_1122, v_1120)
                    r_1123 = torch.vmap(body_1114, in_dims=(None, 0, None, None), out_dims=(0, -1), randomness='error')(v_1113, p_1110, p_1110, v_1112)
                    r_1124 = r_1123[0]
                    r_1125 = r_1123[1]
                    return (r_1125, v_1113)
                r_1126 = torch.vmap(body_1109, in_dims=(1, 1), out_dims=(0, -2), randomness='error')(p_1107, p_1106)
                r_1127 = r_1126[0]
                r_1128 = r_1126[1]
                return (r_1128, r_1127, p_1106)
            r_1129 = torch.vmap(body_1105, in_dims=(2, 2), out_dims=(0, 0, -3), randomness='error')(v_1104, p_1098)
            r_1130 = r_1129[0]
            r_1131 = r_1129[1]
            r_1132 = r_1129[2]
            return (r_1132, r_1130)
        r_1133 = torch.vmap(body_1097, in_dims=(None, None, 2, 1, 0, None), out_dims=(0, 0), randomness='error')(x2, x5, x4, x0, x3, x3)
        r_1134 = r_1133[0]
        r_1135 = r_1133[1]
        def body_1136(p_1137, p_1138, p_1139, p_1140):
            v_1141 = torch.stack([p_1137, p_1137], dim=0)
            v_1142 = v_1141.repeat(2, 1, 1)
            v_1143 = v_1141.reshape(-1)
            def body_1144(p_1145, p_1146, p_1147, p_1148, p_1149):
                v_1150 = torch.mv(p_1146, p_1145)
                v_1151 = p_1146.to(torch.float64)
                def body_1152(p_1153, p_1154, p_1155, p_1156):
                    v_1157 = p_1154[None]
                    v_1158 = torch.split(p_1154, 1, dim=0)[-1]
                    v_1159 = v_1158.ge(0)
                    return v_1159
                r_1160 = torch.vmap(body_1152, in_dims=(None, -2, -1, None), out_dims=-1, randomness='error')(p_1146, p_1148, p_1147, p_1149)
                v_1161 = torch.mv(p_1148, p_1145)
                return v_1161
            r_1162 = torch.vmap(body_1144, in_dims=(None, None, -1, None, 2), out_dims=0, randomness='error')(p_1137, v_1141, p_1138, p_1138, v_1142)
            return r_1162
        r_1163 = torch.vmap(body_1136, in_dims=(1, None, None, -1), out_dims=0, randomness='error')(x5, x1, x3, x1)
        def body_1164(p_1165, p_1166, p_1167, p_1168, p_1169):
            v_1170 = p_1168.reshape([4, 1])
            v_1171 = p_1165.argmax()
            v_1172 = p_1167.gt(0)
            return (v_1172, v_1171)
        r_1173 = torch.vmap(body_1164, in_dims=(None, None, 1, 0, None), out_dims=(1, 0), randomness='error')(x4, x0, x5, x5, x1)
        r_1174 = r_1173[0]
        r_1175 = r_1173[1]
        def body_1176(p_1177, p_1178, p_1179):
            def body_1180(p_1181, p_1182, p_1183, p_1184):
                def body_1185(p_1186, p_1187, p_1188):
                    v_1189 = torch.cat([p_1187, p_1187], 0)
                    v_1190 = torch.cat([p_1187, p_1187], 0)
                    def body_1191(p_1192, p_1193, p_1194, p_1195, p_1196):
                        v_1197 = p_1192[None]
                        v_1198 = v_1197.mean()
                        return v_1198
                    r_1199 = torch.vmap(body_1191, in_dims=(None, None, 0, None, -1), out_dims=0, randomness='error')(p_1188, v_1189, v_1189, p_1187, v_1190)
                    v_1200 = v_1190.repeat(2, 1)
                    return (v_1200, v_1190)
                r_1201 = torch.vmap(body_1185, in_dims=(None, None, 0), out_dims=(0, 0), randomness='error')(p_1184, p_1183, p_1183)
                r_1202 = r_1201[0]
                r_1203 = r_1201[1]
                v_1204 = p_1183[..., 1:, None]
                v_1205 = torch.permute(p_1184, (0,))
                v_1206 = p_1183.cumsum(-1)
                return v_1206
            r_1207 = torch.vmap(body_1180, in_dims=(0, None, 1, -1), out_dims=0, randomness='error')(p_1179, p_1178, p_1177, p_1178)
            v_1208 = torch.cat([r_1207, r_1207], -1)
            v_1209 = p_1179.mean()
            return (v_1209, r_1207)
        r_1210 = torch.vmap(body_1176, in_dims=(None, 1, 0), out_dims=(0, 0), randomness='error')(x1, x0, x1)
        r_1211 = r_1210[0]
        r_1212 = r_1210[1]
        def body_1213(p_1214, p_1215, p_1216):
            v_1217 = p_1216[None]
            v_1218 = torch.sub(p_1214, p_1214, alpha=2)
            v_1219 = v_1217.amax(-2)
            return v_1219
        r_1220 = torch.vmap(body_1213, in_dims=(2, None, None), out_dims=0, randomness='error')(x2, x5, x3)
        def body_1221(p_1222, p_1223, p_1224, p_1225):
            v_1226 = p_1222.neg()
            v_1227 = p_1225[..., 1:, None]
            v_1228 = p_1223.reshape(-1)
            return v_1228
        r_1229 = torch.vmap(body_1221, in_dims=(None, -1, None, None), out_dims=-1, randomness='error')(x1, x0, x2, x3)
        def body_1230(p_1231, p_1232, p_1233):
            v_1234 = p_1231.chunk(2, -1)[0]
            v_1235 = p_1232[:, 0]
            v_1236 = v_1234.transpose(-2, 1)
            def body_1237(p_1238):
                def body_1239(p_1240, p_1241):
                    v_1242 = p_1241.repeat(2, 1)
                    v_1243 = p_1241.neg()
                    return v_1243
                r_1244 = torch.vmap(body_1239, in_dims=(-1, None), out_dims=0, randomness='error')(p_1238, p_1238)
                v_1245 = r_1244.cumsum(-1)
                return (v_1245, r_1244)
            r_1246 = torch.vmap(body_1237, in_dims=(1,), out_dims=(0, 0), randomness='error')(p_1231)
            r_1247 = r_1246[0]
            r_1248 = r_1246[1]
            return r_1248
        r_1249 = torch.vmap(body_1230, in_dims=(-3, None, 0), out_dims=0, randomness='error')(x0, x1, x4)
        def body_1250(p_1251, p_1252):
            def body_1253(p_1254, p_1255):
                v_1256 = torch.stack([p_1255, p_1255], dim=1)
                v_1257 = torch.cat([v_1256, v_1256], 1)
                def body_1258(p_1259, p_1260, p_1261):
                    v_1262 = torch.sigmoid(p_1260)
                    v_1263 = torch.clamp(v_1262, -0.5, 0.5)
                    return v_1263
                r_1264 = torch.vmap(body_1258, in_dims=(None, None, -1), out_dims=0, randomness='error')(p_1255, v_1257, v_1257)
                return r_1264
            r_1265 = torch.vmap(body_1253, in_dims=(0, None), out_dims=0, randomness='error')(p_1252, p_1251)
            v_1266 = torch.nn.functional.linear(p_1251, p_1251)
            return v_1266
        r_1267 = torch.vmap(body_1250, in_dims=(1, 1), out_dims=0, randomness='error')(x1, x5)
        def body_1268(p_1269, p_1270, p_1271, p_1272):
            def body_1273(p_1274, p_1275, p_1276):
                v_1277 = p_1276 > p_1276
                v_1278 = p_1275.flip([-2])
                v_1279 = torch.sin(p_1274)
                return v_1279
            r_1280 = torch.vmap(body_1273, in_dims=(-1, 2, 0), out_dims=1, randomness='error')(p_1270, p_1271, p_1272)
            v_1281 = torch.logsumexp(p_1272, 0)
            v_1282 = r_1280.new_full((3,), 0.5)
            return v_1282
        r_1283 = torch.vmap(body_1268, in_dims=(None, None, -1, None), out_dims=0, randomness='error')(x5, x2, x4, x3)
        def body_1284(p_1285):
            def body_1286(p_1287, p_1288):
                def body_1289(p_1290, p_1291):
                    def body_1292(p_1293):
                        v_1294 = torch.movedim(p_1293, -1, 0)
                        v_1295 = torch.roll(p_1293, 1, -1)
                        v_1296 = v_1295.mean()
                        return v_1296
                    r_1297 = torch.vmap(body_1292, in_dims=(0,), out_dims=-1, randomness='error')(p_1291)
                    v_1298 = r_1297.unbind(0)[0]
                    v_1299 = torch.cat([r_1297, r_1297], -1)
                    return v_1299
                r_1300 = torch.vmap(body_1289, in_dims=(0, 1), out_dims=0, randomness='error')(p_1288, p_1287)
                v_1301 = r_1300 > p_1288
                v_1302 = p_1287 + r_1300
                return (v_1302, r_1300)
            r_1303 = torch.vmap(body_1286, in_dims=(None, 0), out_dims=(0, 0), randomness='error')(p_1285, p_1285)
            r_1304 = r_1303[0]
            r_1305 = r_1303[1]
            v_1306 = p_1285.chunk(2, -1)[0]
            return (v_1306, r_1304)
        r_1307 = torch.vmap(body_1284, in_dims=(1,), out_dims=(0, 0), randomness='error')(x4)
        r_1308 = r_1307[0]
        r_1309 = r_1307[1]
        def body_1310(p_1311, p_1312, p_1313):
            v_1314 = p_1313.transpose(-3, -1)
            v_1315 = p_1312.neg()
            return (v_1315, v_1314)
        r_1316 = torch.vmap(body_1310, in_dims=(2, None, None), out_dims=(0, 0), randomness='error')(x0, x5, x0)
        r_1317 = r_1316[0]
        r_1318 = r_1316[1]
        def body_1319(p_1320, p_1321, p_1322, p_1323):
            def body_1324(p_1325, p_1326, p_1327, p_1328):
                v_1329 = p_1327.mT
                def body_1330(p_1331, p_1332, p_1333, p_1334):
                    v_1335 = p_1333.reshape([8, 1])
                    v_1336 = p_1331.repeat(2, 1)
                    def body_1337(p_1338, p_1339):
                        v_1340 = p_1339.unflatten(-1, [1, -1])
                        v_1341 = v_1340[0]
                        return (v_1341, v_1340)
                    r_1342 = torch.vmap(body_1337, in_dims=(None, 1), out_dims=(1, 1), randomness='error')(v_1335, v_1335)
                    r_1343 = r_1342[0]
                    r_1344 = r_1342[1]
                    return r_1344
                r_1345 = torch.vmap(body_1330, in_dims=(-2, 1, None, None), out_dims=0, randomness='error')(p_1325, p_1327, v_1329, p_1328)
                v_1346 = torch.split(p_1328, 1, dim=-2)[-1]
                v_1347 = 2 * v_1329
                return (v_1347, v_1329)
            r_1348 = torch.vmap(body_1324, in_dims=(None, -2, None, None), out_dims=(0, 0), randomness='error')(p_1323, p_1322, p_1320, p_1322)
            r_1349 = r_1348[0]
            r_1350 = r_1348[1]
            v_1351 = p_1322.contiguous()
            v_1352 = p_1323.type_as(p_1323)
            return v_1352
        r_1353 = torch.vmap(body_1319, in_dims=(1, -2, -1, None), out_dims=0, randomness='error')(x0, x1, x2, x5)
        def body_1354(p_1355, p_1356, p_1357):
            v_1358 = torch.norm(p_1356)
            def body_1359(p_1360, p_1361, p_1362):
                v_1363 = p_1361 + p_1360
                def body_1364(p_1365, p_1366):
                    v_1367 = p_1365.new_zeros(())
                    def body_1368(p_1369, p_1370, p_1371):
                        v_1372 = p_1371.le(p_1369)
                        v_1373 = torch.tensor(True)
                        v_1374 = torch.tensor(True)
                        return (v_1374, v_1373)
                    r_1375 = torch.vmap(body_1368, in_dims=(None, 0, None), out_dims=(0, 0), randomness='error')(p_1366, p_1365, v_1367)
                    r_1376 = r_1375[0]
                    r_1377 = r_1375[1]
                    v_1378 = torch.clamp(p_1366, -0.5, 0.5)
                    v_1379 = p_1365 @ p_1365
                    return v_1379
                r_1380 = torch.vmap(body_1364, in_dims=(1, None), out_dims=-1, randomness='error')(p_1360, p_1362)
                v_1381 = p_1360.reshape(-1)
                return v_1381
            r_1382 = torch.vmap(body_1359, in_dims=(1, 0, None), out_dims=1, randomness='error')(p_1357, p_1355, v_1358)
            return (r_1382, p_1355)
        r_1383 = torch.vmap(body_1354, in_dims=(1, 0, -2), out_dims=(0, -2), randomness='error')(x0, x1, x4)
        r_1384 = r_1383[0]
        r_1385 = r_1383[1]
        def body_1386(p_1387, p_1388, p_1389, p_1390):
            v_1391 = torch.sort(p_1388, dim=0)[0]
            def body_1392(p_1393, p_1394, p_1395, p_1396):
                v_1397 = p_1394.new_ones((2,))
                v_1398 = torch.stack([p_1393, p_1393], dim=2)
                v_1399 = torch.roll(p_1393, 1, 1)
                v_1400 = torch.sort(v_1397, dim=0)[0]
                return (v_1400, v_1398)
            r_1401 = torch.vmap(body_1392, in_dims=(None, None, 0, None), out_dims=(0, 0), randomness='error')(p_1388, p_1387, v_1391, v_1391)
            r_1402 = r_1401[0]
            r_1403 = r_1401[1]
            return r_1403
        r_1404 = torch.vmap(body_1386, in_dims=(None, 0, 2, 1), out_dims=0, randomness='error')(x0, x2, x0, x5)
        def body_1405(p_1406, p_1407, p_1408, p_1409, p_1410):
            def body_1411(p_1412):
                v_1413 = p_1412.new_full((3,), 0.5)
                v_1414 = p_1412.neg()
                v_1415 = p_1412.select(1, 0)
                return (v_1415, v_1413)
            r_1416 = torch.vmap(body_1411, in_dims=(-1,), out_dims=(0, 0), randomness='error')(p_1408)
            r_1417 = r_1416[0]
            r_1418 = r_1416[1]
            v_1419 = torch.stack([p_1406, p_1406], dim=0)
            return v_1419
        r_1420 = torch.vmap(body_1405, in_dims=(1, None, 3, 2, None), out_dims=2, randomness='error')(x1, x5, x4, x0, x0)
        def body_1421(p_1422, p_1423, p_1424, p_1425, p_1426, p_1427):
            def body_1428(p_1429, p_1430):
                def body_1431(p_1432):
                    v_1433 = torch.nn.functional.linear(p_1432, p_1432)
                    v_1434 = v_1433.unflatten(1, [1, -1])
                    v_1435 = torch.split(v_1433, 1, dim=-1)[-1]
                    return v_1435
                r_1436 = torch.vmap(body_1431, in_dims=(0,), out_dims=1, randomness='error')(p_1430)
                v_1437 = torch.cat([r_1436, r_1436], -1)
                v_1438 = torch.log_softmax(r_1436, dim=-3)
                return v_1438
            r_1439 = torch.vmap(body_1428, in_dims=(0, None), out_dims=0, randomness='error')(p_1427, p_1422)
            v_1440 = torch.split(p_1423, 1, dim=0)[-1]
            v_1441 = p_1425.contiguous()
            v_1442 = p_1425.narrow(-3, 0, 1)
            return (v_1442, p_1424)
        r_1443 = torch.vmap(body_1421, in_dims=(None, -1, None, None, 1, -3), out_dims=(0, 0), randomness='error')(x2, x1, x3, x0, x5, x2)
        r_1444 = r_1443[0]
        r_1445 = r_1443[1]
        def body_91x(a,b):
            v_91x = torch.einsum('ij,kij->k', a, b)
            return v_91x
        r_91x = torch.vmap(body_91x, in_dims=(0, 0), out_dims=-1, randomness='error')(x0, x4)
        def body_92ox(s, a,b):
            a_s = a * s
            def body_92x(a,b):
                v_92x = torch.einsum('ij,kij->k', a, b)
                return v_92x
            u_92x = torch.vmap(body_92x, in_dims=(0, 0), out_dims=0, randomness='error')(a_s, b)
            return u_92x
        r_92x = torch.vmap(body_92ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x0, x4)
        def body_93x(a,b):
            v_93x = torch.einsum('i,k->ki', a[:, 0], b)
            return v_93x
        r_93x = torch.vmap(body_93x, in_dims=(1, None), out_dims=-1, randomness='error')(x0, x3)
        def body_94ox(s, a,b):
            a_s = a * s
            def body_94x(a,b):
                v_94x = torch.einsum('i,k->ki', a[:, 0], b)
                return v_94x
            u_94x = torch.vmap(body_94x, in_dims=(1, None), out_dims=0, randomness='error')(a_s, b)
            return u_94x
        r_94x = torch.vmap(body_94ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x0, x3)
        def body_95x(a,b):
            v_95x = torch.einsum('...i,i', a, b)
            return v_95x
        r_95x = torch.vmap(body_95x, in_dims=(2, -1), out_dims=-1, randomness='error')(x0, x1)
        def body_96ox(s, a,b):
            a_s = a * s
            def body_96x(a,b):
                v_96x = torch.einsum('...i,i', a, b)
                return v_96x
            u_96x = torch.vmap(body_96x, in_dims=(2, -1), out_dims=0, randomness='error')(a_s, b)
            return u_96x
        r_96x = torch.vmap(body_96ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x0, x1)
        def body_97x(a,b):
            v_97x = torch.einsum('i,i->i', a, b)
            return v_97x
        r_97x = torch.vmap(body_97x, in_dims=(0, 1), out_dims=-1, randomness='error')(x5, x5)
        def body_98ox(s, a,b):
            a_s = a * s
            def body_98x(a,b):
                v_98x = torch.einsum('i,i->i', a, b)
                return v_98x
            u_98x = torch.vmap(body_98x, in_dims=(0, 1), out_dims=0, randomness='error')(a_s, b)
            return u_98x
        r_98x = torch.vmap(body_98ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x5, x5)
        def body_99x(a,b):
            v_99x = torch.nn.functional.conv1d(a, b, padding=1)
            return v_99x
        r_99x = torch.vmap(body_99x, in_dims=(0, None), out_dims=-1, randomness='error')(x4, x0)
        def body_910ox(s, a,b):
            a_s = a * s
            def body_910x(a,b):
                v_910x = torch.nn.functional.conv1d(a, b, padding=1)
                return v_910x
            u_910x = torch.vmap(body_910x, in_dims=(0, None), out_dims=0, randomness='error')(a_s, b)
            return u_910x
        r_910x = torch.vmap(body_910ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x4, x0)
        def body_911x(a,b):
            v_911x = torch.nn.functional.conv1d(a, b)
            return v_911x
        r_911x = torch.vmap(body_911x, in_dims=(None, 1), out_dims=-1, randomness='error')(x0, x4)
        def body_912ox(s, a,b):
            b_s = b * s
            def body_912x(a,b):
                v_912x = torch.nn.functional.conv1d(a, b)
                return v_912x
            u_912x = torch.vmap(body_912x, in_dims=(None, 1), out_dims=0, randomness='error')(a, b_s)
            return u_912x
        r_912x = torch.vmap(body_912ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x0, x4)
        def body_915x(a,b,c):
            v_915x = torch.nn.functional.conv1d(a, b, c[:2], padding='same')
            return v_915x
        r_915x = torch.vmap(body_915x, in_dims=(None, None, 0), out_dims=-1, randomness='error')(x0, x0, x1)
        def body_916ox(s, a,b,c):
            c_s = c * s
            def body_916x(a,b,c):
                v_916x = torch.nn.functional.conv1d(a, b, c[:2], padding='same')
                return v_916x
            u_916x = torch.vmap(body_916x, in_dims=(None, None, 0), out_dims=0, randomness='error')(a, b, c_s)
            return u_916x
        r_916x = torch.vmap(body_916ox, in_dims=(0, None, None, None), out_dims=1, randomness='error')(x3, x0, x0, x1)
        def body_917x(a,b):
            v_917x = torch.nn.functional.conv1d(a.reshape(1, 6, 4), b.reshape(6, 1, 4)[:, :, :2], groups=6)
            return v_917x
        r_917x = torch.vmap(body_917x, in_dims=(1, 0), out_dims=-1, randomness='error')(x4, x4)
        def body_918ox(s, a,b):
            a_s = a * s
            def body_918x(a,b):
                v_918x = torch.nn.functional.conv1d(a.reshape(1, 6, 4), b.reshape(6, 1, 4)[:, :, :2], groups=6)
                return v_918x
            u_918x = torch.vmap(body_918x, in_dims=(1, 0), out_dims=0, randomness='error')(a_s, b)
            return u_918x
        r_918x = torch.vmap(body_918ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x4, x4)
        def body_919x(a,b):
            v_919x = torch.nn.functional.conv_transpose1d(a, b.transpose(0, 1), padding=1)
            return v_919x
        r_919x = torch.vmap(body_919x, in_dims=(0, None), out_dims=-1, randomness='error')(x4, x0)
        def body_920ox(s, a,b):
            a_s = a * s
            def body_920x(a,b):
                v_920x = torch.nn.functional.conv_transpose1d(a, b.transpose(0, 1), padding=1)
                return v_920x
            u_920x = torch.vmap(body_920x, in_dims=(0, None), out_dims=0, randomness='error')(a_s, b)
            return u_920x
        r_920x = torch.vmap(body_920ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x4, x0)
        def body_921x(a,b):
            v_921x = torch.nn.functional.conv_transpose1d(a, b.reshape(3, 1, 4))
            return v_921x
        r_921x = torch.vmap(body_921x, in_dims=(0, 0), out_dims=-1, randomness='error')(x4, x0)
        def body_922ox(s, a,b):
            a_s = a * s
            def body_922x(a,b):
                v_922x = torch.nn.functional.conv_transpose1d(a, b.reshape(3, 1, 4))
                return v_922x
            u_922x = torch.vmap(body_922x, in_dims=(0, 0), out_dims=0, randomness='error')(a_s, b)
            return u_922x
        r_922x = torch.vmap(body_922ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x4, x0)
        def body_923x(a,b):
            v_923x = torch.nn.functional.conv2d(a, b.reshape(2, 2, 3, 2), stride=1, padding=1)
            return v_923x
        r_923x = torch.vmap(body_923x, in_dims=(0, 1), out_dims=-1, randomness='error')(x4, x4)
        def body_924ox(s, a,b):
            a_s = a * s
            def body_924x(a,b):
                v_924x = torch.nn.functional.conv2d(a, b.reshape(2, 2, 3, 2), stride=1, padding=1)
                return v_924x
            u_924x = torch.vmap(body_924x, in_dims=(0, 1), out_dims=0, randomness='error')(a_s, b)
            return u_924x
        r_924x = torch.vmap(body_924ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x4, x4)
        def body_925x(a):
            v_925x = torch.nn.functional.max_pool2d(a, 2)
            return v_925x
        r_925x = torch.vmap(body_925x, in_dims=(0,), out_dims=-1, randomness='error')(x4)
        def body_926ox(s, a):
            a_s = a * s
            def body_926x(a):
                v_926x = torch.nn.functional.max_pool2d(a, 2)
                return v_926x
            u_926x = torch.vmap(body_926x, in_dims=(0,), out_dims=0, randomness='error')(a_s)
            return u_926x
        r_926x = torch.vmap(body_926ox, in_dims=(0, None), out_dims=1, randomness='error')(x3, x4)
        def body_927x(a):
            v_927x = torch.nn.functional.avg_pool1d(a[0], 2)
            return v_927x
        r_927x = torch.vmap(body_927x, in_dims=(2,), out_dims=-1, randomness='error')(x4)
        def body_928ox(s, a):
            a_s = a * s
            def body_928x(a):
                v_928x = torch.nn.functional.avg_pool1d(a[0], 2)
                return v_928x
            u_928x = torch.vmap(body_928x, in_dims=(2,), out_dims=0, randomness='error')(a_s)
            return u_928x
        r_928x = torch.vmap(body_928ox, in_dims=(0, None), out_dims=1, randomness='error')(x3, x4)
        def body_929x(a):
            v_929x = torch.nn.functional.group_norm(a, 3)
            return v_929x
        r_929x = torch.vmap(body_929x, in_dims=(0,), out_dims=-1, randomness='error')(x4)
        def body_930ox(s, a):
            a_s = a * s
            def body_930x(a):
                v_930x = torch.nn.functional.group_norm(a, 3)
                return v_930x
            u_930x = torch.vmap(body_930x, in_dims=(0,), out_dims=0, randomness='error')(a_s)
            return u_930x
        r_930x = torch.vmap(body_930ox, in_dims=(0, None), out_dims=1, randomness='error')(x3, x4)
        def body_931x(a):
            v_931x = torch.nn.functional.adaptive_avg_pool2d(a, (1, 2))
            return v_931x
        r_931x = torch.vmap(body_931x, in_dims=(0,), out_dims=-1, randomness='error')(x4)
        def body_932ox(s, a):
            a_s = a * s
            def body_932x(a):
                v_932x = torch.nn.functional.adaptive_avg_pool2d(a, (1, 2))
                return v_932x
            u_932x = torch.vmap(body_932x, in_dims=(0,), out_dims=0, randomness='error')(a_s)
            return u_932x
        r_932x = torch.vmap(body_932ox, in_dims=(0, None), out_dims=1, randomness='error')(x3, x4)
        def body_933x(a,b):
            w = a.clone()
            w[0] = 0.5
            w[:, 1:3] = b[:, :2]
            v_933x = w
            return v_933x
        r_933x = torch.vmap(body_933x, in_dims=(0, None), out_dims=-1, randomness='error')(x0, x1)
        def body_934ox(s, a,b):
            a_s = a * s
            def body_934x(a,b):
                w = a.clone()
                w[0] = 0.5
                w[:, 1:3] = b[:, :2]
                v_934x = w
                return v_934x
            u_934x = torch.vmap(body_934x, in_dims=(0, None), out_dims=0, randomness='error')(a_s, b)
            return u_934x
        r_934x = torch.vmap(body_934ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x0, x1)
        def body_935x(a,b):
            w = b.clone()
            w[..., 0] = a[:, 1]
            w[None, 1] = a
            v_935x = w
            return v_935x
        r_935x = torch.vmap(body_935x, in_dims=(0, 1), out_dims=-1, randomness='error')(x0, x4)
        def body_937x(a,b):
            i = b.mul(10).to(torch.int64).abs() % 2
            w = a.clone()
            w[i] = 2.0
            v_937x = w
            return v_937x
        r_937x = torch.vmap(body_937x, in_dims=(1, None), out_dims=-1, randomness='error')(x0, x3)
        def body_938ox(s, a,b):
            a_s = a * s
            def body_938x(a,b):
                i = b.mul(10).to(torch.int64).abs() % 2
                w = a.clone()
                w[i] = 2.0
                v_938x = w
                return v_938x
            u_938x = torch.vmap(body_938x, in_dims=(1, None), out_dims=0, randomness='error')(a_s, b)
            return u_938x
        r_938x = torch.vmap(body_938ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x0, x3)
        def body_941x(a,b):
            i = b[0].mul(10).to(torch.int64).abs() % 3
            j = b.mul(7).to(torch.int64).abs() % 3
            w = a.clone()
            w[i, j] = w[i, j] + b
            v_941x = w
            return v_941x
        r_941x = torch.vmap(body_941x, in_dims=(0, None), out_dims=-1, randomness='error')(x0, x5)
        def body_942ox(s, a,b):
            a_s = a * s
            def body_942x(a,b):
                i = b[0].mul(10).to(torch.int64).abs() % 3
                j = b.mul(7).to(torch.int64).abs() % 3
                w = a.clone()
                w[i, j] = w[i, j] + b
                v_942x = w
                return v_942x
            u_942x = torch.vmap(body_942x, in_dims=(0, None), out_dims=0, randomness='error')(a_s, b)
            return u_942x
        r_942x = torch.vmap(body_942ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x0, x5)
        def body_943x(a,b):
            i = b.mul(10).to(torch.int64).abs() % 2
            j = i
            v_943x = torch.index_put(a, (i, j), a[i, j], accumulate=True)
            return v_943x
        r_943x = torch.vmap(body_943x, in_dims=(1, 0), out_dims=-1, randomness='error')(x0, x1)
        def body_944ox(s, a,b):
            a_s = a * s
            def body_944x(a,b):
                i = b.mul(10).to(torch.int64).abs() % 2
                j = i
                v_944x = torch.index_put(a, (i, j), a[i, j], accumulate=True)
                return v_944x
            u_944x = torch.vmap(body_944x, in_dims=(1, 0), out_dims=0, randomness='error')(a_s, b)
            return u_944x
        r_944x = torch.vmap(body_944ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x0, x1)
        def body_945x(a,b):
            i = b[:, 0].mul(10).to(torch.int64).abs() % 2
            v_945x = torch.ops.aten.index_put(a, [i, None, i], a[i, :, i].neg())
            return v_945x
        r_945x = torch.vmap(body_945x, in_dims=(0, 1), out_dims=-1, randomness='error')(x4, x2)
        def body_946ox(s, a,b):
            a_s = a * s
            def body_946x(a,b):
                i = b[:, 0].mul(10).to(torch.int64).abs() % 2
                v_946x = torch.ops.aten.index_put(a, [i, None, i], a[i, :, i].neg())
                return v_946x
            u_946x = torch.vmap(body_946x, in_dims=(0, 1), out_dims=0, randomness='error')(a_s, b)
            return u_946x
        r_946x = torch.vmap(body_946ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x4, x2)
        def body_947x(a,b):
            i = b[:, 0].mul(10).to(torch.int64).abs() % 3
            v_947x = torch.ops.aten.index_put(a, [None, i], a[:, i].neg())
            return v_947x
        r_947x = torch.vmap(body_947x, in_dims=(0, 1), out_dims=-1, randomness='error')(x4, x2)
        def body_948ox(s, a,b):
            a_s = a * s
            def body_948x(a,b):
                i = b[:, 0].mul(10).to(torch.int64).abs() % 3
                v_948x = torch.ops.aten.index_put(a, [None, i], a[:, i].neg())
                return v_948x
            u_948x = torch.vmap(body_948x, in_dims=(0, 1), out_dims=0, randomness='error')(a_s, b)
            return u_948x
        r_948x = torch.vmap(body_948ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x4, x2)
        def body_949x(a,b):
            i = b.mul(10).to(torch.int64).abs() % 3
            v_949x = torch.ops.aten.index_put(a, [None, i], b[0])
            return v_949x
        r_949x = torch.vmap(body_949x, in_dims=(0, None), out_dims=-1, randomness='error')(x4, x3)
        def body_950ox(s, a,b):
            a_s = a * s
            def body_950x(a,b):
                i = b.mul(10).to(torch.int64).abs() % 3
                v_950x = torch.ops.aten.index_put(a, [None, i], b[0])
                return v_950x
            u_950x = torch.vmap(body_950x, in_dims=(0, None), out_dims=0, randomness='error')(a_s, b)
            return u_950x
        r_950x = torch.vmap(body_950ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x4, x3)
        def body_951x(a,b):
            i = b[:, 0].mul(10).to(torch.int64).abs() % 2
            v_951x = torch.index_put(a, (i,), b.sum())
            return v_951x
        r_951x = torch.vmap(body_951x, in_dims=(None, 1), out_dims=-1, randomness='error')(x4, x2)
        def body_952ox(s, a,b):
            b_s = b * s
            def body_952x(a,b):
                i = b[:, 0].mul(10).to(torch.int64).abs() % 2
                v_952x = torch.index_put(a, (i,), b.sum())
                return v_952x
            u_952x = torch.vmap(body_952x, in_dims=(None, 1), out_dims=0, randomness='error')(a, b_s)
            return u_952x
        r_952x = torch.vmap(body_952ox, in_dims=(0, None, None), out_dims=1, randomness='error')(x3, x4, x2)
        def body_953x(a):
            v_953x = a.sum(0, keepdim=True).squeeze()
            return v_953x
        r_953x = torch.vmap(body_953x, in_dims=(0,), out_dims=-1, randomness='error')(x0)
        def body_954ox(s, a):
            a_s = a * s
            def body_954x(a):
                v_954x = a.sum(0, keepdim=True).squeeze()
                return v_954x
            u_954x = torch.vmap(body_954x, in_dims=(0,), out_dims=0, randomness='error')(a_s)
            return u_954x
        r_954x = torch.vmap(body_954ox, in_dims=(0, None), out_dims=1, randomness='error')(x3, x0)
        def body_955x(a):
            v_955x = a.unsqueeze(1).squeeze(1).squeeze(0)
            return v_955x
        r_955x = torch.vmap(body_955x, in_dims=(0,), out_dims=-1, randomness='error')(x0)
        def body_956ox(s, a):
            a_s = a * s
            def body_956x(a):
                v_956x = a.unsqueeze(1).squeeze(1).squeeze(0)
                return v_956x
            u_956x = torch.vmap(body_956x, in_dims=(0,), out_dims=0, randomness='error')(a_s)
            return u_956x
        r_956x = torch.vmap(body_956ox, in_dims=(0, None), out_dims=1, randomness='error')(x3, x0)
        return (r_19, r_20, r_33, r_34, r_65, r_87, r_88, r_113, r_114, r_144, r_145, r_154, r_155, r_182, r_213, r_234, r_235, r_267, r_299, r_329, r_330, r_345, r_354, r_355, r_381, r_382, r_419, r_420, r_421, r_431, r_456, r_457, r_493, r_494, r_511, r_512, r_524, r_525, r_537, r_538, r_548, r_549, r_580, r_594, r_595, r_604, r_605, r_631, r_669, r_670, r_696, r_720, r_728, r_758, r_759, r_792, r_827, r_828, r_857, r_858, r_877, r_878, r_909, r_910, r_940, r_941, r_973, r_974, r_1007, r_1008, r_1044, r_1073, r_1074, r_1075, r_1095, r_1096, r_1134, r_1135, r_1163, r_1174, r_1175, r_1211, r_1212, r_1220, r_1229, r_1249, r_1267, r_1283, r_1308, r_1309, r_1317, r_1318, r_1353, r_1384, r_1385, r_1404, r_1420, r_1444, r_1445, r_91x, r_92x, r_93x, r_94x, r_95x, r_96x, r_97x, r_98x, r_99x, r_910x, r_911x, r_912x, r_915x, r_916x, r_917x, r_918x, r_919x, r_920x, r_921x, r_922x, r_923x, r_924x, r_925x, r_926x, r_927x, r_928x, r_929x, r_930x, r_931x, r_932x, r_933x, r_934x, r_935x, r_937x, r_938x, r_941x, r_942x, r_943x, r_944x, r_945x, r_946x, r_947x, r_948x, r_949x, r_950x, r_951x, r_952x, r_953x, r_954x, r_955x, r_956x,)
