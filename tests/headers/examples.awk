# Makes a source of the examples that open public headers: a function each. The example of a header
# is the first block of its opening comment that is indented by three blanks.
FNR == 1 { name = FILENAME; sub(/^.*graphnet\//, "", name); gsub(/[^a-z0-9]/, "_", name); state = 0 }
/^#ifndef/ && state < 2 {
  if (state == 1) print "  return absl::OkStatus();\n}"
  state = 2
}
state < 2 && /^\/\/   / {
  if (state == 0) {
    print "[[maybe_unused]] absl::Status Example_" name "() {"
    names = names "    \"" name "\",\n"
    state = 1
  }
  print "  " substr($0, 6)
}
state == 1 && !/^\/\/   / { print "  return absl::OkStatus();\n}"; state = 2 }
END { print "const char* const kExamples[] = {\n" names "};" }
