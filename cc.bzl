"""cc_library and cc_test, which precompile the headers of other projects.

Parsing these headers is a third of each compilation, and half of one that sees LibTorch. So they are
precompiled (//third_party/precompiled), once with the flags of libraries and once with those of tests,
and are included before everything else in each source. Targets that name @libtorch//:torch among their
deps get LibTorch's headers, too.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

# Tests compile twice as fast without optimisation. The library that they test stays optimised.
_UNOPTIMISED = ["-O0", "-U_FORTIFY_SOURCE"]

# GCC no longer knows that precompiled code comes from system headers, so these warnings are false
# alarms.
_MISLED = ["-Wno-array-bounds", "-Wno-restrict", "-Wno-stringop-overflow"]

def _precompiled_header_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    info = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    context = info.compilation_context
    header = ctx.actions.declare_file(ctx.label.name + ".h")
    made = [header]

    # Clang cannot read GCC's precompiled files, and compiles only fuzz targets. It gets an empty header.
    is_gcc = "clang" not in toolchain.compiler_executable
    ctx.actions.write(header, "".join(["#include %s\n" % name for name in ctx.attr.headers if is_gcc]))
    if is_gcc:
        features = cc_common.configure_features(
            ctx = ctx,
            cc_toolchain = toolchain,
            requested_features = ctx.features,
            unsupported_features = ctx.disabled_features,
        )
        precompiled = ctx.actions.declare_file(header.basename + ".gch", sibling = header)
        made.append(precompiled)
        cpp = ctx.fragments.cpp
        variables = cc_common.create_compile_variables(
            cc_toolchain = toolchain,
            feature_configuration = features,
            source_file = header.path,
            output_file = precompiled.path,
            user_compile_flags = cpp.copts + cpp.cxxopts + ctx.attr.copts,
            include_directories = context.includes,
            quote_include_directories = context.quote_includes,
            system_include_directories = context.system_includes,
            preprocessor_defines = context.defines,
            use_pic = True,
        )
        ctx.actions.run(
            executable = toolchain.compiler_executable,
            arguments = ["-x", "c++-header"] + cc_common.get_memory_inefficient_command_line(
                feature_configuration = features,
                action_name = "c++-compile",
                variables = variables,
            ),
            inputs = depset([header], transitive = [context.headers, toolchain.all_files]),
            outputs = [precompiled],
            mnemonic = "CppPrecompile",
            progress_message = "Precompiling %s" % header.short_path,
            use_default_shell_env = True,
            execution_requirements = {"no-sandbox": "1"},  # as compiling, see .bazelrc
        )
    return [
        DefaultInfo(files = depset(made)),
        cc_common.merge_cc_infos(cc_infos = [info, CcInfo(
            compilation_context = cc_common.create_compilation_context(headers = depset(made)),
        )]),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = "NAME.h, which includes headers, and what GCC makes of it.",
    attrs = {
        "copts": attr.string_list(doc = "Of those who include it; with other flags GCC reads the headers again."),
        "deps": attr.label_list(providers = [CcInfo]),
        "headers": attr.string_list(doc = "As they stand behind #include."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
    fragments = ["cpp"],
)

def precompiled_headers(name, headers, deps = []):
    """NAME for libraries and NAME_test for tests."""
    precompiled_header(
        name = name,
        headers = headers,
        visibility = ["//visibility:public"],
        deps = deps,
    )
    precompiled_header(
        name = name + "_test",
        testonly = True,
        copts = _UNOPTIMISED,
        headers = headers + ["<gmock/gmock.h>", "<gtest/gtest.h>"],
        visibility = ["//visibility:public"],
        deps = deps + ["@com_google_googletest//:gtest"],
    )

def _with_headers(rule, kwargs, suffix = "", copts = []):
    deps = kwargs.pop("deps", [])
    name = ("torch" if "@libtorch//:torch" in deps else "core") + suffix
    rule(
        copts = copts + ["-include", "third_party/precompiled/%s.h" % name] + _MISLED + kwargs.pop("copts", []),
        deps = deps + ["//third_party/precompiled:" + name],
        **kwargs
    )

def cc_library(**kwargs):
    _with_headers(native.cc_library, kwargs)

def cc_test(**kwargs):
    _with_headers(native.cc_test, kwargs, "_test", _UNOPTIMISED)
