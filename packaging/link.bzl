"""Links what //:dist and //python:wheel hold from objects that are there already: nothing is
compiled again."""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

LinkedInfo = provider(doc = "What was linked.", fields = {
    "labels": "dict with the labels whose objects are inside as keys",
    "shared": "the shared library, or None",
    "static": "the static library, or None",
})

# Links of Debian's libraries that users need not have, and what is inside instead.
_STATIC = {"-l" + name: "-l:lib%s.a" % name for name in ["crypto", "protobuf", "z"]}

def _linker_inputs(deps):
    return depset(
        transitive = [dep[CcInfo].linking_context.linker_inputs for dep in deps],
        order = "topological",
    ).to_list()

def _is_ours(linker_input):
    return linker_input.owner.workspace_name == ""

def _check_no_libtorch(ctx, linker_inputs):
    for linker_input in linker_inputs:
        if ctx.attr.no_libtorch and linker_input.owner.workspace_name == "libtorch":
            fail("%s reaches LibTorch" % ctx.label)

def _objects(linker_inputs):
    objects = []
    for linker_input in linker_inputs:
        for library in linker_input.libraries:
            objects += library.pic_objects or []
    return objects

def _flags(linker_inputs):
    flags = []
    for linker_input in linker_inputs:
        for flag in linker_input.user_link_flags:
            if flag == "-ltorch":
                # Nothing refers to it, but it brings operators for other devices along.
                flags += ["-Wl,--no-as-needed", flag, "-Wl,--as-needed"]
            elif not flag.startswith("-Wl,-rpath,"):  # users have LibTorch at another path
                flags.append(flag)
    return flags

def _tool(ctx, action):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain)
    return toolchain, cc_common.get_tool_for_action(feature_configuration = features, action_name = action)

def _link(ctx, out, inputs, arguments):
    toolchain, gcc = _tool(ctx, "c++-link-executable")
    args = ctx.actions.args()
    args.use_param_file("@%s", use_always = True)
    args.set_param_file_format("multiline")
    args.add("-o", out)
    args.add_all(["-Wl,-z,relro,-z,now", "-Wl,--gc-sections", "-pthread"])

    # Sanitizers (.bazelrc) are linked, too, and their reports need names.
    options = ctx.fragments.cpp.linkopts
    args.add_all(options or ["-Wl,-s"])
    args.add_all(arguments)
    args.add_all(["-lstdc++", "-lm"])
    ctx.actions.run(
        executable = gcc,
        arguments = [args],
        inputs = depset(inputs, transitive = [toolchain.all_files]),
        outputs = [out],
        mnemonic = "DistLink",
        progress_message = "Linking %s" % out.short_path,
        # As Bazel's own links here: LibTorch is outside of the sandbox's inputs.
        use_default_shell_env = True,
    )

