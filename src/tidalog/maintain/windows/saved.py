"""Windows as JSON, for snapshots, and back.

Arrays are compressed bytes in base64.  What comes back is checked before it is used: a number that is out of
range is damage.
"""

from __future__ import annotations

import base64
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tidalog.maintain.windows.contents import Contents, CountContents, TimeContents
from tidalog.maintain.windows.stream_rows import StreamRows
from tidalog.maintain.windows.windows import Stream, Windows
from tidalog.model.facts import Facts
from tidalog.model.program import Window
from tidalog.model.window_times import NEVER, START

Json = dict[str, Any]
_MOST_BYTES: Final = 1 << 34


def saved(windows: Windows) -> Json:
    streams = {source: _saved_stream(stream) for source, stream in windows.streams.items()}
    return {"now": windows.now, "by_arrival": windows.by_arrival, "streams": streams}


def restored(found: Mapping[str, Any], windows: tuple[Window, ...], late: int, terms: int) -> Windows:
    """The counterpart of `saved`, for a dictionary with this number of terms.  Raises `ValueError` or
    `KeyError` for anything else."""
    now, by_arrival = int(found["now"]), found["by_arrival"]
    if not START <= now < NEVER or by_arrival not in (True, False, None):
        raise ValueError("windows have an impossible time")
    result = Windows(windows, late, now, by_arrival)
    for source, stream in found["streams"].items():
        own = result.of_source(source)
        if not own:
            raise ValueError(f"{source} has no window")
        result.streams[source] = _restored_stream(stream, source, own, now, terms)
    return result


def _saved_stream(stream: Stream) -> Json:
    rows = stream.rows
    count = len(rows)
    facts = rows.facts("", np.arange(count, dtype=np.int32))
    return {
        "arity": rows.arity,
        "rows": count,
        "columns": [bytes_of(column) for column in facts.columns],
        "came": bytes_of(rows.came[:count]),
        "deleted": bytes_of(rows.deleted[:count]),
        "contents": [_saved_contents(content, count) for content in stream.contents],
    }


def _saved_contents(content: Contents, rows: int) -> Json:
    content.is_in(np.empty(0, np.int32))
    if isinstance(content, TimeContents):
        return {"expiry": bytes_of(content.expiry[:rows])}
    assert isinstance(content, CountContents)
    updates = content.updates
    return {
        "present": bytes_of(content.present[:rows].astype(np.int8)),
        "last": bytes_of(content.last[:rows]),
        "times": bytes_of(np.array([time for time, _, _ in updates], np.int64)),
        "firsts": bytes_of(np.array([first for _, first, _ in updates], np.int64)),
        "sizes": bytes_of(np.array([len(held) for _, _, held in updates], np.int64)),
        "held": bytes_of(np.concatenate([np.empty(0, np.int32), *(held for _, _, held in updates)])),
        "next": content.next,
    }


def _restored_stream(
    found: Mapping[str, Any], source: str, windows: Sequence[Window], now: int, terms: int
) -> Stream:
    arity, count = int(found["arity"]), int(found["rows"])
    columns = [array_of(text, np.int32, count) for text in found["columns"]]
    if len(columns) != arity or any(len(c) and not 0 <= c.min() <= c.max() < terms for c in columns):
        raise ValueError(f"rows of {source} are not terms")
    stream = Stream(source, windows, arity)
    rows = stream.rows
    if len(np.unique(rows.numbers(Facts(source, columns, count)))) != count:
        raise ValueError(f"{source} has a row twice")
    rows.came[:count] = array_of(found["came"], np.int64, count)
    rows.deleted[:count] = array_of(found["deleted"], np.int64, count)
    if len(found["contents"]) != len(stream.contents):
        raise ValueError(f"{source} has other windows")
    for content, part in zip(stream.contents, found["contents"], strict=True):
        if isinstance(content, TimeContents):
            content.expect(array_of(part["expiry"], np.int64, count), now)
        else:
            assert isinstance(content, CountContents)
            _restore_count(content, part, rows)
    return stream


def _restore_count(content: CountContents, found: Mapping[str, Any], rows: StreamRows) -> None:
    count = len(rows)
    content.is_in(np.empty(0, np.int32))
    content.present[:count] = array_of(found["present"], np.int8, count) != 0
    content.last[:count] = array_of(found["last"], np.int64, count)
    times, firsts, sizes = (array_of(found[name], np.int64, None) for name in ("times", "firsts", "sizes"))
    held = array_of(found["held"], np.int32, None)
    fits = len(times) == len(firsts) == len(sizes) and int(sizes.sum()) == len(held) <= content.window.length
    if (
        not fits
        or (len(sizes) and sizes.min() < 0)
        or (len(held) and not 0 <= held.min() <= held.max() < count)
    ):
        raise ValueError("a window holds rows that are not there")
    parts = np.split(held, np.cumsum(sizes)[:-1]) if len(sizes) else []
    content.updates = deque(zip(times.tolist(), firsts.tolist(), parts, strict=True))
    content.held, content.next = len(held), int(found["next"])


def bytes_of(array: npt.NDArray[np.generic]) -> str:
    return base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes(), 1)).decode("ascii")


def array_of(text: str, dtype: type[np.generic], count: int | None) -> npt.NDArray[Any]:
    size = np.dtype(dtype).itemsize
    most = _MOST_BYTES if count is None else size * count
    packed = zlib.decompressobj()
    content = packed.decompress(base64.b64decode(text, validate=True), most + 1)
    if len(content) > most or len(content) % size or (count is not None and len(content) != most):
        raise ValueError("an array of a window has another length")
    return np.frombuffer(content, dtype).copy()
