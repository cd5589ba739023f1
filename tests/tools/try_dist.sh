#!/usr/bin/env bash
# Tries an unpacked tarball of //:dist where it lies: the tool, and examples/consumer-*.
#
#   tests/tools/try_dist.sh FOLDER [LIBTORCH]
#
# Without LIBTORCH, what needs it is only tried in its absence. Of CMake, pkg-config and Bazel
# those are tried that are installed. Ends with "N passed, N failed".
set -uo pipefail
project=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(cd "$1" && pwd)
libtorch=${2:-}
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
sample=$project/samples/resnet.pb
passed=0
failed=0

check() {
  local name=$1
  shift
  if "$@" >"$scratch/log" 2>&1; then
    passed=$((passed + 1))
    echo "ok: $name"
  else
    failed=$((failed + 1))
    echo "FAILED: $name"
    tail -n 30 "$scratch/log"
  fi
}

# Nothing of this shell's environment helps.
clean() { env -i HOME="$scratch" PATH=/usr/bin:/bin TMPDIR="$scratch" "$@"; }

# says_one_line CODE WORDS COMMAND…: fails so, with one line that has these words.
says_one_line() {
  local code=$1 words=$2 said
  shift 2
  said=$("$@" 2>&1)
  [ $? -eq "$code" ] && [ "$(wc -l <<<"$said")" -eq 1 ] && grep -q "$words" <<<"$said" ||
    { echo "$said"; return 1; }
}

# cmake refuses in its own form, which holds our line.
cmake_refuses() {
  local words=$1
  shift
  clean cmake -S "$scratch/cmake" -B "$scratch/refused" -DCMAKE_PREFIX_PATH="$folder" "$@" \
    >"$scratch/refusal" 2>&1 && return 1
  cat "$scratch/refusal"
  tr -s '\n ' ' ' <"$scratch/refusal" | grep -q "$words"
}

# without_libtorch PROGRAM: what it links.
without_libtorch() { ldd "$1" && ! ldd "$1" | grep -Eq 'libtorch|libc10|not found'; }

# The headers that docs/library.md lists are those that the two big ones include, and four more.
public_headers() {
  local include=$folder/include
  sed -n 's/^| `\(graphnet\/[a-z0-9_\/]*\.h\)` | .*/\1/p' "$project/docs/library.md" | sort >"$scratch/listed"
  { sed -n 's/^#include "\(.*\)"/\1/p' "$include/graphnet/graphnet.h" "$include/graphnet/graphnet_torch.h" |
    grep -v '^graphnet/graphnet.h$'
    echo graphnet/base/report.h
    echo graphnet/base/status.h
    echo graphnet/cli/call.h
    echo graphnet/paddle/formats.h
  } | sort >"$scratch/included"
  diff "$scratch/listed" "$scratch/included" &&
    while read -r header; do [ -f "$include/$header" ] || { echo "no $header"; return 1; }; done <"$scratch/listed"
}

# A program gives what the first one gave.
surgery() {
  local out=$scratch/out.pb
  without_libtorch "$1" && clean "$1" "$sample" "$out" && cmp "$out" "${first:-$out}"
}
run() {
  local sum
  sum=$(clean "$1" "$scratch/first.pb") && grep -q '^sum ' <<<"$sum" && echo "$sum" &&
    [ "$sum" = "${first_sum:-$sum}" ]
}

# It prints what the tool prints.
calls_commands() {
  local other=$project/samples/vit.pb
  clean "$1" "$sample" "$other" >"$scratch/called" &&
    clean "$tool" stats "$sample" --cost >"$scratch/printed" &&
    clean "$tool" stats "$sample" --cost --json >>"$scratch/printed" &&
    head -n "$(wc -l <"$scratch/printed")" "$scratch/called" | diff - "$scratch/printed" &&
    grep -q '"equal": false' "$scratch/called" && grep -q 'exit code 1' "$scratch/called"
}

for kind in bazel cmake pkgconfig; do
  cp -r "$folder/examples/consumer-$kind" "$scratch/$kind"
  chmod -R u+w "$scratch/$kind"
done

check "the public headers are those of docs/library.md" public_headers

# --- The tool ------------------------------------------------------------------

tool=$folder/bin/graphnet
mkdir -p "$scratch/older/lib" && touch "$scratch/older/lib/libtorch_cpu.so"
echo "__version__ = '2.12.1+cpu'" >"$scratch/older/version.py"
check "the tool links no LibTorch, and nothing that is missing" without_libtorch "$tool"
check "the tool without LibTorch: a check" clean "$tool" check "$sample"
check "the tool without LibTorch: a conversion" clean "$tool" convert "$sample" "$scratch/resnet.gn"
check "the tool without LibTorch: its version" bash -c \
  "env -i '$tool' --version | grep -q 'LibTorch not found: needs'"
