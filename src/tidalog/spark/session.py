"""The Spark session: an existing one, else one of our own that starts quietly.

A session that the user has created is never changed.  Our own has settings for small batches on one machine,
which the caller's settings override.  The output of the JVM goes to a file; error messages quote it.
"""

from __future__ import annotations

import atexit
import os
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from tidalog.spark.diagnostics import MasterUnreachable, SparkError, SparkNotStarted
from tidalog.spark.internals import running_context, start_context
from tidalog.spark.java import Java, find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL: Final = "local[*]"
_PATIENCE: Final = 5.0
"""How many seconds a master has to accept a connection."""
_SHOWN_LINES: Final = 3
_DEFAULTS: Final = {
    "spark.app.name": "tidalog",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.session.timeZone": "UTC",
    # A stream has endless jobs, and Spark would keep them on the heap for its web pages.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.ui.retainedExecutions": "20",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}
_ON_THIS_MACHINE: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Opening a file is cheap here, so even a small one is read in pieces, by all cores.
    "spark.sql.files.openCostInBytes": "65536",
}
_LOG_SETTINGS: Final = """rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
"""


def active_session() -> SparkSession | None:
    """The session of this process, if there is one that is not stopped."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark.sql import SparkSession

    return SparkSession.builder.getOrCreate() if running_context() is not None else None


def spark_session(
    master: str | None = None, config: Mapping[str, str] | None = None, packages: str | None = None
) -> SparkSession:
    """The existing session, whatever its settings; else a new one on `master` (`local[*]`).
    `config` overrides our own settings; `packages` are Maven coordinates of connectors for Spark to fetch.

    Raises `SparkError` if there is no Java (T110), the session does not start (T111) or nothing answers at
    `master` (T112).
    """
    found = active_session()
    if found is not None:
        return found
    asked = dict(config or {})
    where = master or asked.get("spark.master") or LOCAL
    _check_reachable(where)
    settings = {**_DEFAULTS, **(_ON_THIS_MACHINE if where.startswith("local") else {}), **asked}
    settings["spark.master"] = where
    if packages:
        settings["spark.jars.packages"] = packages
    with _spinner(f"Starting Spark ({where})"):
        return _started(settings)


def _check_reachable(master: str) -> None:
    """Checked here because Spark itself tries for a minute and then stops without a reason."""
    if not master.startswith("spark://"):
        return
    problem = "no master answers"
    for one in master.removeprefix("spark://").split(","):
        try:
            address = urlsplit(f"spark://{one}")
            with socket.create_connection((address.hostname or "", address.port or 7077), _PATIENCE):
                return
        except (OSError, ValueError) as error:
            problem = f"{one}: {getattr(error, 'strerror', None) or error}"
    raise SparkError(MasterUnreachable(master=master, why=problem))


def _started(settings: dict[str, str]) -> SparkSession:
    java = find_java()
    folder = Path(tempfile.mkdtemp(prefix="tidalog-spark-"))
    atexit.register(_remove, folder)
    log = folder / "spark.log"
    quiet = folder / "log4j2.properties"
    quiet.write_text(_LOG_SETTINGS, encoding="utf-8")
    settings.setdefault("spark.sql.warehouse.dir", (folder / "warehouse").as_uri())
    given = settings.get("spark.driver.extraJavaOptions", "")
    settings["spark.driver.extraJavaOptions"] = f"-Dlog4j2.configurationFile={quiet.as_uri()} {given}".strip()

    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    try:
        return SparkSession(start_context(conf, _environment(java), log))
    except Exception as error:
        raise SparkError(_not_started(error, log, settings)) from error


def _environment(java: Java) -> dict[str, str]:
    """The variables that PySpark reads while a context starts; by default, workers run the driver's
    Python."""
    python = {
        name: os.environ.get(name, sys.executable) for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    }
    return {"JAVA_HOME": str(java.home), **python}


def _not_started(error: Exception, log: Path, settings: Mapping[str, str]) -> SparkNotStarted:
    found = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    messages = [line for line in found if _is_message(line)]
    lines = (messages or found)[:_SHOWN_LINES] or [str(error).strip().split("\n")[0]]
    hint = "check the settings of Spark that you gave"
    packages = settings.get("spark.jars.packages")
    if packages is not None and any("unresolved" in line.lower() for line in found):
        hint = f"{packages} could not be fetched: check the name and the network"
    return SparkNotStarted(master=settings["spark.master"], why=" / ".join(lines), hint=hint)


def _is_message(line: str) -> bool:
    """Whether a line of the log is a message, and not a stack frame."""
    return not line.startswith("at ") and any(word in line for word in ("Exception", "rror", "unresolved"))


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _spinner(text: str) -> Iterator[None]:
    """A spinner on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(file=sys.stderr).status(text):
        yield
