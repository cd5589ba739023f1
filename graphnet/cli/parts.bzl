"""The tool in two parts: a program, and a shared library that finds in it what both need."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

def _linker_inputs(dep):
    return dep[CcInfo].linking_context.linker_inputs.to_list()

def _is_ours(linker_input):
    return linker_input.owner.workspace_name == ""

def _cc_info(deps, linker_inputs):
    return [CcInfo(
        compilation_context = cc_common.merge_cc_infos(
            cc_infos = [dep[CcInfo] for dep in deps],
        ).compilation_context,
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset(linker_inputs, order = "topological"),
        ),
    )]

def _whole_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain)
    linker_inputs = []
    for linker_input in _linker_inputs(ctx.attr.dep):
        if _is_ours(linker_input):
            linker_input = cc_common.create_linker_input(
                owner = linker_input.owner,
                libraries = depset([
                    cc_common.create_library_to_link(
                        actions = ctx.actions,
                        feature_configuration = features,
                        cc_toolchain = toolchain,
                        pic_static_library = library.pic_static_library,
                        alwayslink = True,
                    )
                    for library in linker_input.libraries
                    if library.pic_static_library
                ]),
                user_link_flags = depset(linker_input.user_link_flags),
            )
        linker_inputs.append(linker_input)
    return _cc_info([ctx.attr.dep], linker_inputs)

whole_library = rule(
    _whole_impl,
    doc = "`dep`, of which all is linked, whether it is referred to or not.",
    attrs = {
        "dep": attr.label(providers = [CcInfo], mandatory = True),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _rest_impl(ctx):
    there = {str(i.owner): None for i in _linker_inputs(ctx.attr.below)}
    return _cc_info(
        [ctx.attr.dep],
        [i for i in _linker_inputs(ctx.attr.dep) if str(i.owner) not in there],
    )

rest_of_library = rule(
    _rest_impl,
    doc = "`dep` without what `below` has.",
    attrs = {
        "below": attr.label(providers = [CcInfo], mandatory = True),
        "dep": attr.label(providers = [CcInfo], mandatory = True),
    },
)
