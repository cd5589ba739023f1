// Sets the options that --config=sanitize of .bazelrc sets for tests, for a fuzzer that is started
// by hand.

extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:"
         "external_symbolizer_path=/usr/bin/addr2line";
}

extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