check "the tool without LibTorch: a run" says_one_line 2 "needs LibTorch 2" clean "$tool" run "$sample"
check "the tool, LIBTORCH is another version" says_one_line 2 "2.12.1+cpu, but graphnet needs" \
  clean LIBTORCH="$scratch/older" "$tool" run "$sample"
check "the tool, LIBTORCH is no LibTorch" says_one_line 2 "has no lib" \
  clean LIBTORCH="$scratch" "$tool" run "$sample"
if [ -n "$libtorch" ]; then
  check "the tool runs a graph" clean LIBTORCH="$libtorch" "$tool" run "$sample"
  mkdir "$scratch/prefix" && cp -r "$folder"/. "$scratch/prefix" && ln -s "$libtorch" "$scratch/prefix/libtorch"
  check "the tool finds LibTorch beside it, through links" bash -c \
    "ln -s '$scratch/prefix/bin/graphnet' '$scratch/graphnet' && env -i PATH=/usr/bin:/bin '$scratch/graphnet' run '$sample'"
fi

# --- An Abseil without HashTableSizeOverflow, as Ubuntu 24.04 has it ----------------

# Links a program where the function has another name in Abseil's library.
links_without_overflow() {
  local library flags
  library=$(ldconfig -p | awk '/libabsl_raw_hash_set\.so\./ {print $NF; exit}')
  mkdir -p "$scratch/abseil"
  LC_ALL=C sed s/HashTableSizeOverflow/HashTableSizeOverfloX/g <"$library" \
    >"$scratch/abseil/$(basename "$library")"
  ln -sf "$(basename "$library")" "$scratch/abseil/libabsl_raw_hash_set.so"
  flags=$(PKG_CONFIG_PATH=$folder/lib/pkgconfig pkg-config --cflags --libs graphnet-core) &&
    # shellcheck disable=SC2086  # flags are words
    c++ -std=c++20 "$scratch/cmake/histogram.cc" -o "$scratch/old_abseil" -L"$scratch/abseil" \
      -Wl,-rpath,"$scratch/abseil:$folder/lib" $flags &&
    env -i "$scratch/old_abseil" "$project/samples/vit.pb" >/dev/null
}
# The system has the Abseil that the libraries were built with; otherwise theirs is taken.
abseil_fits() {
  PKG_CONFIG_PATH=$folder/lib/pkgconfig pkg-config --exists graphnet-core
}
kinds=(-abseil)  # endings of packages of pkg-config
own_headers=(-I "$folder/abseil/include")
if command -v pkg-config >/dev/null && abseil_fits; then
  kinds=("" -abseil)
  own_headers=()
  check "the library links without HashTableSizeOverflow" links_without_overflow
fi

# --- CMake ---------------------------------------------------------------------

