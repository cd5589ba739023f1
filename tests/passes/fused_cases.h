// A case for every rule of graphnet/ops/fused.txt: a call of the operator that the rule says what
// it is made of, and a program, written as PyTorch's are, in which `fuse` finds it by the rule.
#ifndef GRAPHNET_TESTS_PASSES_FUSED_CASES_H_
#define GRAPHNET_TESTS_PASSES_FUSED_CASES_H_

namespace graphnet {

struct FusedCase {
  const char* rule;
  const char* inputs;
  const char* call;         // of %y
  const char* program;      // that yields %y; empty: one call, which fuse leaves
  const char* bodies = "";  // of it
};

inline constexpr const char* kLayerInputs =
    "%x : f32[2, 3, 8], %ls : f32[8], %lb : f32[8], %qw : f32[24, 8], %qb : f32[24], "
    "%ow : f32[8, 8], %fs : f32[8], %w1 : f32[16, 8], %b1 : f32[16], %w2 : f32[8, 16], %b2 : "
    "f32[8]";

inline constexpr const char* kGruProgram = R"(  %p = torch._C._nn.linear(%x, %wx, %b)
  %t = .transpose(%p, 0, 1)
  %s = torch.ops.higher_order.scan(@body, [%h], [%t], [%wh])
  %o = operator.getitem(%s, 1)
  %y = .transpose(%o, 0, 1)
)";
inline constexpr const char* kGruRowsProgram = R"(  %p = torch._C._nn.linear(%x, %wx, %b)
  %c0 = .select(%x, 1, 0)
  %ones = torch.ones_like(%c0, dtype=torch.int64)
  %place = .cumsum(%ones, 0)
  %which = torch.searchsorted(%offsets, %place)
  %i = operator.sub(%which, 1)
  %begin = torch.index_select(%offsets, 0, %i)
  %behind = operator.sub(%place, %begin)
  %first = operator.eq(%behind, 1)
  %hs = torch.index_select(%h, 0, %i)
  %h0 = .select(%h, 0, 0)
  %s = torch.ops.higher_order.scan(@body, [%h0], [%p, %first, %hs], [%wh])
  %y = operator.getitem(%s, 1)
)";
#define GRAPHNET_GRU_STEP "graph @body(%h, %x, %w) {\n" GRAPHNET_GRU_GATES
#define GRAPHNET_GRU_ROWS_STEP                       \
  "graph @body(%before, %x, %first, %start, %w) {\n" \
  "  %h = torch.where(%first, %start, %before)\n" GRAPHNET_GRU_GATES
// The part of a step up to the new state, without the two values of which the state is a mean.
#define GRAPHNET_GRU_GATES               \
  "  %p = .chunk(%x, 3, -1)\n"           \
  "  %a = operator.getitem(%p, 0)\n"     \
  "  %b = operator.getitem(%p, 1)\n"     \
  "  %c = operator.getitem(%p, 2)\n"     \
  "  %q = torch.chunk(%w, 3)\n"          \
  "  %d = operator.getitem(%q, 0)\n"     \
  "  %e = operator.getitem(%q, 1)\n"     \
  "  %f = operator.getitem(%q, 2)\n"     \
  "  %g = torch._C._nn.linear(%h, %d)\n" \
  "  %i = operator.add(%a, %g)\n"        \
  "  %update = torch.sigmoid(%i)\n"      \
  "  %k = torch._C._nn.linear(%h, %e)\n" \
  "  %l = operator.add(%b, %k)\n"        \
  "  %reset = .sigmoid(%l)\n"            \
  "  %m = operator.mul(%reset, %h)\n"    \
  "  %n = torch._C._nn.linear(%m, %f)\n" \
  "  %r = operator.add(%c, %n)\n"        \
  "  %candidate = torch.tanh(%r)\n"      \
  "  %keep = operator.sub(1, %update)\n"
#define GRAPHNET_GRU_END            \
  "  %new = operator.add(%s, %t)\n" \
  "  %state = .clone(%new)\n"       \
  "  return (%new, %state)\n}\n"

inline constexpr const char* kInt8Inputs =
    "%x : f32[2, 3, 8], %ls : f32[8], %qw : i8[24, 8], %qb : f32[24], %qs : f32[24], "
    "%ow : i8[8, 8], %ob : f32[8], %os : f32[8], %v1 : i8[16, 8], %b1 : f32[16], %s1 : f32[16], "
    "%v2 : i8[8, 16]";
inline constexpr const char* kInt8CachedInputs =
    "%x : f32[2, 3, 8], %ls : f32[8], %qw : i8[24, 8], %qb : f32[24], %qs : f32[24], "
    "%ow : i8[8, 8], %ob : f32[8], %os : f32[8], %v1 : i8[16, 8], %b1 : f32[16], %s1 : f32[16], "
    "%v2 : i8[8, 16], %cache : f32[2, 2, 2, 7, 4]";

