"""What can be wrong with keyed streams."""

from __future__ import annotations

from tidalog.errors import Diagnostic


class BadKey(Diagnostic):
    number = "T122"
    title = "{column} cannot be the key"
    reason = "{why}"
    hint = "{hint}"


class StateOfAnotherProgram(Diagnostic):
    number = "T123"
    title = "the checkpoint has the keys of another program"
    reason = "{why}"
    hint = "start with the program, the key and the labels of before, or with an empty checkpoint"


class NoKeyedState(Diagnostic):
    number = "T124"
    title = "{path} has no state of keys"
    reason = "{why}"
    hint = "name the checkpoint of a stream that was started with keyed(…).start or stream --key"


class BucketsFixed(Diagnostic):
    number = "T129"
    title = "{path} has {buckets} buckets, and its keys cannot go to {asked}"
    reason = (
        "the source is read again from its beginning then, and updates without labels would be applied twice"
    )
    hint = "leave the number of buckets as it is, or give the updates a column update"
