"""The errors and warnings of analysis: T010–T029, T130, T137–T138, T152–T154 and W010–W029.

One class per number; a number is never reused.
"""

from __future__ import annotations

import re

from tidalog.model import amounts
from tidalog.model.errors import Diagnostic, Source, Span


class ArityDiffers(Diagnostic):
    number = "T010"
    title = "{predicate} has {arity} here and {first_arity} elsewhere"
    reason = "{arity}"
    second_reason = "{first_arity}{also}"
    hint = "a predicate has one number of arguments; rename one of the two, or add what is missing"


class ImportArityDiffers(Diagnostic):
    number = "T011"
    title = "the import of {predicate} gives {arity}, its uses have {first_arity}"
    reason = "{arity} from the format of the import, but {first_arity} at {first_position}"
    hint = "let the format name one type per argument; `skip` leaves a column of the file out"


class ExportArityDiffers(ImportArityDiffers):
    title = "the export of {predicate} has {arity}, its uses have {first_arity}"
    reason = "{arity} in the format of the export, but {first_arity} at {first_position}"
    hint = "let the format name one type per argument; an export has all of them"


class UnboundHeadVariable(Diagnostic):
    number = "T012"
    title = "variable {variable} of the head is not bound"
    reason = "no positive literal gives {variable} a value"
    hint = "add a literal with {variable} to the body, or put a constant in the head"


class UnboundNegatedVariable(Diagnostic):
    number = "T013"
    title = "variable {variable} is shared by negated literals and not bound"
    reason = "no positive literal gives {variable} a value"
    hint = (
        "bind {variable} by a positive literal; if the negated literals mean different things by it, "
        "give it a different name in each, or write _"
    )


class UnboundConditionVariable(Diagnostic):
    number = "T014"
    title = "variable {variable} of a condition is not bound"
    reason = "no positive literal gives {variable} a value"
    hint = (
        "a comparison tests values, it finds none: add a literal with {variable}, "
        "or compute it by {variable} = … from variables that are bound"
    )


class UnboundExpressionVariable(Diagnostic):
    number = "T015"
    title = "variable {variable} of an expression is not bound"
    reason = "no positive literal gives {variable} a value"
    hint = "an expression in an argument is computed, not solved: add a literal with {variable}"


class UnboundAggregateVariable(Diagnostic):
    number = "T016"
    title = "variable {variable} of an aggregate is not bound"
    reason = "no positive literal gives {variable} a value"
    hint = "add a literal with {variable} to the body, so that there is something to aggregate"


class DuplicateRuleName(Diagnostic):
    number = "T017"
    title = "two rules are named {name}"
    reason = "the first one is at {first_position}"
    hint = "rules are removed and reported by name: give this one a name of its own"


class TooManyAlternatives(Diagnostic):
    number = "T137"
    title = "this body has {count:,} alternatives"
    reason = "each is a rule of its own, and one rule may become at most {most}"
    hint = "give a disjunction a predicate of its own: either(?x) :- p(?x) ; q(?x)."


class NotPositive(Diagnostic):
    number = "T138"
    title = "{what} cannot be rewritten into a maintenance program"
    reason = "the rewritings are defined for positive rules"
    hint = "remove the rule; `tidalog apply` maintains the program as it is, without a rewriting"


class UnknownFunction(Diagnostic):
    number = "T018"
    title = "there is no function {function}"
    reason = "neither built in nor registered"
    hint = "{suggestion}"


class UnknownAggregate(UnknownFunction):
    title = "there is no aggregate {function}"


class WrongArgumentCount(Diagnostic):
    number = "T019"
    title = "{function} takes {expected}, not {given}"
    reason = "called with {given}"
    hint = "see {function} in the list of built-in functions"


class NegationInCycle(Diagnostic):
    number = "T020"
    title = "negation in a cycle: {cycle}"
    reason = "this needs {predicate} complete, and {predicate} depends on it"
    hint = "break the cycle in one of these rules: {rules}"


class AggregationInCycle(Diagnostic):
    number = "T021"
    title = "aggregation in a cycle: {cycle}"
    reason = "this needs {predicate} complete, and {predicate} depends on it"
    hint = "break the cycle in one of these rules: {rules}"


class UndefinedParameter(Diagnostic):
    number = "T022"
    title = "parameter ${name} has no value"
    reason = "${name} is used here"
    hint = "write `@parameter ${name} = … .`, or give its value from outside{suggestion}"


class ParameterNotComputable(Diagnostic):
    number = "T023"
    title = "the value of parameter ${name} cannot be computed: {why}"
    reason = "declared here"
    hint = "a parameter is a constant, or an expression of constants and parameters that do not need it"


class OptionNotComputable(ParameterNotComputable):
    title = "an option cannot be computed: {why}"
    reason = "its value must be known before any rule is applied"
    hint = 'an option is made of constants, parameters and variables: csv{{resource = ?x}}, ?x = "p.csv"'


class ReservedName(Diagnostic):
    number = "T024"
    title = "<{predicate}> cannot be the name of a predicate"
    reason = "names that start with # or ? are kept for relations of the system"
    hint = "write the IRI in full, or say what it is relative to: @base <http://example.org/> ."


class UnknownRule(Diagnostic):
    number = "T130"
    title = "there is no rule {name} to remove"
    reason = "no rule of the program has this name"
    hint = "{suggestion}"


class DeclaredTwice(Diagnostic):
    number = "T152"
    title = "{predicate} is declared in two ways"
    reason = "it has another declaration at {first_position}"
    hint = "a predicate has one declaration; change one of the two, or rename a predicate"


