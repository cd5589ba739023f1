"""Text files that are built into the program."""

def text_source(name, header, texts):
    """NAME.cc, which defines functions that yield the text of files.

    Args:
      name: of the rule.
      header: which declares them, in namespace graphnet, as absl::string_view Function().
      texts: by function, the file.
    """
    native.genrule(
        name = name,
        srcs = texts.values(),
        outs = [name + ".cc"],
        cmd = "(echo '#include \"%s\"'; %s) >$@" % (header, "; ".join([
            "printf 'absl::string_view graphnet::%s() { return R\"text('; " % function +
            "cat $(location %s); echo ')text\"; }'" % file
            for function, file in texts.items()
        ])),
        visibility = ["//visibility:private"],
    )
