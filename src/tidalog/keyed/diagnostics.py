"""What can be wrong with keyed streams."""

from __future__ import annotations

from tidalog.model.errors import Diagnostic


class BadKey(Diagnostic):
    number = "T122"
    title = "{column} cannot be the key"
    reason = "{why}"
    hint = "{hint}"


class StateOfAnotherProgram(Diagnostic):
    number = "T123"
    title = "the checkpoint has the keys of another program"
    reason = "{why}"
    hint = "start with the same program, key and kind of labels as before, or with an empty checkpoint"


class NoKeyedState(Diagnostic):
    number = "T124"
    title = "{path} has no state of keys"
    reason = "{why}"
    hint = "name the checkpoint of a stream that was started with keyed(…).start or stream --key"


class RuleTooWide(Diagnostic):
    number = "T133"
    title = "{predicate} has {arity} arguments, and the changes of this stream have {arguments}"
    reason = "the columns of a running stream are fixed"
    hint = "set arguments={arity} (--arguments {arity}), and start again"


class RuleMovesTriples(Diagnostic):
    number = "T134"
    title = "this rule cannot be added to a keyed stream"
    reason = (
        "facts would move to other relations: it is the first rule about triples, or about classes in general"
    )
    hint = "put the rule into the program, and start with an empty checkpoint"


class RuleForbidsFacts(Diagnostic):
    number = "T136"
    title = "the facts of the program alone violate the constraint {constraint}"
    reason = "every key starts with them, so no new key could be added"
    hint = "change the rule"


class RuleViolated(Diagnostic):
    number = "T135"
    title = "the rule edit of {update} makes {keys} violate the constraint {constraint}"
    reason = "rules hold for every key, so a key cannot refuse the edit by itself: {examples}"
    hint = "fix the facts of these keys, or remove the rule from the stream; nothing of the batch was applied"


class BucketsFixed(Diagnostic):
    number = "T129"
    title = "{path} has {buckets} buckets, and its keys cannot go to {asked}"
    reason = (
        "the source would be read again from its start, and updates without labels would be applied twice"
    )
    hint = "leave the number of buckets as it is, or add a column update to the updates"