if command -v cmake >/dev/null; then
  made_by_cmake() {  # NAME OPTION…
    local to=$scratch/cmake-$1
    shift
    clean cmake -S "$scratch/cmake" -B "$to" -DCMAKE_BUILD_TYPE=Release \
      -DCMAKE_PREFIX_PATH="$folder" "$@" && clean cmake --build "$to"
  }
  check "CMake builds with core" made_by_cmake shared
  check "what CMake built" surgery "$scratch/cmake-shared/surgery"
  check "CMake's program that calls commands" calls_commands "$scratch/cmake-shared/commands"
  check "CMake builds with static core" made_by_cmake static -Dgraphnet_STATIC=ON
  check "what CMake built, static" surgery "$scratch/cmake-static/surgery"
  check "commands, static" calls_commands "$scratch/cmake-static/commands"
  check "CMake builds with the tarball's Abseil" made_by_cmake own -Dgraphnet_OWN_ABSEIL=ON
  check "what CMake built, with the tarball's Abseil" surgery "$scratch/cmake-own/surgery"
  check "CMake's histogram of operators" bash -c \
    "env -i '$scratch/cmake-shared/histogram' '$project/samples/vit.pb' | grep -qE '^ +[0-9]+  aten.linear.default'"
  check "CMake's program that folds batch norms" bash -c \
    "env -i '$scratch/cmake-shared/fold_batch_norm' '$project/samples/unet.pb' '$scratch/folded.pb' |
     grep -q '^[1-9][0-9]* batch norms folded'"
  if [ -n "$libtorch" ]; then
    check "what it folded computes the same but for rounding" clean LIBTORCH="$libtorch" "$tool" \
      diff-run "$project/samples/unet.pb" "$scratch/folded.pb" --atol 1e-4 --rtol 1e-4
  fi
  first=$scratch/first.pb
  "$scratch/cmake-shared/surgery" "$sample" "$first" || first=
  check "CMake without LibTorch" cmake_refuses "graphnet::torch needs LibTorch 2" -DRUN=ON
  check "CMake, LIBTORCH is another version" cmake_refuses "is another version" \
    -DRUN=ON -DLIBTORCH="$scratch/older"
  if [ -n "$libtorch" ]; then
    check "the tool sees the surgery" bash -c \
      "LIBTORCH='$libtorch' '$tool' stats '$first' | grep -w 17 | grep -q aten.gelu_.default"
    check "CMake builds with torch" made_by_cmake torch -DRUN=ON -DLIBTORCH="$libtorch"
    check "what CMake built with torch" run "$scratch/cmake-torch/run"
    check "CMake's partitions with a backend compute the same" bash -c \
      "env -i PATH=/usr/bin:/bin '$scratch/cmake-torch/partition' '$project/samples/vit.pb' |
       grep -qE '^[1-9][0-9]* groups, [1-9][0-9]* calls of the backend, equal in bits'"
    first_sum=$("$scratch/cmake-torch/run" "$scratch/first.pb")
  fi
fi

# --- A plug-in, which links nothing ----------------------------------------------

if command -v g++ >/dev/null; then
  plugin_builds() {
    clean g++ -std=c++20 -O2 -shared -fPIC -I "$folder/include" "$folder/examples/plugin.cc" \
      "${own_headers[@]}" -o "$scratch/libchain.so"
  }
  plugin_works() {
    printf 'chain\nrelu\ntanh\n' >"$scratch/net.chain"
    clean GRAPHNET_PLUGINS="$scratch/libchain.so" "$tool" convert "$scratch/net.chain" \
      "$scratch/net.pb" &&
      clean GRAPHNET_PLUGINS="$scratch/libchain.so" "$tool" convert "$scratch/net.pb" \
        "$scratch/back.chain" && cmp "$scratch/net.chain" "$scratch/back.chain"
  }
  check "a plug-in is built" plugin_builds
  check "the tool takes it" plugin_works
  new_pass_works() {
    clean "$tool" new pass gelu-to-relu -o "$scratch/mine" &&
      clean make -C "$scratch/mine" GRAPHNET="$folder" &&
      clean GRAPHNET_PLUGINS="$scratch/mine/libgelu-to-relu.so" "$tool" opt "$project/samples/bert.pb" \
        -p gelu-to-relu -o "$scratch/changed.pb" | grep "4 calls changed"
  }
  check "what graphnet new writes is built, and changes a graph" new_pass_works
fi

# --- pkg-config ----------------------------------------------------------------

if command -v pkg-config >/dev/null; then
  made_by_make() {
    clean PKG_CONFIG_PATH="$folder/lib/pkgconfig" LIBTORCH="$libtorch" \
      make -B -C "$scratch/pkgconfig" "$1" KIND="$kind"
  }
  for kind in "${kinds[@]}"; do
    check "pkg-config: graphnet-core$kind" made_by_make surgery
    check "what make built" surgery "$scratch/pkgconfig/surgery"
    if [ -n "$libtorch" ]; then
      check "pkg-config: graphnet-torch$kind" made_by_make run
      check "what make built with torch" run "$scratch/pkgconfig/run"
    fi
  done
fi

# --- Bazel ---------------------------------------------------------------------

if command -v bazel >/dev/null; then
  # Its server ends with the build; what it was given of LibTorch is what the target needs.
  made_by_bazel() {
    sed -i "s#path = \".*\"#path = \"$folder\"#" "$scratch/bazel/WORKSPACE"
    (cd "$scratch/bazel" &&
      clean LIBTORCH="$libtorch" bazel --batch --output_user_root="$scratch/cache" build "$1")
  }
  check "Bazel: core" made_by_bazel //:surgery
  check "what Bazel built" surgery "$scratch/bazel/bazel-bin/surgery"
  if [ -n "$libtorch" ]; then
    check "Bazel: torch" made_by_bazel //:run
    check "what Bazel built with torch" run "$scratch/bazel/bazel-bin/run"
  fi
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
