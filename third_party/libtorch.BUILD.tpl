package(default_visibility = ["//visibility:public"])

exports_files(["include/torch/headeronly/version.h"])

cc_library(
    name = "torch",
    hdrs = glob(["include/**"]),
    # Compiler's -isystem: warnings in these headers are not ours.
    includes = [
        "include",
        "include/torch/csrc/api/include",
    ],
    # The absolute run path lets a program start from anywhere; the libraries
    # find their own neighbours from where they really lie.
    linkopts = [
        "-L{LIB}",
        "-Wl,-rpath,{LIB}",
        "-ltorch",
        "-ltorch_cpu",
        "-lc10",
    ],
)
