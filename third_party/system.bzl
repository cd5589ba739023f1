"""Debian's libraries and LibTorch as Bazel repositories with canonical labels.

Debian's headers lie in the compiler's own search path, so a library is no more
than its link flags here; each repository checks that its package is installed.
"""

load("@bazel_tools//tools/build_defs/repo:utils.bzl", "maybe")
load("@bazel_tools//tools/cpp:lib_cc_configure.bzl", "get_cpu_value")
load("@bazel_tools//tools/cpp:unix_cc_configure.bzl", "configure_unix_toolchain")

# Label in the repository -> link flags.
_GTEST = ["-lgmock", "-lgtest", "-lpthread"]
_GOOGLETEST = {
    "gtest": _GTEST,
    "gtest_main": ["-lgmock_main"] + _GTEST,
}

_BENCHMARK = {
    "benchmark": ["-lbenchmark", "-lpthread"],
    "benchmark_main": ["-lbenchmark_main", "-lbenchmark", "-lpthread"],
}

# Abseil's archives need each other in ways that these labels do not show: each
# label links the whole group, of which the linker takes what is used.
_ABSL = {"absl/" + label: [] for label in [
    "algorithm:algorithm",
    "algorithm:container",
    "base:base",
    "base:config",
    "base:core_headers",
    "base:dynamic_annotations",
    "base:endian",
    "base:log_severity",
    "cleanup:cleanup",
    "container:btree",
    "container:fixed_array",
    "container:flat_hash_map",
    "container:flat_hash_set",
    "container:inlined_vector",
    "container:node_hash_map",
    "container:node_hash_set",
    "debugging:failure_signal_handler",
    "debugging:leak_check",
    "debugging:stacktrace",
    "debugging:symbolize",
    "functional:any_invocable",
    "functional:bind_front",
    "functional:function_ref",
    "hash:hash",
    "hash:hash_testing",
    "memory:memory",
    "meta:type_traits",
    "numeric:bits",
    "numeric:int128",
    "random:random",
    "status:status",
    "status:statusor",
    "strings:cord",
    "strings:str_format",
    "strings:strings",
    "synchronization:synchronization",
    "time:time",
    "types:any",
    "types:compare",
    "types:optional",
    "types:span",
    "types:variant",
    "utility:utility",
]}

_BUILD_HEADER = """\
# Written by @graphnet//third_party:system.bzl.
package(default_visibility = ["//visibility:public"])
"""

_CC_LIBRARY = """
cc_library(
    name = "{name}",
    linkopts = {linkopts},
    deps = {deps},
)
"""

_OWN_LIBRARY = """
cc_library(
    name = "archives",
    hdrs = glob(["include/**"]),
    includes = ["include"],
    linkopts = {linkopts},
)
"""

def _library_folder(rctx):
    """The folder of the compiler's own architecture, as /usr/lib/x86_64-linux-gnu."""
    result = rctx.execute(["gcc", "-print-multiarch"])
    if result.return_code != 0:
        fail("cannot ask gcc for its architecture: " + result.stderr)
    return rctx.path("/usr/lib/" + result.stdout.strip())

def _check_installed(rctx, file, package):
    if not rctx.path(file).exists:
        fail("{} is missing: run ./bazelw, which installs {}, or install it yourself".format(file, package))

def _write_source(rctx, package):
    """Writes down of which Debian source package the installed one is; wheel.bzl fetches it."""
    query = ["dpkg-query", "--show", "--showformat=${source:Package}=${source:Version}", package]
    rctx.file("debian_source", rctx.execute(query).stdout if rctx.which(query[0]) else "")

def _system_library_impl(rctx):
    build_files = {"": _BUILD_HEADER}
    deps = []
    own = rctx.path(Label("//:WORKSPACE")).dirname.get_child(rctx.attr.own) if rctx.attr.own else None
    if own and own.exists:
        rctx.symlink(own.get_child("include"), "include")
        archives = sorted([str(file) for file in own.get_child("lib").readdir()])
        build_files[""] += _OWN_LIBRARY.format(linkopts = ["-Wl,--start-group"] + archives + ["-Wl,--end-group", "-lpthread"])
        deps = ["//:archives"]
    else:
        _check_installed(rctx, "/usr/include/" + rctx.attr.header, rctx.attr.package)
        _write_source(rctx, rctx.attr.package)
    if rctx.attr.archive_prefix and not deps:
        # Static, so that a program neither loads nor relocates some seventy
        # small shared libraries each time it starts.
        archives = sorted([
            file.basename
            for file in _library_folder(rctx).readdir()
            if file.basename.startswith(rctx.attr.archive_prefix) and file.basename.endswith(".a")
        ])
        build_files[""] += _CC_LIBRARY.format(
            name = "archives",
            linkopts = ["-Wl,--start-group"] + ["-l:" + archive for archive in archives] + ["-Wl,--end-group", "-lpthread"],
            deps = [],
        )
        deps = ["//:archives"]

    for label, linkopts in rctx.attr.libraries.items():
        folder, _, name = label.rpartition(":")
        build_files[folder] = build_files.get(folder, _BUILD_HEADER) + _CC_LIBRARY.format(
            name = name,
            linkopts = linkopts,
            deps = deps,
        )
    for folder, content in build_files.items():
        rctx.file(folder + "/BUILD.bazel" if folder else "BUILD.bazel", content, executable = False)

