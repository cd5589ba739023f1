"""The rule that packs the wheel; pack_wheel.py says how."""

def _wheel_impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name + ".dist")
    args = ctx.actions.args()
    args.add(ctx.file._pack)
    args.add("--python", ctx.file._facts)
    args.add("--version-header", ctx.file._version)
    args.add("--platform", ctx.attr.platform)
    args.add("--readme", ctx.file.readme)
    args.add("--out", out.path)
    files = []
    for target, path in ctx.attr.files.items():
        file = target.files.to_list()[0]
        files.append(file)
        args.add("--file", "%s=%s" % (file.path, path))
    args.add_all(ctx.attr.notices, before_each = "--notice")
    args.add_all(ctx.attr.entry_points, before_each = "--entry-point")
    ctx.actions.run(
        executable = ctx.file._python,
        arguments = [args],
        env = {"PYTHONPATH": ctx.files._packages[0].path.rpartition("/packages/")[0] + "/packages"},
        inputs = files + [ctx.file._pack, ctx.file._stub, ctx.file._facts, ctx.file._version, ctx.file.readme] + ctx.files._packages,
        outputs = [out],
        mnemonic = "PackWheel",
        progress_message = "Packing %s" % ctx.label,
    )

    copy = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(copy, """#!/bin/sh
# Copies the wheel into the given folder, seen from where Bazel was called.
set -e
cd "${BUILD_WORKING_DIRECTORY:-.}"
mkdir -p "${1:-dist}"
cp -f --no-preserve=mode "$OLDPWD"/%s/*.whl "${1:-dist}"
""" % out.short_path, is_executable = True)
    return [DefaultInfo(
        executable = copy,
        files = depset([out]),
        runfiles = ctx.runfiles([out]),
    )]

wheel = rule(
    _wheel_impl,
    attrs = {
        "entry_points": attr.string_list(doc = "Each as GROUP:NAME=MODULE:FUNCTION."),
        "files": attr.label_keyed_string_dict(
            allow_files = True,
            doc = "Where in the wheel what goes; {suffix}, {data} and {info} are filled in.",
        ),
        "notices": attr.string_list(doc = "Debian packages whose copyright notices go in."),
        "platform": attr.string(doc = "The tag, which must be the one that auditwheel finds."),
        "readme": attr.label(allow_single_file = True, doc = "What the package says of itself."),
        "_facts": attr.label(default = "@python//:python.json", allow_single_file = True),
        "_pack": attr.label(default = ":pack_wheel.py", allow_single_file = True),
        "_packages": attr.label(default = "@python//:packages"),
        "_stub": attr.label(default = ":make_stub.py", allow_single_file = True),
        "_python": attr.label(default = "@python//:python3", allow_single_file = True),
        "_version": attr.label(default = "//graphnet/base:version.h", allow_single_file = True),
    },
    executable = True,
)
