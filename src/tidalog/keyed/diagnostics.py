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
    hint = "start with the program, the key and the labels of before, or with an empty checkpoint"


class NoKeyedState(Diagnostic):
    number = "T124"
    title = "{path} has no state of keys"
    reason = "{why}"
    hint = "name the checkpoint of a stream that was started with keyed(…).start or stream --key"


class RuleOfOneKey(Diagnostic):
    number = "T132"
    title = "a rule is that of every key"
    reason = "this row has a key and is about a rule"
    hint = "leave the key of such rows empty"


class RuleTooWide(Diagnostic):
    number = "T133"
    title = "{predicate} has {arity} arguments, and the changes of this stream have {arguments}"
    reason = "the columns of a stream stay as they were when it began"
    hint = "say arguments={arity} (--arguments {arity}), and start again"


class RuleMovesTriples(Diagnostic):
    number = "T134"
    title = "this rule cannot come to a keyed stream"
    reason = "facts would have to move: it is the first to speak of triples, or of their classes at large"
    hint = "put the rule into the program, and start with an empty checkpoint"


class RuleForbidsFacts(Diagnostic):
    number = "T136"
    title = "the facts of the program alone violate the constraint {constraint}"
    reason = "every key begins with them, so that no key could come any more"
    hint = "change the rule"


class RuleViolated(Diagnostic):
    number = "T135"
    title = "the change of rules of {update} makes {keys} violate the constraint {constraint}"
    reason = "rules are those of every key, so that none of them can refuse the change for itself: {examples}"
    hint = "mend the facts of these keys, or take the rule out of the stream; nothing of the batch was done"


class BucketsFixed(Diagnostic):
    number = "T129"
    title = "{path} has {buckets} buckets, and its keys cannot go to {asked}"
    reason = (
        "the source is read again from its beginning then, and updates without labels would be applied twice"
    )
    hint = "leave the number of buckets as it is, or give the updates a column update"
