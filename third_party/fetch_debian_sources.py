"""Fetches Debian source packages and unpacks each into a folder of its name here.

    fetch_debian_sources.py PACKAGE=VERSION...

They come from where the system has its own packages from. The lists that apt needs for that are
kept here and removed again: the system's settings stay as they are, and nobody has to be root.
"""
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path.cwd()
APT = HERE / "apt"
ETC = pathlib.Path("/etc/apt")


def of_debian(suites):
    """Other people's repositories seldom have sources, and apt refuses all if one is not there."""
    name = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    return any(suite.split("-")[0].rstrip("/") == name for suite in suites)


def source_lists():
    """The system's lists of packages, as lists of sources: file name and text."""
    parts = ETC / "sources.list.d"
    for file in [ETC / "sources.list", *sorted(parts.glob("*.list"))]:
        lines = file.read_text().splitlines() if file.exists() else []
        found = [re.fullmatch(r"deb\s+(\[[^]]*\]\s+)?(\S+)\s+(\S+)(.*)", line.strip()) for line in lines]
        yield file.name, "".join(f"deb-src {m[1] or ''}{m[2]} {m[3]}{m[4]}\n"
                                 for m in found if m and of_debian([m[3]]))
    for file in sorted(parts.glob("*.sources")):
        stanzas = re.split(r"\n\s*\n", file.read_text())
        yield file.name, "\n\n".join(
            re.sub(r"^Types:.*$", "Types: deb-src", stanza, flags=re.M) for stanza in stanzas
            if of_debian("".join(re.findall(r"^Suites:(.*)$", stanza, re.M)).split())) + "\n"


def apt_get(*arguments):
    options = {"Dir::Etc::SourceList": "/dev/null", "Dir::Etc::SourceParts": APT / "sources",
               "Dir::State::Lists": APT / "lists", "Dir::Cache": APT / "cache",
               "APT::Sandbox::User": "root"}
    done = subprocess.run(["apt-get", "-qq", *(f"-o{name}={value}" for name, value in options.items()),
                           *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"apt-get {' '.join(arguments)}: {done.stderr or done.stdout}")


def main():
    for folder in ("sources", "lists/partial", "cache/archives/partial"):
        (APT / folder).mkdir(parents=True)
    for name, text in source_lists():
        (APT / "sources" / name).write_text(text)
    apt_get("update")
    for wanted in sys.argv[1:]:
        before = set(HERE.iterdir())
        apt_get("source", wanted)
        for made in set(HERE.iterdir()) - before:
            if made.is_dir():
                made.rename(wanted.partition("=")[0])
            else:
                made.unlink()
    shutil.rmtree(APT)
    for file in [*HERE.rglob("BUILD.bazel"), *HERE.rglob("WORKSPACE")]:
        file.unlink()  # Bazel would take their folders for packages and leave them out of ours.


main()