_system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "archive_prefix": attr.string(doc = "Link all static libraries whose names start so, as one group."),
        "header": attr.string(mandatory = True, doc = "A header of the library, below /usr/include."),
        "libraries": attr.string_list_dict(mandatory = True, doc = "Labels, each with its link flags."),
        "own": attr.string(doc = "A folder of the tarball that has the library; it comes first where it is."),
        "package": attr.string(mandatory = True, doc = "The Debian package."),
    },
    local = True,
)

def _protobuf_impl(rctx):
    _check_installed(rctx, "/usr/include/google/protobuf/message.h", "libprotobuf-dev")
    _check_installed(rctx, "/usr/bin/protoc", "protobuf-compiler")
    _write_source(rctx, "libprotobuf-dev")
    rctx.symlink("/usr/bin/protoc", "protoc_bin")
    rctx.symlink(Label("//third_party:protobuf.BUILD"), "BUILD.bazel")

    # Only the .proto files: linked as a folder, the headers would come along
    # and be found before the compiler's own.
    for file in rctx.path("/usr/include/google/protobuf").readdir():
        if file.basename.endswith(".proto"):
            rctx.symlink(file, "google/protobuf/" + file.basename)

_protobuf = repository_rule(implementation = _protobuf_impl, local = True)

def _libtorch_impl(rctx):
    root = rctx.os.environ.get("LIBTORCH", "")
    if not rctx.path(root + "/lib/libtorch_cpu.so").exists:
        fail(("LibTorch is needed and LIBTORCH is '{}'. Build with ./bazelw, which finds or installs it, " +
              "or set LIBTORCH to a folder with include/ and lib/libtorch_cpu.so, " +
              "such as the torch folder of a Python installation.").format(root))

    # The wheel's include folder also holds protobuf, fmt, pybind11 and others in
    # versions of its own, which must not hide the system's.
    for folder in ["ATen", "c10", "caffe2", "torch"]:
        rctx.symlink(root + "/include/" + folder, "include/" + folder)
    rctx.template(
        "BUILD.bazel",
        Label("//third_party:libtorch.BUILD.tpl"),
        {"{LIB}": root + "/lib"},
        executable = False,
    )

_libtorch = repository_rule(implementation = _libtorch_impl, environ = ["LIBTORCH"], local = True)

def _clang_impl(rctx):
    clang = rctx.which("clang-16")
    if clang == None:
        fail("clang-16 is missing: run ./bazelw with --config=fuzz, which installs it")
    configure_unix_toolchain(rctx, get_cpu_value(rctx), {"gcc": str(clang)})

# A second toolchain beside the default one (GCC): switching CC instead would
# throw away Bazel's analysis, and GCC's objects with it, at every change.
_clang = repository_rule(implementation = _clang_impl, configure = True)

def system_repositories():
    """Declares all repositories; each is looked at only when a target needs it."""
    maybe(
        _system_library,
        name = "com_google_absl",
        archive_prefix = "libabsl_",
        header = "absl/base/config.h",
        libraries = _ABSL,
        own = "abseil",
        package = "libabsl-dev",
    )
    maybe(
        _system_library,
        name = "com_google_googletest",
        header = "gmock/gmock.h",
        libraries = _GOOGLETEST,
        package = "libgmock-dev",
    )
    maybe(
        _system_library,
        name = "com_github_google_benchmark",
        header = "benchmark/benchmark.h",
        libraries = _BENCHMARK,
        package = "libbenchmark-dev",
    )
    maybe(
        _system_library,
        name = "nlohmann_json",
        header = "nlohmann/json.hpp",
        libraries = {"json": []},
        package = "nlohmann-json3-dev",
    )
    maybe(
        _system_library,
        name = "rapidjson",
        header = "rapidjson/reader.h",
        libraries = {"rapidjson": []},
        package = "rapidjson-dev",
    )
    maybe(
        _system_library,
        name = "cli11",
        header = "CLI/CLI.hpp",
        libraries = {"cli11": []},
        package = "libcli11-dev",
    )
    maybe(
        # OpenSSL here; a source build would use BoringSSL, hence the label.
        _system_library,
        name = "boringssl",
        header = "openssl/evp.h",
        libraries = {"crypto": ["-lcrypto"]},
        package = "libssl-dev",
    )
    maybe(
        _system_library,
        name = "zlib",
        header = "zlib.h",
        libraries = {"zlib": ["-lz"]},
        package = "zlib1g-dev",
    )
    maybe(_protobuf, name = "com_google_protobuf")
    maybe(_libtorch, name = "libtorch")
    maybe(_clang, name = "local_config_clang")
