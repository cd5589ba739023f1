"""The commands of a room: //graphnet/ROOM/commands has a source for each, which registers it."""

load("//:unity.bzl", "unity_library")

def commands(deps, generated = []):
    """All sources of the package as one library, of which all is linked; the tool alone uses it.

    Args:
      deps: as in cc_library.
      generated: sources that are not files of the package.
    """
    unity_library(
        name = "commands",
        srcs = native.glob([
            "*.cc",
            "*.h",
        ]) + generated,
        alwayslink = True,
        visibility = ["//graphnet/cli:__pkg__"],
        deps = deps,
    )
