"""Libraries of which several sources are one unit of compilation.

Reading headers that are not precompiled (//:cc.bzl), ours and CLI11's, and instantiating
templates takes longer than compiling what is behind them. Where sources share them, both happen
once a unit. Names that a source keeps to itself (static, or in anonymous namespaces) must be unique
within its unit.
"""

load("//:cc.bzl", "cc_library")

def unity_library(name, srcs, units = 1, **kwargs):
    """cc_library(name, srcs, **kwargs), whose sources are compiled as so many units.

    Args:
      name: as in cc_library.
      srcs: sources (*.cc) in the order in which they are divided, private headers, generated files.
      units: how many; a unit should not take longer than a core's share of a build.
      **kwargs: as in cc_library.
    """
    sources = [src for src in srcs if src.endswith(".cc")]
    made = []
    for i in range(units):
        unit = "%s_unit%d" % (name, i)
        part = sources[len(sources) * i // units:len(sources) * (i + 1) // units]
        native.genrule(
            name = unit,
            outs = [unit + ".cc"],
            cmd = "printf '#include \"%s/%%s\"\\n' %s >$@" % (native.package_name(), " ".join(part)),
            visibility = ["//visibility:private"],
        )
        made.append(":" + unit)
    cc_library(
        name = name,
        srcs = made + [src for src in srcs if not src.endswith(".cc")],
        textual_hdrs = sources,
        **kwargs
    )
