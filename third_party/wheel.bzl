"""Packages that only the Python wheel (//python:wheel) needs.

Unlike the repositories of system.bzl, these are downloaded: when a target below //python first
needs them, and never for anything else.
"""

# nanobind makes the bindings, and auditwheel checks the wheel.
_PYTHON_PACKAGES = ["auditwheel==6.8.2", "nanobind==3.1.0"]

def _run(rctx, what, arguments, timeout = 600):
    result = rctx.execute(arguments, timeout = timeout)
    if result.return_code != 0:
        fail("%s: %s" % (what, result.stderr.strip() or result.stdout.strip()))
    return result.stdout

def _debian_sources_impl(rctx):
    # By label, so that an update of the packages brings their new sources.
    sources = [
        rctx.read(Label("@%s//:debian_source" % name))
        for name in ["com_google_absl", "com_google_protobuf"]
    ]
    if "" in sources:
        fail("Abseil and protobuf are not of Debian's packages here, so their sources are not known")
    script = rctx.path(Label("//third_party:fetch_debian_sources.py"))
    _run(rctx, "cannot get Debian's sources", ["python3", script] + sources)
    rctx.symlink(Label("//third_party:debian_sources.BUILD"), "BUILD.bazel")

_debian_sources = repository_rule(
    implementation = _debian_sources_impl,
    doc = "Abseil and protobuf in the versions that are installed. Their static libraries do not " +
          "go into a shared one, and the shared ones share their state with other people's.",
)

# Says where the headers are, and what pack_wheel.py has to know, as JSON.
_ASK = """
import json, sys, sysconfig
if (sys.implementation.name != "cpython" or sys.version_info < (3, 11)
        or sysconfig.get_config_var("Py_GIL_DISABLED")):
    sys.exit("the wheel needs a CPython from 3.11 on, with its lock")
print(sysconfig.get_path("include"))
print(json.dumps({
    "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
    "minor": sys.version_info[1],
}))
"""

def _python_impl(rctx):
    python = rctx.os.environ.get("PYTHON") or "/usr/bin/python3"
    if "/" not in python:
        python = str(rctx.which(python) or python)
    if not rctx.path(python).exists:
        fail("PYTHON=%s is not there" % python)
    include, facts = _run(rctx, python, [python, "-c", _ASK]).strip().split("\n")
    if not rctx.path(include + "/Python.h").exists:
        fail("%s has no headers: there is no Python.h in %s" % (python, include))
    rctx.symlink(include, "include")
    rctx.file("python.json", facts + "\n", executable = False)

    # Debian's Python has pip in environments only.
    _run(rctx, "%s makes no environment" % python, [python, "-m", "venv", "environment"])
    _run(rctx, "pip cannot install " + " ".join(_PYTHON_PACKAGES), [
        "environment/bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        "--target=packages",
    ] + _PYTHON_PACKAGES)
    rctx.delete("environment")

    # Licences of what is compiled in: nanobind, and the map inside, whose licence stands in its header.
    name = _PYTHON_PACKAGES[1].replace("==", "-")
    rctx.symlink("packages/%s.dist-info/licenses/LICENSE" % name, "nanobind.LICENSE")
    header = rctx.read("packages/nanobind/ext/robin_map/include/tsl/robin_map.h")
    rctx.file("robin_map.LICENSE", header.partition("#ifndef")[0], executable = False)
    rctx.symlink(python, "python3")
    rctx.symlink(Label("//third_party:python.BUILD"), "BUILD.bazel")

_python = repository_rule(
    implementation = _python_impl,
    doc = "The Python that the wheel is for, $PYTHON or Debian's, its headers, and tools of Python.",
    environ = ["PYTHON"],
)

def wheel_repositories():
    """Declares them; each is looked at only when a target needs it."""
    _debian_sources(name = "debian_sources")
    _python(name = "python")
