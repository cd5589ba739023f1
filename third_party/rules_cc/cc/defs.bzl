"""The C++ rules built into Bazel under their rules_cc names.

Debian's own copy of rules_cc is too new for its Bazel 4.2.3.
"""

cc_binary = native.cc_binary
cc_import = native.cc_import
cc_library = native.cc_library
cc_proto_library = native.cc_proto_library
cc_test = native.cc_test
cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
