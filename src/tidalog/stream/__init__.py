"""Where updates wait until they are applied: sources that can be looked into, and look-ahead.

A `Source` hands out items one after the other, and shows those that are there already without taking them
and without waiting.  What an item is does not matter here, so nothing of the engine, the language or a file
format is known here.
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
