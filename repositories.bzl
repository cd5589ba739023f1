"""All that a workspace needs which builds graphnet, or depends on it.

    load("@graphnet//:repositories.bzl", "graphnet_repositories")
    graphnet_repositories()

Nothing is downloaded: libraries and rules are those of Debian's packages, LibTorch is what
LIBTORCH names. A repository that the workspace has already is left as it is, so that
any of them can be replaced by an http_archive above these lines. docs/installing.md has the
flags that a build needs.
"""

load("@bazel_tools//tools/build_defs/repo:utils.bzl", "maybe")
load("//third_party:system.bzl", "system_repositories")

# Rules that Bazel 4.2.3 itself refers to, where Debian's packages have them.
_DEBIAN = {
    "bazel_skylib": "/usr/share/bazel/tools/skylib",
    "platforms": "/usr/share/bazel/tools/platforms",
    "rules_java": "/usr/share/bazel/rules/java",
    "rules_proto": "/usr/share/bazel/rules/proto",
}

# And stand-ins of ours: Debian's rules_cc is too new for its Bazel.
_OURS = ["remote_coverage_tools", "rules_cc", "rules_fuzzing"]

def _folder_of_graphnet_impl(rctx):
    for file in rctx.path(Label("//third_party:" + rctx.attr.folder + "/WORKSPACE")).dirname.readdir():
        rctx.symlink(file, file.basename)

_folder_of_graphnet = repository_rule(
    implementation = _folder_of_graphnet_impl,
    attrs = {"folder": attr.string(mandatory = True, doc = "Below third_party.")},
    local = True,
)

def graphnet_repositories():
    """Declares them; each is looked at only when a target needs it."""
    for name, path in _DEBIAN.items():
        maybe(native.local_repository, name = name, path = path)
    for name in _OURS:
        maybe(_folder_of_graphnet, name = name, folder = name)
    system_repositories()
