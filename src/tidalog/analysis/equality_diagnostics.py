"""The errors of `@equality`: T240–T249."""

from __future__ import annotations

from tidalog.model.errors import Diagnostic


class EqualityNeedsNegation(Diagnostic):
    number = "T240"
    title = "{equality} depends on {what} in rule {rule}"
    reason = "every predicate depends on what is equal, so what is equal would depend on its own absence"
    hint = "derive {equality} by rules without negation and aggregates, from predicates that have such rules"


class EqualityNeedsDifference(Diagnostic):
    number = "T241"
    title = "{equality} depends on {function} in rule {rule}"
    reason = "{function} has another value once two of its terms are equal, and then nothing makes them equal"
    hint = "leave {function} out: that a term is equal to itself does no harm; or compare with a literal"


class IndividualComputed(Diagnostic):
    number = "T242"
    title = "{function} computes a term in a program with @equality"
    reason = "a computed IRI may be equal to another term, which is not known while rules run"
    hint = "compute the IRI before it comes in as a fact"


class EqualityWithWindows(Diagnostic):
    number = "T244"
    title = "{name} is a window in a program with @equality"
    reason = "facts in windows have times of their own, which equal facts do not share"
    hint = "leave @equality out, or the window"


class EqualityOfArity(Diagnostic):
    number = "T245"
    title = "{name} cannot be an equality: it has {arity} arguments"
    reason = "an equality is between two terms"
    hint = "name a predicate with two arguments, such as owl:sameAs"


class NotWithEquality(Diagnostic):
    number = "T246"
    title = "{what} in a program with @equality"
    reason = "{why}"
    hint = "{advice}"