def _libraries_impl(ctx):
    below = ctx.attr.below[LinkedInfo] if ctx.attr.below else None
    there = below.labels if below else {}
    linker_inputs = _linker_inputs(ctx.attr.deps)
    _check_no_libtorch(ctx, linker_inputs)
    ours = [i for i in linker_inputs if _is_ours(i) and str(i.owner) not in there]
    objects = _objects(ours)

    static = ctx.actions.declare_file("lib%s.a" % ctx.label.name)
    _, ar = _tool(ctx, "c++-link-static-library")
    args = ctx.actions.args()
    args.add(ar)
    args.add(static)
    if ctx.attr.joined:
        args.add("whole")
    for linker_input in ours:
        for library in linker_input.libraries:
            if not ctx.attr.joined:
                args.add("whole" if library.alwayslink else "parts")
            args.add_all(library.pic_objects or [])

    # An archive names its members by file name, which several of ours share. What registers itself
    # is one member with all else of its library: a linker takes members that somebody refers to.
    ctx.actions.run_shell(
        arguments = [args],
        command = """
          set -e
          ar=$1 out=$PWD/$2 root=$PWD; shift 2
          members=$(mktemp -d)
          whole=()
          join() {
            [ ${#whole[@]} -eq 0 ] || ld -r -o "$members/whole.$((++count)).o" "${whole[@]}"
            whole=()
          }
          for object; do
            case $object in
              whole | parts) join; kind=$object; continue;;
            esac
            if [ "$kind" = whole ]; then whole+=("$root/$object"); continue; fi
            name=${object##*/bin/}; name=${name/_objs\\//}; name=${name//\\//.}
            ln -s "$root/$object" "$members/$name"
          done
          join
          cd "$members" && rm -f "$out" && "$ar" rcsD "$out" *.o
          rm -r "$members"
        """,
        inputs = objects,
        outputs = [static],
        mnemonic = "DistArchive",
        use_default_shell_env = True,
    )

    shared = ctx.actions.declare_file("lib%s.so" % ctx.label.name)
    arguments = [
        "-shared",
        "-Wl,-soname,lib%s.so.%s" % (ctx.label.name, ctx.attr.abi),
        "-Wl,-z,defs",
        "-Wl,-rpath,$ORIGIN",
    ]
    arguments += [object.path for object in objects]
    if below:
        arguments.append(below.shared.path)
    arguments.append("-Wl,--as-needed")

    # Dynamic, as who links the library links the same: two copies of Abseil in a process do
    # not go together (each hashes with a seed of its own).
    for flag in _flags(linker_inputs):
        if flag.startswith("-l:lib") and flag.endswith(".a"):
            flag = "-l" + flag[len("-l:lib"):-len(".a")]
        arguments.append(flag)
    _link(ctx, shared, objects + ([below.shared] if below else []), arguments)

    labels = dict(there)
    labels.update({str(i.owner): None for i in ours})
    return [
        DefaultInfo(files = depset([static, shared])),
        LinkedInfo(labels = labels, shared = shared, static = static),
    ]