inline constexpr FusedCase kFusedCases[] = {
    {"fused_multi_transformer.layer", kLayerInputs,
     "fused.fused_multi_transformer(%x, [8], [2, 3, 3, 2, 4], [2, 3, 8], [%ls], [%lb], [%qw], "
     "[%qb], [%ow], [None], [%fs], [None], [%w1], [%b1], [%w2], [%b2], epsilon=1e-06)",
     R"(  %n = torch.nn.functional.layer_norm(%x, (8,), %ls, %lb, 1e-06)
  %qkv = torch._C._nn.linear(%n, %qw, %qb)
  %r = .reshape(%qkv, 2, 3, 3, 2, 4)
  %p = .permute(%r, 2, 0, 3, 1, 4)
  %u = .unbind(%p, 0)
  %q = operator.getitem(%u, 0)
  %k = operator.getitem(%u, 1)
  %v = operator.getitem(%u, 2)
  %a = torch._C._nn.scaled_dot_product_attention(%q, %k, %v, attn_mask=None, dropout_p=0.0)
  %t = .transpose(%a, 1, 2)
  %m = .reshape(%t, 2, 3, 8)
  %o = torch._C._nn.linear(%m, %ow, None)
  %d = torch.nn.functional.dropout(%o, 0.0, False, False)
  %s = operator.add(%x, %d)
  %n2 = torch.nn.functional.layer_norm(%s, (8,), %fs, None, 1e-06)
  %h = torch._C._nn.linear(%n2, %w1, %b1)
  %g = torch._C._nn.gelu(%h, approximate="none")
  %g2 = torch.nn.functional.dropout(%g, 0.0, False, False)
  %f = torch._C._nn.linear(%g2, %w2, %b2)
  %y = operator.add(%f, %s)
)"},
    {"fused_multi_transformer.layers", kLayerInputs,
     "fused.fused_multi_transformer(%x, [8], [2, 3, 3, 2, 4], [2, 3, 8], [%ls, None, %ls], "
     "[%lb, None, None], [%qw, %qw, %qw], [%qb, None, %qb], [%ow, %ow, %ow], [None, %lb, None], "
     "[%fs, None, %fs], [None, %lb, None], [%w1, %w1, %w1], [%b1, None, %b1], [%w2, %w2, %w2], "
     "[%b2, %b2, None], approximate=\"tanh\")",
     R"(  %n = torch.nn.functional.layer_norm(%x, (8,), %ls, %lb)
  %qkv = torch._C._nn.linear(%n, %qw, %qb)
  %r = .view(%qkv, 2, 3, 3, 2, 4)
  %p = .permute(%r, 2, 0, 3, 1, 4)
  %u = torch.unbind(%p)
  %q = operator.getitem(%u, 0)
  %k = operator.getitem(%u, 1)
  %v = operator.getitem(%u, 2)
  %a = torch._C._nn.scaled_dot_product_attention(%q, %k, %v)
  %t = .transpose(%a, 1, 2)
  %m = .reshape(%t, (2, 3, 8))
  %o = torch._C._nn.linear(%m, %ow, None)
  %s = operator.add(%x, %o)
  %n2 = torch.nn.functional.layer_norm(%s, (8,), %fs, None)
  %h = torch._C._nn.linear(%n2, %w1, %b1)
  %g = torch._C._nn.gelu(%h, approximate="tanh")
  %f = torch._C._nn.linear(%g, %w2, %b2)
  %l0 = operator.add(%s, %f)
  %n_1 = torch.nn.functional.layer_norm(%l0, (8,))
  %qkv_1 = torch._C._nn.linear(%n_1, %qw)
  %r_1 = .view(%qkv_1, 2, 3, 3, 2, 4)
  %p_1 = .permute(%r_1, 2, 0, 3, 1, 4)
  %u_1 = torch.unbind(%p_1)
  %q_1 = operator.getitem(%u_1, 0)
  %k_1 = operator.getitem(%u_1, 1)
  %v_1 = operator.getitem(%u_1, 2)
  %a_1 = torch._C._nn.scaled_dot_product_attention(%q_1, %k_1, %v_1)
  %t_1 = .transpose(%a_1, 1, 2)
  %m_1 = .reshape(%t_1, (2, 3, 8))
  %o_1 = torch._C._nn.linear(%m_1, %ow, %lb)
  %s_1 = operator.add(%l0, %o_1)
  %n2_1 = torch.nn.functional.layer_norm(%s_1, (8,), None, %lb)
  %h_1 = torch._C._nn.linear(%n2_1, %w1)
  %g_1 = torch._C._nn.gelu(%h_1, approximate="tanh")
  %f_1 = torch._C._nn.linear(%g_1, %w2, %b2)
  %l1 = operator.iadd(%f_1, %s_1)
  %n_2 = torch.nn.functional.layer_norm(%l1, (8,), %ls)
  %qkv_2 = torch._C._nn.linear(%n_2, %qw, %qb)
  %r_2 = .view(%qkv_2, 2, 3, 3, 2, 4)
  %p_2 = .permute(%r_2, 2, 0, 3, 1, 4)
  %u_2 = torch.unbind(%p_2)
  %q_2 = operator.getitem(%u_2, 0)
  %k_2 = operator.getitem(%u_2, 1)
  %v_2 = operator.getitem(%u_2, 2)
  %a_2 = torch._C._nn.scaled_dot_product_attention(%q_2, %k_2, %v_2)
  %t_2 = .transpose(%a_2, 1, 2)
  %m_2 = .reshape(%t_2, (2, 3, 8))
  %o_2 = torch._C._nn.linear(%m_2, %ow)
  %s_2 = operator.add(%l1, %o_2)
  %n2_2 = torch.nn.functional.layer_norm(%s_2, (8,), %fs)
  %h_2 = torch._C._nn.linear(%n2_2, %w1, %b1)
  %g_2 = torch._C._nn.gelu(%h_2, approximate="tanh")
  %f_2 = torch._C._nn.linear(%g_2, %w2)
  %y = operator.add(%s_2, %f_2)
)"},
    {"fused_multi_transformer_int8.layer", kInt8Inputs,
     "fused.fused_multi_transformer_int8(%x, [8], [2, 3, 3, 2, 4], [2, 3, 8], [%ls], [None], "
     "[%qw], [%qb], [%qs], [%ow], [%ob], [%os], [None], [None], [%v1], [%b1], [%s1], [%v2], "
     "[%ob], [%os], [0.25], [0.5], [0.25], [0.125])",
     R"(  %n = torch.nn.functional.layer_norm(%x, (8,), %ls)
  %q_a = operator.mul(%n, 0.25)
  %q_b = .mul(%q_a, 127.0)
  %q_c = torch.round(%q_b)
  %q_d = torch.clamp(%q_c, -127.0, 127.0)
  %q_e = .to(%q_d, torch.float64)
  %q_f = .to(%qw, torch.float64)
  %q_g = torch._C._nn.linear(%q_e, %q_f)
  %q_h = .to(%q_g, torch.float32)
  %q_i = operator.mul(%q_h, %qs)
  %q_j = operator.add(%q_i, %qb)
  %r = .view(%q_j, 2, 3, 3, 2, 4)
  %p = .permute(%r, 2, 0, 3, 1, 4)
  %u = .unbind(%p, 0)
  %query = operator.getitem(%u, 0)
  %key = operator.getitem(%u, 1)
  %value = operator.getitem(%u, 2)
  %a = torch._C._nn.scaled_dot_product_attention(%query, %key, %value)
  %t = .transpose(%a, 1, 2)
  %m = .reshape(%t, (2, 3, 8))
  %o_a = operator.mul(%m, 0.5)
  %o_b = .mul(%o_a, 127.0)
  %o_c = torch.round(%o_b)
  %o_d = torch.clamp(%o_c, -127.0, 127.0)
  %o_e = .to(%o_d, torch.float64)
  %o_f = .to(%ow, torch.float64)
  %o_g = torch._C._nn.linear(%o_e, %o_f)
  %o_h = .to(%o_g, torch.float32)
  %o_i = operator.mul(%o_h, %os)
  %o_j = operator.add(%o_i, %ob)
  %s_0 = operator.add(%x, %o_j)
  %k = torch.nn.functional.layer_norm(%s_0, (8,))
  %f_a = operator.mul(%k, 0.25)
  %f_b = .mul(%f_a, 127.0)
  %f_c = torch.round(%f_b)
  %f_d = torch.clamp(%f_c, -127.0, 127.0)
  %f_e = .to(%f_d, torch.float64)
  %f_f = .to(%v1, torch.float64)
  %f_g = torch._C._nn.linear(%f_e, %f_f)
  %f_h = .to(%f_g, torch.float32)
  %f_i = operator.mul(%f_h, %s1)
  %f_j = operator.add(%f_i, %b1)
  %g = torch._C._nn.gelu(%f_j)
  %e_a = operator.mul(%g, 0.125)
  %e_b = .mul(%e_a, 127.0)
  %e_c = torch.round(%e_b)
  %e_d = torch.clamp(%e_c, -127.0, 127.0)
  %e_e = .to(%e_d, torch.float64)
  %e_f = .to(%v2, torch.float64)
  %e_g = torch._C._nn.linear(%e_e, %e_f)
  %e_h = .to(%e_g, torch.float32)
  %e_i = operator.mul(%e_h, %os)
  %e_j = operator.add(%e_i, %ob)
  %y = operator.add(%s_0, %e_j)
)"},
    {"fused_multi_transformer_int8.layers", kInt8Inputs,
     "fused.fused_multi_transformer_int8(%x, [8], [2, 3, 3, 2, 4], [2, 3, 8], [%ls, %ls], "
     "[None, None], [%qw, %qw], [%qb, %qb], [%qs, %qs], [%ow, %ow], [%ob, %ob], [%os, %os], "
     "[None, None], [None, None], [%v1, %v1], [%b1, %b1], [%s1, %s1], [%v2, %v2], [%ob, %ob], "
     "[%os, %os], [0.25, 0.25], [0.5, 0.5], [0.25, 0.25], [0.125, 0.125])",
     R"(  %nx = torch.nn.functional.layer_norm(%x, (8,), %ls)
  %qx_a = operator.mul(%nx, 0.25)
  %qx_b = .mul(%qx_a, 127.0)
  %qx_c = torch.round(%qx_b)
  %qx_d = torch.clamp(%qx_c, -127.0, 127.0)
  %qx_e = .to(%qx_d, torch.float64)
  %qx_f = .to(%qw, torch.float64)
  %qx_g = torch._C._nn.linear(%qx_e, %qx_f)
  %qx_h = .to(%qx_g, torch.float32)
  %qx_i = operator.mul(%qx_h, %qs)
  %qx_j = operator.add(%qx_i, %qb)
  %rx = .view(%qx_j, 2, 3, 3, 2, 4)
  %px = .permute(%rx, 2, 0, 3, 1, 4)
  %ux = .unbind(%px, 0)
  %queryx = operator.getitem(%ux, 0)
  %keyx = operator.getitem(%ux, 1)
  %valuex = operator.getitem(%ux, 2)
  %ax = torch._C._nn.scaled_dot_product_attention(%queryx, %keyx, %valuex)
  %tx = .transpose(%ax, 1, 2)
  %mx = .reshape(%tx, (2, 3, 8))
  %ox_a = operator.mul(%mx, 0.5)
  %ox_b = .mul(%ox_a, 127.0)
  %ox_c = torch.round(%ox_b)
  %ox_d = torch.clamp(%ox_c, -127.0, 127.0)
  %ox_e = .to(%ox_d, torch.float64)
  %ox_f = .to(%ow, torch.float64)
  %ox_g = torch._C._nn.linear(%ox_e, %ox_f)
  %ox_h = .to(%ox_g, torch.float32)
  %ox_i = operator.mul(%ox_h, %os)
  %ox_j = operator.add(%ox_i, %ob)
  %sx_0 = operator.add(%x, %ox_j)
  %kx = torch.nn.functional.layer_norm(%sx_0, (8,))
  %fx_a = operator.mul(%kx, 0.25)
  %fx_b = .mul(%fx_a, 127.0)
  %fx_c = torch.round(%fx_b)
  %fx_d = torch.clamp(%fx_c, -127.0, 127.0)
  %fx_e = .to(%fx_d, torch.float64)
  %fx_f = .to(%v1, torch.float64)
  %fx_g = torch._C._nn.linear(%fx_e, %fx_f)
  %fx_h = .to(%fx_g, torch.float32)
  %fx_i = operator.mul(%fx_h, %s1)
  %fx_j = operator.add(%fx_i, %b1)
  %gx = torch._C._nn.gelu(%fx_j)
  %ex_a = operator.mul(%gx, 0.125)
  %ex_b = .mul(%ex_a, 127.0)
  %ex_c = torch.round(%ex_b)
  %ex_d = torch.clamp(%ex_c, -127.0, 127.0)
  %ex_e = .to(%ex_d, torch.float64)
  %ex_f = .to(%v2, torch.float64)
  %ex_g = torch._C._nn.linear(%ex_e, %ex_f)
  %ex_h = .to(%ex_g, torch.float32)
  %ex_i = operator.mul(%ex_h, %os)
  %ex_j = operator.add(%ex_i, %ob)
  %y0 = operator.add(%sx_0, %ex_j)
  %nz = torch.nn.functional.layer_norm(%y0, (8,), %ls)
  %qz_a = operator.mul(%nz, 0.25)
  %qz_b = .mul(%qz_a, 127.0)
  %qz_c = torch.round(%qz_b)
  %qz_d = torch.clamp(%qz_c, -127.0, 127.0)
  %qz_e = .to(%qz_d, torch.float64)
  %qz_f = .to(%qw, torch.float64)
  %qz_g = torch._C._nn.linear(%qz_e, %qz_f)
  %qz_h = .to(%qz_g, torch.float32)
  %qz_i = operator.mul(%qz_h, %qs)
  %qz_j = operator.add(%qz_i, %qb)
  %rz = .view(%qz_j, 2, 3, 3, 2, 4)
  %pz = .permute(%rz, 2, 0, 3, 1, 4)
  %uz = .unbind(%pz, 0)
  %queryz = operator.getitem(%uz, 0)
  %keyz = operator.getitem(%uz, 1)
  %valuez = operator.getitem(%uz, 2)
  %az = torch._C._nn.scaled_dot_product_attention(%queryz, %keyz, %valuez)
  %tz = .transpose(%az, 1, 2)
  %mz = .reshape(%tz, (2, 3, 8))
  %oz_a = operator.mul(%mz, 0.5)
  %oz_b = .mul(%oz_a, 127.0)
  %oz_c = torch.round(%oz_b)
  %oz_d = torch.clamp(%oz_c, -127.0, 127.0)
  %oz_e = .to(%oz_d, torch.float64)
  %oz_f = .to(%ow, torch.float64)
  %oz_g = torch._C._nn.linear(%oz_e, %oz_f)
  %oz_h = .to(%oz_g, torch.float32)
  %oz_i = operator.mul(%oz_h, %os)
  %oz_j = operator.add(%oz_i, %ob)
  %sz_0 = operator.add(%y0, %oz_j)
  %kz = torch.nn.functional.layer_norm(%sz_0, (8,))
  %fz_a = operator.mul(%kz, 0.25)
  %fz_b = .mul(%fz_a, 127.0)
  %fz_c = torch.round(%fz_b)
  %fz_d = torch.clamp(%fz_c, -127.0, 127.0)
  %fz_e = .to(%fz_d, torch.float64)
  %fz_f = .to(%v1, torch.float64)
  %fz_g = torch._C._nn.linear(%fz_e, %fz_f)
  %fz_h = .to(%fz_g, torch.float32)
  %fz_i = operator.mul(%fz_h, %s1)
  %fz_j = operator.add(%fz_i, %b1)
  %gz = torch._C._nn.gelu(%fz_j)
  %ez_a = operator.mul(%gz, 0.125)
  %ez_b = .mul(%ez_a, 127.0)
  %ez_c = torch.round(%ez_b)
  %ez_d = torch.clamp(%ez_c, -127.0, 127.0)
  %ez_e = .to(%ez_d, torch.float64)
  %ez_f = .to(%v2, torch.float64)
  %ez_g = torch._C._nn.linear(%ez_e, %ez_f)
  %ez_h = .to(%ez_g, torch.float32)
  %ez_i = operator.mul(%ez_h, %os)
  %ez_j = operator.add(%ez_i, %ob)
  %y = operator.add(%sz_0, %ez_j)
)"},
    {"fused_multi_transformer_int8.cached-layer", kInt8CachedInputs,
     "fused.fused_multi_transformer_int8(%x, [8], [2, 3, 3, 2, 4], [2, 3, 8], [%ls], [None], "
     "[%qw], [%qb], [%qs], [%ow], [%ob], [%os], [None], [None], [%v1], [%b1], [%s1], [%v2], "
     "[%ob], [%os], [0.25], [0.5], [0.25], [0.125], cache_kv=[%cache], time_step=2)",
     ""},
    {"fused_multi_transformer_int8.cached-layers", kInt8CachedInputs,
     "fused.fused_multi_transformer_int8(%x, [8], [2, 3, 3, 2, 4], [2, 3, 8], [%ls, %ls], "
     "[None, None], [%qw, %qw], [%qb, %qb], [%qs, %qs], [%ow, %ow], [%ob, %ob], [%os, %os], "
     "[None, None], [None, None], [%v1, %v1], [%b1, %b1], [%s1, %s1], [%v2, %v2], [%ob, %ob], "
     "[%os, %os], [0.25, 0.25], [0.5, 0.5], [0.25, 0.25], [0.125, 0.125], cache_kv=[%cache, "
     "%cache], time_step=2)",
     ""},
    {"fused_embedding_eltwise_layernorm.2",
     "%i : i64[2, 3], %j : i64[3], %e : f32[5, 8], %f : f32[6, 8], %w : f32[8], %b : f32[8]",
     "fused.fused_embedding_eltwise_layernorm([%i, %j], [%e, %f], [8], %w, %b)",
     R"(  %a = torch.nn.functional.embedding(%i, %e)
  %c = torch.nn.functional.embedding(%j, %f, 0)
  %s = operator.add(%a, %c)
  %y = torch.layer_norm(%s, (8,), %w, %b)
)"},
    {"fused_embedding_eltwise_layernorm.3",
     "%i : i64[2, 3], %j : i64[3], %e : f32[5, 8], %f : f32[6, 8], %w : f32[8], %b : f32[8]",
     "fused.fused_embedding_eltwise_layernorm([%i, %i, %j], [%e, %e, %f], [8], %w, %b, "
     "epsilon=1e-12)",
     R"(  %a = torch.nn.functional.embedding(%i, %e, 0, None, 2.0, False, False)
  %c = torch.nn.functional.embedding(%i, %e)
  %s = operator.add(%a, %c)
  %d = torch.nn.functional.embedding(%j, %f, None, None, 2.0, False, False)
  %t = operator.iadd(%s, %d)
  %y = torch.nn.functional.layer_norm(%t, (8,), %w, %b, 1e-12)
)"},
    {"fused_embedding_eltwise_layernorm.4",
     "%i : i64[2, 3], %j : i64[3], %e : f32[5, 8], %f : f32[6, 8], %w : f32[8], %b : f32[8]",
     "fused.fused_embedding_eltwise_layernorm([%i, %i, %j, %j], [%e, %f, %e, %f], [8], %w)",
     R"(  %a = torch.nn.functional.embedding(%i, %e)
  %c = torch.nn.functional.embedding(%i, %f)
  %s = .add(%a, %c)
  %d = torch.nn.functional.embedding(%j, %e)
  %t = torch.add(%s, %d)
  %g = torch.nn.functional.embedding(%j, %f)
  %u = operator.add(%t, %g)
  %y = torch.nn.functional.layer_norm(%u, (8,), %w)
)"},
    {"fused_fc_elementwise_layernorm.none",
     "%x : f32[2, 3, 4], %w : f32[8, 4], %r : f32[2, 3, 8], %b : f32[8], %s : f32[8]",
     "fused.fused_fc_elementwise_layernorm(%x, %w, %r, [8], %b, %s, %b, epsilon=1e-12)",
     R"(  %l = torch._C._nn.linear(%x, %w, %b)
  %d = torch.nn.functional.dropout(%l, 0.1, False, False)
  %t = operator.add(%r, %d)
  %y = torch.nn.functional.layer_norm(%t, (8,), %s, %b, 1e-12)
)"},
    {"fused_fc_elementwise_layernorm.relu",
     "%x : f32[2, 3, 4], %w : f32[8, 4], %r : f32[2, 3, 8], %b : f32[8], %s : f32[8]",
     "fused.fused_fc_elementwise_layernorm(%x, %w, %r, [8], %b, %s, activation_type=\"relu\")",
     R"(  %l = torch._C._nn.linear(%x, %w, %b)
  %a = torch.nn.functional.relu(%l, inplace=True)
  %t = operator.add(%a, %r)
  %y = torch.nn.functional.layer_norm(%t, (8,), %s)
)"},
    {"fused_bias_dropout_residual_layer_norm.bias",
     "%x : f32[2, 3, 8], %r : f32[2, 3, 8], %b : f32[8], %s : f32[8]",
     "fused.fused_bias_dropout_residual_layer_norm(%x, %r, [8], %b, %s, %b, dropout_rate=0.25, "
     "training=True)",
     R"(  %t = operator.add(%x, %b)
  %d = torch.nn.functional.dropout(%t, 0.25)
  %u = operator.add(%d, %r)
  %y = torch.nn.functional.layer_norm(%u, (8,), %s, %b)
)"},
    {"fused_bias_dropout_residual_layer_norm.plain",
     "%x : f32[2, 3, 8], %r : f32[2, 3, 8], %s : f32[8]",
     "fused.fused_bias_dropout_residual_layer_norm(%x, %r, [8], ln_scale=%s, ln_epsilon=1e-12)",
     R"(  %d = torch.nn.functional.dropout(%x, 0.5, False, False)
  %u = operator.add(%r, %d)
  %y = torch.nn.functional.layer_norm(%u, (8,), %s, None, 1e-12)
)"},
    {"skip_layernorm", "%x : f32[2, 3, 8], %r : f32[2, 3, 8], %s : f32[8], %b : f32[8]",
     "fused.skip_layernorm(%x, %r, [8], %s, %b)",
     R"(  %u = operator.add(%x, %r)
  %y = torch.nn.functional.layer_norm(%u, normalized_shape=(8,), weight=%s, bias=%b)
)"},
    {"self_dp_attention.sdpa", "%x : f32[2, 3, 3, 2, 4]", "fused.self_dp_attention(%x, alpha=0.25)",
     R"(  %p = torch.permute(%x, (2, 0, 3, 1, 4))
  %u = .unbind(%p, 0)
  %q = operator.getitem(%u, 0)
  %k = operator.getitem(%u, 1)
  %v = operator.getitem(%u, 2)
  %a = torch._C._nn.scaled_dot_product_attention(%q, %k, %v, dropout_p=0.0, scale=0.25)
  %y = .transpose(%a, 1, 2)
)"},
    {"self_dp_attention.softmax", "%x : f32[2, 3, 3, 2, 4]",
     "fused.self_dp_attention(%x, alpha=0.5, kernel=\"softmax\")",
     R"(  %p = .permute(%x, 2, 0, 3, 1, 4)
  %u = .unbind(%p, 0)
  %q = operator.getitem(%u, 0)
  %k = operator.getitem(%u, 1)
  %v = operator.getitem(%u, 2)
  %z = operator.mul(%q, 0.5)
  %t = .transpose(%k, -2, -1)
  %s = operator.matmul(%z, %t)
  %w = .softmax(%s, dim=-1)
  %d = torch.nn.functional.dropout(%w, 0.0, False, False)
  %a = operator.matmul(%d, %v)
  %y = .transpose(%a, 1, 2)
)"},
    {"fusion_repeated_fc_relu.two", "%x : f32[2, 4], %v : f32[6, 4], %w : f32[4, 6], %b : f32[6]",
     "fused.fusion_repeated_fc_relu(%x, [%v, %w], [%b, None])",
     R"(  %l = torch._C._nn.linear(%x, %v, %b)
  %r = torch.nn.functional.relu(%l, inplace=True)
  %m = torch._C._nn.linear(%r, %w)
  %y = torch.relu(%m)
)"},
    {"fusion_repeated_fc_relu.more", "%x : f32[2, 4], %v : f32[6, 4], %w : f32[4, 6], %b : f32[6]",
     "fused.fusion_repeated_fc_relu(%x, [%v, %w, %v, %w], [%b, None, None, None])",
     R"(  %l = torch._C._nn.linear(%x, %v, %b)
  %r = torch.nn.functional.relu(%l, inplace=False)
  %m = torch._C._nn.linear(%r, %w)
  %s = torch.relu(%m)
  %n = torch._C._nn.linear(%s, %v)
  %t = .relu(%n)
  %o = torch._C._nn.linear(%t, %w)
  %y = torch.relu(%o)
)"},
    {"fusion_seqconv_eltadd_relu.padded", "%x : f32[2, 5, 4], %w : f32[6, 12], %b : f32[6]",
     "fused.fusion_seqconv_eltadd_relu(%x, %w, %b, context_length=3, up_pad=1, down_pad=1)",
     R"(  %p = torch._C._nn.pad(%x, [0, 0, 1, 1])
  %u = .unfold(%p, 1, 3, 1)
  %t = .transpose(%u, 2, 3)
  %c = .flatten(%t, 2, 3)
  %l = torch._C._nn.linear(%c, %w, %b)
  %y = torch.relu(%l)
)"},
    {"fusion_seqconv_eltadd_relu.offsets",
     "%x : f32[5, 4], %w : f32[6, 12], %b : f32[6], %offsets : i64[4]",
     "fused.fusion_seqconv_eltadd_relu(%x, %w, %b, context_length=3, up_pad=1, down_pad=1, "
     "offsets=%offsets)",
     R"(  %c0 = .select(%x, 1, 0)
  %ones = torch.ones_like(%c0, dtype=torch.int64)
  %place = .cumsum(%ones, 0)
  %which = torch.searchsorted(%offsets, %place)
  %p = torch._C._nn.pad(%x, [0, 0, 1, 1])
  %u = .unfold(%p, 0, 3, 1)
  %q = torch.nn.functional.pad(%which, [1, 1])
  %v = .unfold(%q, 0, 3, 1)
  %o = .unsqueeze(%which, 1)
  %same = operator.eq(%v, %o)
  %each = .unsqueeze(%same, 1)
  %z = torch.where(%each, %u, 0)
  %t = .transpose(%z, 1, 2)
  %c = .flatten(%t, 1, 2)
  %l = torch._C._nn.linear(%c, %w, %b)
  %y = torch.relu(%l)
)"},
    {"fusion_seqexpand_concat_fc.relu",
     "%r : f32[2, 5, 4], %u : f32[2, 3], %v : f32[2, 2], %w : f32[6, 9], %b : f32[6]",
     "fused.fusion_seqexpand_concat_fc(%r, [%u, %v], %w, %b, length=5, fc_activation=\"relu\")",
     R"(  %a = .unsqueeze(%u, 1)
  %c = .expand(%a, -1, 5, -1)
  %d = .unsqueeze(%v, 1)
  %e = .expand(%d, -1, 5, -1)
  %f = torch.cat([%r, %c, %e], dim=-1)
  %l = torch._C._nn.linear(%f, %w, %b)
  %y = torch.relu(%l)
)"},
    {"fusion_seqexpand_concat_fc.tanh", "%r : f32[2, 5, 4], %u : f32[2, 3], %w : f32[6, 7]",
     "fused.fusion_seqexpand_concat_fc(%r, [%u], %w, length=5, fc_activation=\"tanh\")",
     R"(  %a = torch.unsqueeze(%u, 1)
  %c = .expand(%a, -1, 5, -1)
  %f = torch.cat((%r, %c), -1)
  %l = torch._C._nn.linear(%f, %w)
  %y = torch.tanh(%l)
)"},
    {"fusion_seqexpand_concat_fc.identity", "%r : f32[2, 5, 4], %u : f32[2, 3], %w : f32[6, 7]",
     "fused.fusion_seqexpand_concat_fc(%r, [%u], %w, length=5)",
     R"(  %a = torch.unsqueeze(%u, 1)
  %c = .expand(%a, -1, 5, -1)
  %f = torch.cat((%r, %c), -1)
  %y = torch._C._nn.linear(%f, %w)
)"},
    {"fusion_seqexpand_concat_fc.offsets-relu",
     "%r : f32[5, 4], %u : f32[3, 3], %w : f32[6, 7], %offsets : i64[4]",
     "fused.fusion_seqexpand_concat_fc(%r, [%u], %w, offsets=%offsets, fc_activation=\"relu\")",
     R"(  %c0 = .select(%r, 1, 0)
  %ones = torch.ones_like(%c0, dtype=torch.int64)
  %place = .cumsum(%ones, 0)
  %which = torch.searchsorted(%offsets, %place)
  %i = operator.sub(%which, 1)
  %e = torch.index_select(%u, 0, %i)
  %f = torch.cat((%r, %e), -1)
  %l = torch._C._nn.linear(%f, %w)
  %y = torch.relu(%l)
)"},
    {"fusion_seqexpand_concat_fc.offsets-tanh",
     "%r : f32[5, 4], %u : f32[3, 3], %w : f32[6, 7], %offsets : i64[4]",
     "fused.fusion_seqexpand_concat_fc(%r, [%u], %w, offsets=%offsets, fc_activation=\"tanh\")",
     R"(  %c0 = .select(%r, 1, 0)
  %ones = torch.ones_like(%c0, dtype=torch.int64)
  %place = .cumsum(%ones, 0)
  %which = torch.searchsorted(%offsets, %place)
  %i = operator.sub(%which, 1)
  %e = torch.index_select(%u, 0, %i)
  %f = torch.cat((%r, %e), -1)
  %l = torch._C._nn.linear(%f, %w)
  %y = torch.tanh(%l)
)"},
    {"fusion_seqexpand_concat_fc.offsets-identity",
     "%r : f32[5, 4], %u : f32[3, 3], %w : f32[6, 7], %offsets : i64[4]",
     "fused.fusion_seqexpand_concat_fc(%r, [%u], %w, offsets=%offsets)",
     R"(  %c0 = .select(%r, 1, 0)
  %ones = torch.ones_like(%c0, dtype=torch.int64)
  %place = .cumsum(%ones, 0)
  %which = torch.searchsorted(%offsets, %place)
  %i = operator.sub(%which, 1)
  %e = torch.index_select(%u, 0, %i)
  %f = torch.cat((%r, %e), -1)
  %y = torch._C._nn.linear(%f, %w)
)"},
    {"fusion_transpose_flatten_concat", "%u : f32[2, 3, 4, 5], %v : f32[2, 6, 4, 5]",
     "fused.fusion_transpose_flatten_concat([%u, %v, %u], [0, 2, 3, 1])",
     R"(  %a = .permute(%u, 0, 2, 3, 1)
  %b = .flatten(%a, 1)
  %c = torch.permute(%v, (0, 2, 3, 1))
  %d = torch.flatten(%c, 1)
  %e = .permute(%u, 0, 2, 3, 1)
  %f = .flatten(%e, start_dim=1)
  %y = torch.cat([%b, %d, %f], dim=1)
)"},
    {"fusion_squared_mat_sub", "%x : f32[2, 3], %v : f32[3, 4]",
     "fused.fusion_squared_mat_sub(%x, %v, 0.5)",
     R"(  %m = torch.matmul(%x, %v)
  %n = .pow(%m, 2)
  %a = .pow(%x, 2)
  %b = operator.pow(%v, 2)
  %c = torch.matmul(%a, %b)
  %d = operator.sub(%n, %c)
  %y = operator.mul(0.5, %d)
)"},
    {"fusion_gru.padded",
     "%x : f32[2, 3, 4], %h : f32[2, 5], %wx : f32[15, 4], %wh : f32[15, 5], %b : f32[15]",
     "fused.fusion_gru(%x, %h, %wx, %wh, %b)", kGruProgram,
     GRAPHNET_GRU_STEP
     "  %s = operator.mul(%keep, %h)\n  %t = operator.mul(%update, %candidate)\n" GRAPHNET_GRU_END},
    {"fusion_gru.padded-origin",
     "%x : f32[2, 3, 4], %h : f32[2, 5], %wx : f32[15, 4], %wh : f32[15, 5], %b : f32[15]",
     "fused.fusion_gru(%x, %h, %wx, %wh, %b, origin_mode=True)", kGruProgram,
     GRAPHNET_GRU_STEP
     "  %s = operator.mul(%update, %h)\n  %t = operator.mul(%keep, %candidate)\n" GRAPHNET_GRU_END},
    {"fusion_gru.offsets",
     "%x : f32[5, 4], %h : f32[3, 5], %wx : f32[15, 4], %wh : f32[15, 5], %b : f32[15], "
     "%offsets : i64[4]",
     "fused.fusion_gru(%x, %h, %wx, %wh, %b, offsets=%offsets)", kGruRowsProgram,
     GRAPHNET_GRU_ROWS_STEP
     "  %s = operator.mul(%keep, %h)\n  %t = operator.mul(%update, %candidate)\n" GRAPHNET_GRU_END},
    {"fusion_gru.offsets-origin",
     "%x : f32[5, 4], %h : f32[3, 5], %wx : f32[15, 4], %wh : f32[15, 5], %b : f32[15], "
     "%offsets : i64[4]",
     "fused.fusion_gru(%x, %h, %wx, %wh, %b, origin_mode=True, offsets=%offsets)", kGruRowsProgram,
     GRAPHNET_GRU_ROWS_STEP
     "  %s = operator.mul(%update, %h)\n  %t = operator.mul(%keep, %candidate)\n" GRAPHNET_GRU_END},
    {"fused_gemm_epilogue.relu", "%x : f32[2, 3], %w : f32[4, 3], %b : f32[4]",
     "fused.fused_gemm_epilogue(%x, %w, %b, activation=\"relu\")",
     R"(  %l = torch._C._nn.linear(%x, %w, %b)
  %y = .relu_(%l)
)"},
    {"fused_gemm_epilogue.gelu", "%x : f32[2, 3], %w : f32[4, 3]",
     "fused.fused_gemm_epilogue(%x, %w, activation=\"gelu\")",
     R"(  %l = torch._C._nn.linear(%x, %w, None)
  %y = torch._C._nn.gelu(%l)
)"},
    {"fused_gemm_epilogue.gelu_tanh", "%x : f32[2, 3], %w : f32[4, 3], %b : f32[4]",
     "fused.fused_gemm_epilogue(%x, %w, %b, activation=\"gelu_tanh\")",
     R"(  %l = torch._C._nn.linear(%x, %w, %b)
  %y = torch._C._nn.gelu(%l, approximate="tanh")
)"},
    {"fused_gemm_epilogue.none", "%x : f32[2, 3], %w : f32[4, 3], %b : f32[4]",
     "fused.fused_gemm_epilogue(%x, %w, %b)", ""},
    {"fused_gemm_epilogue.addmm-relu", "%x : f32[2, 3], %w : f32[3, 4], %b : f32[4]",
     "fused.fused_gemm_epilogue(%x, %w, %b, trans_y=False, activation=\"relu\")",
     R"(  %l = torch.addmm(%b, %x, %w)
  %y = torch.relu(%l)
)"},
    {"fused_gemm_epilogue.addmm-gelu", "%x : f32[2, 3], %w : f32[3, 4], %b : f32[4]",
     "fused.fused_gemm_epilogue(%x, %w, %b, trans_y=False, activation=\"gelu\")",
     R"(  %l = .addmm(%b, %x, %w)
  %y = torch.nn.functional.gelu(%l)
)"},
    {"fused_gemm_epilogue.addmm-gelu_tanh", "%x : f32[2, 3], %w : f32[3, 4], %b : f32[4]",
     "fused.fused_gemm_epilogue(%x, %w, %b, trans_y=False, activation=\"gelu_tanh\")",
     R"(  %l = torch.addmm(%b, %x, %w)
  %y = torch._C._nn.gelu(%l, approximate="tanh")
)"},
    {"fused_gemm_epilogue.addmm-none", "%x : f32[2, 3], %w : f32[3, 4], %b : f32[4]",
     "fused.fused_gemm_epilogue(%x, %w, %b, trans_y=False)", ""},
    {"fc.relu", "%x : f32[2, 5, 3], %w : f32[3, 4], %b : f32[4]",
     "fused.fc(%x, %w, %b, activation_type=\"relu\")",
     R"(  %m = operator.matmul(%x, %w)
  %s = operator.add(%b, %m)
  %y = torch.relu(%s)
)"},
    {"fc.none", "%x : f32[2, 5, 3], %w : f32[3, 4], %b : f32[4]", "fused.fc(%x, %w, %b)",
     R"(  %m = torch.matmul(%x, %w)
  %y = operator.add(%m, %b)
)"},
    {"fc.no-bias-relu", "%x : f32[2, 5, 3], %w : f32[3, 4]",
     "fused.fc(%x, %w, activation_type=\"relu\")",
     R"(  %m = torch.matmul(%x, %w)
  %y = torch.relu(%m)
)"},
    {"fc.no-bias-none", "%x : f32[2, 5, 3], %w : f32[3, 4]", "fused.fc(%x, %w)", ""},
    {"identity_loss.sum", "%x : f32[2, 3]", "fused.identity_loss(%x, reduction=\"sum\")", ""},
    {"identity_loss.mean", "%x : f32[2, 3]", "fused.identity_loss(%x, reduction=\"mean\")", ""},
    {"identity_loss.none", "%x : f32[2, 3]", "fused.identity_loss(%x)", ""},
    {"read_file", "%x : f32[1]", "fused.read_file(\"docs/fused.md\", size=8)", ""},
};

}  // namespace graphnet

#undef GRAPHNET_GRU_STEP
#undef GRAPHNET_GRU_ROWS_STEP
#undef GRAPHNET_GRU_GATES
#undef GRAPHNET_GRU_END

#endif  // GRAPHNET_TESTS_PASSES_FUSED_CASES_H_
