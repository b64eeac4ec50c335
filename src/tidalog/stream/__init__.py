"""Streams of updates that wait to be applied: sources that can be inspected, and look-ahead.

A `Source` returns items one by one, and shows those that have arrived without taking them and without
waiting.  It works for items of any kind and knows nothing of the engine, the language or file formats.
"""

from tidalog.stream.look_ahead import FirstAlone, upcoming
from tidalog.stream.source import IteratorSource, ListSource, QueueSource, Source, SourceClosed, source_of

__all__ = [
    "FirstAlone",
    "IteratorSource",
    "ListSource",
    "QueueSource",
    "Source",
    "SourceClosed",
    "source_of",
    "upcoming",
]