dist_libraries = rule(
    _libraries_impl,
    doc = "libNAME.a and libNAME.so of everything below `deps` that is ours.",
    attrs = {
        "abi": attr.string(mandatory = True, doc = "End of the soname."),
        "below": attr.label(providers = [LinkedInfo], doc = "What lies in there is left out and linked."),
        "deps": attr.label_list(providers = [CcInfo], mandatory = True),
        "joined": attr.bool(doc = "The static library is one member, as nobody refers to what registers itself in it."),
        "no_libtorch": attr.bool(doc = "Fail if anything below reaches LibTorch."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _all_inside(ctx):
    """Link inputs of a self-contained target: everything that `below` does not already contain.

    Static, but for what every system has: it runs where the packages that it was built with
    are not installed, or in other versions.

    Returns:
      Arguments for the linker, the files that they name, and the labels of what is inside or below.
    """
    there = ctx.attr.below[LinkedInfo].labels if ctx.attr.below else {}
    linker_inputs = [i for i in _linker_inputs(ctx.attr.deps) if str(i.owner) not in there]
    _check_no_libtorch(ctx, linker_inputs)
    compiled = _linker_inputs(ctx.attr.compiled)
    objects = _objects([i for i in linker_inputs if _is_ours(i)] + compiled)
    files = list(objects)
    arguments = [object.path for object in objects]
    shared = ctx.attr.below[LinkedInfo].shared if ctx.attr.below else None
    if shared:
        files.append(shared)
        arguments += [shared.path, "-Wl,-z,defs", "-Wl,-rpath," + ctx.attr.run_path]
    replaced = ctx.attr.compiled.values()
    arguments += [
        _STATIC.get(flag, flag)
        for flag in _flags([i for i in linker_inputs if i.owner.workspace_name not in replaced])
        if flag not in ctx.attr.dynamic
    ] + ctx.attr.dynamic
    for option, file in [("dynamic-list", ctx.file.exported), ("version-script", ctx.file.visible)]:
        if file:
            files.append(file)
            arguments.append("-Wl,--%s=%s" % (option, file.path))
    labels = dict(there)
    labels.update({str(i.owner): None for i in linker_inputs})
    return arguments, files, labels

def _program_impl(ctx):
    arguments, files, labels = _all_inside(ctx)
    out = ctx.actions.declare_file(ctx.label.name)
    _link(ctx, out, files, ["-pie"] + arguments + ["-ldl"])
    return [
        DefaultInfo(files = depset([out]), executable = out),
        LinkedInfo(labels = labels, shared = None, static = None),
    ]

def _shared_library_impl(ctx):
    arguments, files, labels = _all_inside(ctx)
    out = ctx.actions.declare_file(ctx.attr.file or "lib%s.so" % ctx.label.name)
    _link(ctx, out, files, ["-shared", "-Wl,-soname," + out.basename] + arguments)
    return [
        DefaultInfo(files = depset([out])),
        LinkedInfo(labels = labels, shared = out, static = None),
    ]

_ALL_INSIDE = {
    "below": attr.label(providers = [LinkedInfo], doc = "What lies in there is left out. A shared library is linked."),
    "compiled": attr.label_keyed_string_dict(
        providers = [CcInfo],
        doc = "Libraries of others that were compiled here, and the repositories that they stand for.",
    ),
    "deps": attr.label_list(providers = [CcInfo], mandatory = True),
    "dynamic": attr.string_list(doc = "Flags of libraries that are not inside after all."),
    "exported": attr.label(allow_single_file = True, doc = "Which names plugins find in a program."),
    "no_libtorch": attr.bool(doc = "Fail if anything below reaches LibTorch."),
    "run_path": attr.string(default = "$ORIGIN", doc = "Where the library of `below` will be."),
    "visible": attr.label(allow_single_file = True, doc = "A version script."),
    "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
}

dist_program = rule(
    _program_impl,
    doc = "A program that has all inside which does not lie below.",
    attrs = _ALL_INSIDE,
    executable = True,
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

dist_shared_library = rule(
    _shared_library_impl,
    doc = "libNAME.so, which has all inside that does not lie below: in the program that opens it, say.",
    attrs = dict(_ALL_INSIDE, file = attr.string(doc = "Its name, if that is another one.")),
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

def _tarball_impl(ctx):
    out = ctx.actions.declare_file("graphnet-%s-linux-x86_64.tar.gz" % ctx.attr.version)
    headers = [
        header
        for dep in ctx.attr.api
        for header in dep[CcInfo].compilation_context.headers.to_list()
        if header.owner.workspace_name == "" and header.short_path.startswith("graphnet/") and header.path.endswith(".h")
    ]
    args = ctx.actions.args()
    args.add("--version", ctx.attr.version)
    args.add("--libtorch-version", ctx.file._libtorch_version)
    args.add("--out", out)
    files = []
    for target, path in ctx.attr.files.items():
        for file in target.files.to_list():
            files.append(file)
            below = file.short_path[len(target.label.package):].lstrip("/")
            is_one = not path.endswith("/") or file.extension == "tar"
            args.add("--file", "%s=%s" % (file.path, path if is_one else path + below))
    args.add_all(headers, before_each = "--header", uniquify = True)
    args.add_all(ctx.attr.roots, before_each = "--root")
    args.add_all(ctx.attr.notices, before_each = "--notice")
    args.use_param_file("@%s", use_always = True)
    args.set_param_file_format("multiline")
    ctx.actions.run_shell(
        arguments = [args],
        command = "exec python3 %s \"$@\"" % ctx.file._pack.path,
        inputs = files + headers + [ctx.file._pack, ctx.file._libtorch_version],
        outputs = [out],
        mnemonic = "DistPack",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]))]

dist_tarball = rule(
    _tarball_impl,
    attrs = {
        "api": attr.label_list(providers = [CcInfo], doc = "Where the headers come from."),
        "files": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Where in the tarball what goes: a path, or a folder (\"lib/\"). Templates " +
                  "(*.in) are filled in and lose their ending; archives (*.tar) are unpacked.",
        ),
        "notices": attr.string_list(doc = "Debian packages whose copyright notices go in."),
        "roots": attr.string_list(doc = "Headers that are installed with all that they include."),
        "version": attr.string(mandatory = True),
        "_libtorch_version": attr.label(
            default = "@libtorch//:include/torch/headeronly/version.h",
            allow_single_file = True,
        ),
        "_pack": attr.label(default = "//packaging:pack.py", allow_single_file = True),
    },
)
