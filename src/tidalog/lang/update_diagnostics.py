"""Errors that only update scripts can have (T025–T029).

`MissingSigns` and `VariableInUpdate` have the numbers of the messages that they adapt to scripts.
"""

from __future__ import annotations

from tidalog.lang.diagnostics import VariableInFact
from tidalog.model.errors import Diagnostic


class MissingSign(Diagnostic):
    number = "T025"
    title = "a sign is missing before this statement"
    reason = "an update says whether it inserts (+) or deletes (-)"
    hint = "{advice}"


class MissingSigns(MissingSign):
    """One message for all missing signs after the first few."""

    title = "{count} more statements without a sign"
    reason = "this is the first of them"
    hint = "{advice}"


class RuleWithoutWord(Diagnostic):
    number = "T026"
    title = "a rule without the word rule"
    reason = "a sign is followed by a fact"
    hint = "{advice}"


class RuleToRemove(Diagnostic):
    number = "T027"
    title = "{problem}"
    reason = "a rule is removed by its name"
    hint = "write -rule r3.  The name stands before the rule's colon; quote a name that is not one word"


class NotConstant(Diagnostic):
    number = "T028"
    title = "{what} in the fact of an update"
    reason = "a fact that is inserted or deleted has constants only"
    hint = "{advice}"


class DirectiveInScript(Diagnostic):
    number = "T029"
    title = "@{name} is not allowed in an update script"
    reason = "a script has @prefix and @base, facts and rules with a sign, and commit"
    hint = "put @{name} into the program"


class VariableInUpdate(VariableInFact):
    hint = "an update names its facts one by one; what holds for every {variable} is a rule: +rule …"
