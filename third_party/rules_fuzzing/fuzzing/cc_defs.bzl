"""A small stand-in for rules_fuzzing, which needs a newer Bazel."""

def cc_fuzz_test(name, corpus, deps = [], data = [], linkopts = [], size = "small", **kwargs):
    """A test that feeds every corpus file to LLVMFuzzerTestOneInput.

    A plain build replays the corpus once, as a regression test. With
    --config=fuzz the same target is a libFuzzer program:

        ./bazelw build --config=fuzz //tests/fuzz:some_fuzz_test
        bazel-bin/tests/fuzz/some_fuzz_test -max_total_time=60 CORPUS_DIR

    Args:
      name: name of the test.
      corpus: files or filegroups with the inputs to replay; at least one, or
        libFuzzer would make up inputs until the test times out.
      deps: as for cc_test.
      data: as for cc_test.
      linkopts: as for cc_test.
      size: as for cc_test.
      **kwargs: passed to cc_test.
    """
    if not corpus:
        fail("cc_fuzz_test %s needs a corpus" % name)
    native.cc_test(
        name = name,
        size = size,
        args = ["$(rootpaths %s)" % label for label in corpus],
        data = data + corpus,
        linkopts = linkopts + select({
            "@rules_fuzzing//fuzzing:libfuzzer": ["-fsanitize=fuzzer"],
            "//conditions:default": [],
        }),
        deps = deps + select({
            "@rules_fuzzing//fuzzing:libfuzzer": ["@rules_fuzzing//fuzzing:sanitizer_defaults"],
            "//conditions:default": ["@rules_fuzzing//fuzzing:replay_main"],
        }),
        **kwargs
    )
