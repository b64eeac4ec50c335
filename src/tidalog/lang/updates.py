"""Update scripts (`.upd`): signed facts and rules, grouped into updates by `commit.`

    +edge(a, b).  -edge(b, c).
    commit.
    +rule r9: far(?x) :- path(a, ?x).  -rule r3.
    commit at "2026-05-31T18:30:00Z".

An update has the time of its `commit at`, for windows: a dateTime, or a number of seconds.
A statement is one of the main dialect with a sign before it; terms, triples, comments, @prefix and @base are
those of the main dialect, read by the same code.  The word `rule` after a sign starts a rule, unless a
parenthesis follows: `+rule(a).` is a fact.  A fact of a predicate `rule` without arguments is `+<rule>.`

Law: `parse_updates(print_updates(u)) == u`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tidalog.lang.collector import collector_paused
from tidalog.lang.diagnostics import BadStatement, UnexpectedText, VariableInFact
from tidalog.lang.dialects.main import MainReader
from tidalog.lang.directives import OF_PROGRAMS
from tidalog.lang.fast_facts import SKIP
from tidalog.lang.lexer import Statement
from tidalog.lang.names import Names
from tidalog.lang.printer import Printer
from tidalog.lang.update_diagnostics import (
    DirectiveInScript,
    MissingSign,
    MissingSigns,
    NotConstant,
    RuleToRemove,
    RuleWithoutWord,
    VariableInUpdate,
)
from tidalog.model.errors import Diagnostic, ProgramError, Source, Span
from tidalog.model.program import Atom, Call, Fact, Rule
from tidalog.model.term_text import NAME, BadEscape, quote, unescape
from tidalog.model.window_times import time_in, time_text

_RULE: Final = r"rule(?!\w|-[^\W\d]|:(?!-)|\s*\()"
_NEXT: Final = re.compile(rf"{SKIP}(?:(?P<sign>[+-])(?!\s*{_RULE})|(?P<commit>commit\s*+\.))")
_RULE_WORD: Final = re.compile(_RULE)
_SIGNED: Final = re.compile(rf"[+-]\s*(?P<rule>{_RULE})?\s*")
_COMMIT: Final = re.compile(r"commit(?![\w:(-])\s*")
_AT: Final = re.compile(
    r'at\s*((?P<number>-?[0-9]+(?:\.[0-9]+)?)|"(?P<text>[^"\\\n]*)"(?:\^\^xsd:dateTime)?)\s*\.\Z'
)
_REMOVED: Final = re.compile(r'(?:(?P<name>[\w-]+)|"(?P<quoted>(?:[^"\\\n]|\\.)*)")\s*\.\Z')
_INSTEAD: Final = {
    "": "a statement continues after its sign and ends with a full stop",
    "@": "a directive has no sign",
    "+": "one statement has one sign",
}
_SHOWN: Final = 10
"""How many missing signs are reported one by one: a program read as a script has thousands."""


@dataclass(frozen=True, slots=True)
class ScriptUpdate:
    """One update of a script, each part in text order.  Deletions apply before insertions, and rules are
    removed before others are added, whatever their order in the text."""

    deletions: tuple[Fact, ...] = ()
    insertions: tuple[Fact, ...] = ()
    rules_added: tuple[Rule, ...] = ()
    rules_removed: tuple[str, ...] = ()
    time: int | None = None
    """In microseconds since 1970."""
    span: Span | None = field(default=None, compare=False, repr=False)


def parse_updates(
    text: str, name: str = "<updates>", prefixes: Mapping[str, str] | None = None
) -> list[ScriptUpdate]:
    """The updates of a script.  `prefixes` hold at its beginning.

    Each `commit.` ends an update, which may be empty; statements after the last `commit.` are an update too.
    Raises `ProgramError` with all errors found.
    """
    updates, found = read_updates(Source(name, text), prefixes)
    errors = [diagnostic for diagnostic in found if not diagnostic.is_warning]
    if errors:
        raise ProgramError(errors)
    return updates


def parse_updates_file(path: str | Path, prefixes: Mapping[str, str] | None = None) -> list[ScriptUpdate]:
    """The updates of a file.  One that cannot be read raises `OSError` or `UnicodeDecodeError`."""
    return parse_updates(Path(path).read_text(encoding="utf-8-sig"), str(path), prefixes)


def read_updates(
    source: Source, prefixes: Mapping[str, str] | None = None
) -> tuple[list[ScriptUpdate], list[Diagnostic]]:
    """The updates that could be read, with all errors and warnings."""
    reader = _ScriptReader(source, Names(dict(prefixes or {})))
    with collector_paused():
        reader.read()
    return reader.updates, reader.diagnostics()


def print_updates(updates: Iterable[ScriptUpdate], prefixes: Mapping[str, str] | None = None) -> str:
    """Updates as a script, one statement per line, each update with its `commit.`"""
    printer = Printer(prefixes)
    lines = [printer.prefix(name, iri) for name, iri in (prefixes or {}).items()]
    for update in updates:
        lines += [f"-{_fact_text(printer, fact)}" for fact in update.deletions]
        lines += [f"+{_fact_text(printer, fact)}" for fact in update.insertions]
        lines += [f"-rule {name if NAME.match(name) else quote(name)}." for name in update.rules_removed]
        lines += [f"+rule {printer.rule(rule)}" for rule in update.rules_added]
        lines.append("commit." if update.time is None else f"commit at {_time_text(update.time)}.")
    return "".join(f"{line}\n" for line in lines)


def _time_text(time: int) -> str:
    text = time_text(time)
    return text if time_in(text) == time and ":" not in text else quote(text)


def _fact_text(printer: Printer, fact: Fact) -> str:
    """The text of a fact, in a form that does not start like a rule if its predicate or subject is `rule`."""
    text = printer.fact(fact)
    return f"<rule>{text[4:]}" if _RULE_WORD.match(text) else text


class _ScriptReader:
    """Reads one script.  Plain facts take the fast path; of every other statement, the part after the sign
    goes to the reader of the main dialect."""

    def __init__(self, source: Source, names: Names) -> None:
        self.source = source
        self.main = MainReader(source, names)
        self.updates: list[ScriptUpdate] = []
        self._without_sign: list[Statement] = []
        self._begin()

    def _begin(self) -> None:
        self._deletions: list[Fact] = []
        self._insertions: list[Fact] = []
        self._added: list[Rule] = []
        self._removed: list[str] = []
        self._start: int | None = None

    def _end(self, start: int, end: int, time: int | None = None) -> None:
        """Ends an update whose last statement has the offsets [start, end)."""
        first = start if self._start is None else self._start
        parts = (self._deletions, self._insertions, self._added, self._removed)
        deletions, insertions, added, removed = parts
        span = Span(self.source, first, end)
        self.updates.append(
            ScriptUpdate(tuple(deletions), tuple(insertions), tuple(added), tuple(removed), time, span)
        )
        self._begin()

    def read(self) -> None:
        at, size = 0, len(self.source.text)
        while at < size:
            at = self._plain(at)
            statement = self.main.statements.read(at)
            if statement is None:
                break
            at = statement.end
            if statement.text:
                self._take(statement)
        if self._deletions or self._insertions or self._added or self._removed:
            self._end(size, len(self.source.text.rstrip()))

    def diagnostics(self) -> list[Diagnostic]:
        """Errors, then warnings, each in text order."""
        shown, more = self._without_sign[:_SHOWN], self._without_sign[_SHOWN:]
        for statement in shown:
            self._error(MissingSign(self._span(statement), advice=_sign_advice(statement.text)))
        if more:
            advice = "is this a program, not a script?"
            self._error(MissingSigns(self._span(more[0]), count=f"{len(more):,}", advice=advice))
        self._without_sign = []
        return self.main.diagnostics()

    def _plain(self, at: int) -> int:
        """Reads the plain facts and commits at an offset; returns the offset after the last."""
        text, find, read_one = self.source.text, _NEXT.match, self.main.fact_reader.read_one
        while found := find(text, at):
            if found["commit"]:
                at = found.end()
                self._end(found.start("commit"), at)
                continue
            one = read_one(found.end())
            if one is None:
                break
            fact, at = one
            (self._insertions if found["sign"] == "+" else self._deletions).append(fact)
            if self._start is None:
                self._start = found.start("sign")
        return at

    # --- statements off the fast path ---------------------------------------------------------------

    def _take(self, statement: Statement) -> None:
        text = statement.text
        signed = _SIGNED.match(text)
        commit = _COMMIT.match(text)
        if signed is None and commit is None and not text.startswith("@"):
            if not statement.broken:
                self._without_sign.append(statement)
        elif commit is not None:
            self._commit(statement, commit.end())
        elif statement.broken:
            pass
        elif signed is None:
            self._directive(statement)
        else:
            if self._start is None:
                self._start = statement.start
            rest = _from(statement, signed.end())
            if signed["rule"] is None:
                self._facts(rest, text[0])
            elif text[0] == "+":
                self._add_rule(rest)
            else:
                self._remove_rule(rest)

    def _commit(self, statement: Statement, after: int) -> None:
        if statement.text[after:] == ".":
            self._end(statement.start, statement.end)
            return
        timed = _AT.match(statement.text, after)
        if timed is not None:
            time = time_in(timed["number"] or timed["text"])
            if time is None:
                span = Span(self.source, statement.start + timed.start(1), statement.end - 1)
                why, advice = (
                    "a time is a dateTime or a number of seconds since 1970",
                    "write commit at 12.5.",
                )
                self._error(BadStatement(span, problem="this is not a time", why=why, advice=advice))
            self._end(statement.start, statement.end, time)
            return
        at = statement.start + after
        found = statement.text[after : after + 1]
        self._error(
            UnexpectedText(
                Span(self.source, at, at + 1),
                found=f"`{found}`" if found else "end of the text",
                expected="`.` or `at` and a time after commit",
                advice="a statement ends with a full stop",
            )
        )

    def _directive(self, statement: Statement) -> None:
        other = OF_PROGRAMS.match(statement.text)
        if other is None:
            self.main.take(statement)
            return
        span = Span(self.source, statement.start, statement.start + other.end())
        self._error(DirectiveInScript(span, name=other[1]))

    def _facts(self, rest: Statement, sign: str) -> None:
        read = self._read(rest, "a fact")
        if read is None:
            return
        rules, facts = read
        (self._insertions if sign == "+" else self._deletions).extend(facts)
        for rule in rules:
            if rule.body or rule.name is not None or rule.is_constraint:
                advice = (
                    f"write +rule {_beginning(rest.text)}"
                    if sign == "+"
                    else "write -rule and the rule's name"
                )
                self._error(RuleWithoutWord(self._span(rest), advice=advice))
            else:
                self._error(_not_constant(rule))

    def _add_rule(self, rest: Statement) -> None:
        read = self._read(rest, "a rule")
        if read is None:
            return
        rules, facts = read
        self._added += rules
        if facts:
            heads = tuple(Atom(fact.predicate, fact.arguments, fact.span) for fact in facts)
            self._added.append(Rule(heads, (), None, self._span(rest)))

    def _remove_rule(self, rest: Statement) -> None:
        found = _REMOVED.match(rest.text)
        if found is None:
            nothing = rest.text in (".", "")
            problem = "which rule should be removed?" if nothing else "this is not the name of a rule"
            self._error(RuleToRemove(self._span(rest), problem=problem))
            return
        try:
            self._removed.append(found["name"] or unescape(found["quoted"]))
        except BadEscape:
            self._error(RuleToRemove(self._span(rest), problem="this name has a backslash too many"))

    def _read(self, rest: Statement, expected: str) -> tuple[list[Rule], list[Fact]] | None:
        """The rules and facts of a statement without its sign; None if it has errors."""
        main = self.main
        if rest.text[:1] in ("", "@", "+"):
            span = Span(self.source, rest.start, rest.start + 1)
            found = f"`{rest.text[0]}`" if rest.text else "end of the text"
            self._error(UnexpectedText(span, found=found, expected=expected, advice=_INSTEAD[rest.text[:1]]))
            return None
        rules_before, facts_before, errors_before = len(main.rules), len(main.facts), len(main.errors)
        main.take(rest)
        main.errors[errors_before:] = [_fit_for_scripts(error) for error in main.errors[errors_before:]]
        if len(main.errors) > errors_before:
            return None
        facts = main.facts[facts_before:]
        del main.facts[facts_before:]
        return main.rules[rules_before:], facts

    def _span(self, statement: Statement) -> Span:
        return Span(self.source, statement.start, statement.end)

    def _error(self, diagnostic: Diagnostic) -> None:
        self.main.errors.append(diagnostic)


def _from(statement: Statement, shift: int) -> Statement:
    """The rest of a statement, after its first characters."""
    return Statement(
        statement.start + shift, statement.end, statement.text[shift:], statement.comments, statement.broken
    )


def _fit_for_scripts(error: Diagnostic) -> Diagnostic:
    """The same message with advice for scripts."""
    if isinstance(error, VariableInFact):
        return VariableInUpdate(error.span, **error.values)
    if isinstance(error, BadStatement) and error.values.get("problem") == "this is not an atom":
        advice = "each fact of an update is written with its sign and a full stop: +p(a).  -q(b)."
        return BadStatement(error.span, **{**error.values, "advice": advice})
    return error


def _not_constant(rule: Rule) -> NotConstant:
    """The error for a fact that contains an expression or a parameter."""
    computed = any(isinstance(argument, Call) for head in rule.heads for argument in head.arguments)
    what = "something to compute" if computed else "a parameter"
    advice = "write the value itself" + (", or add a rule that computes it: +rule …" if computed else "")
    return NotConstant(rule.heads[0].span or rule.span, what=what, advice=advice)


def _sign_advice(text: str) -> str:
    first = _beginning(text)
    if ":-" in text or re.match(r"[\w-]+:\s", text):
        return "+rule adds a rule, -rule and its name removes one"
    if first.lower().startswith("commit"):
        return "commit is written in lower case, with a full stop after it"
    return f"write +{first} or -{first}"


def _beginning(text: str) -> str:
    first = text.split("\n", 1)[0].rstrip()
    return first if len(first) <= 60 and first == text else first[:59] + "…"