class DeclaredArityDiffers(Diagnostic):
    number = "T153"
    title = "{predicate} has {arity} here and is declared with {first_arity}"
    reason = "{arity}, but {first_arity} in the declaration at {first_position}"
    hint = "change one of the two, so that there is an argument for each column"


class FactOfAnotherType(Diagnostic):
    number = "T154"
    title = "{value} is not {description}"
    reason = "column {column} is declared as {type} at {position}"
    hint = "{hint}"


class ConstantOfAnotherType(Diagnostic):
    number = "W016"
    title = "{value} is not of the type {type}"
    reason = "column {column} is declared as {type} at {position}, so {effect}"
    hint = "{hint}"


class WindowTwice(Diagnostic):
    number = "T170"
    title = "{name} has two windows"
    reason = "the first is at {first_position}"
    hint = "give each window over a stream a name of its own: @window recent :- {name}, range 10s ."


class WindowOfWindow(Diagnostic):
    number = "T171"
    title = "{source} is a window and not a stream"
    reason = "the facts of {name} would have to come in as facts of {source}"
    hint = "name the stream: @window {name} :- STREAM, range 10s ."


class WindowOfTriples(Diagnostic):
    number = "T172"
    title = "a window over triples"
    reason = "{name} holds the triples of background knowledge, which do not expire"
    hint = "name the stream: @window <stream> :- range 10s . and triple(?s, ?p, ?o) :- <stream>(?s, ?p, ?o) ."


class DerivedStream(Diagnostic):
    number = "W019"
    title = "{source} has a window, and rules derive it"
    reason = "what rules derive has no time: {effect}"
    hint = "put the window over the streams that {source} follows from"
    second_reason = "{source} is derived here"


class WindowDerived(Diagnostic):
    number = "T173"
    title = "{name} is a window over {source}, and nothing else fills it"
    reason = "its facts are those of {source} that are recent enough"
    hint = "insert {source}, or derive another predicate"


class NoTimeThere(Diagnostic):
    number = "T180"
    title = "{argument} cannot be the time of {name}"
    reason = "{why}"
    hint = "declare it: @declare {name}(…, {argument}: dateTime) ."


class LiteralInTriple(Diagnostic):
    number = "T165"
    title = "{value} cannot be the {role} of a triple"
    reason = "{why}"
    hint = "write an IRI as <…> or ex:…; a bare name is a string"


class NeverMatches(Diagnostic):
    number = "W005"
    title = "{value} as the {role} of a triple"
    reason = "{why}"
    hint = "write an IRI as <…> or ex:…; a bare name is a string"


class NeverDefined(Diagnostic):
    number = "W010"
    title = "{predicate} is used but nothing defines it"
    reason = "no rule, fact or import gives {predicate} any facts"
    hint = "{suggestion}"


class UnusedParameter(Diagnostic):
    number = "W011"
    title = "parameter ${name} is never used"
    reason = "nothing reads its value"
    hint = "remove it, or write ${name} where its value is meant"


class RuleTwice(Diagnostic):
    number = "W012"
    title = "rule {name} says the same as rule {first_name}"
    reason = "equal up to the names of variables; the first one is at {first_position}"
    hint = "remove one of the two"


class OutputOfNothing(Diagnostic):
    number = "W013"
    title = "{predicate} is written out but nothing defines it"
    reason = "no rule, fact or import gives {predicate} any facts"
    hint = "{suggestion}"


class HeadInBody(Diagnostic):
    number = "W014"
    title = "rule {name} derives nothing new"
    reason = "this literal of the head stands in the body as well"
    hint = "remove the rule, or the literal"


class UnusablePattern(Diagnostic):
    number = "W015"
    title = "{function} with this pattern is never computed"
    reason = "{why}"
    hint = "patterns are those of RE2, which searches in linear time: no back references, no look-around"


def text_position(span: Span | None) -> str:
    """`file:line:column`, or words if the source is not known."""
    if span is None:
        return "another position"
    line, column = span.source.position(span.start)
    return f"{span.source.name}:{line}:{column}"


def locate(span: Span | None, text: str) -> Span | None:
    """The first whole occurrence of a name within a span; the span itself if it is not found there.

    Variables have no span of their own in the syntax tree.  For dialects that write them without `?`, a
    second search looks for the bare name.
    """
    if span is None:
        return None
    excerpt = span.source.text[span.start : span.end]
    for wanted in (text, text.lstrip("?$")):
        found = _whole_word(excerpt, wanted) if wanted else -1
        if found >= 0:
            return Span(span.source, span.start + found, span.start + found + len(wanted))
    return span


def _whole_word(text: str, word: str) -> int:
    """The offset of the first occurrence of a whole word; -1 if there is none."""
    at = text.find(word)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(word) : at + len(word) + 1]
        if not (_in_word(before) or before in ("?", "$") or _in_word(after)):
            return at
        at = text.find(word, at + 1)
    return -1


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def locate_directive(source: Source | None, directive: str, name: str) -> Span | None:
    """The span of the name in a directive such as `@parameter`; programs do not store these spans."""
    if source is None:
        return None
    found = re.search(rf"@{directive}\s+({re.escape(name)})(?!\w)", source.text)
    return Span(source, found.start(1), found.end(1)) if found else None


def counted(number: int, noun: str) -> str:
    """`1 argument`, `2 arguments`, `no arguments`."""
    return amounts.counted(number, noun) if number else f"no {noun}s"
