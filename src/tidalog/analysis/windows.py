"""Windows: one for each name, over predicates whose facts come in."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from tidalog.analysis.diagnostics import (
    DerivedStream,
    NoTimeThere,
    WindowDerived,
    WindowOfTriples,
    WindowOfWindow,
    WindowTwice,
    text_position,
)
from tidalog.analysis.draft import Draft, Use
from tidalog.analysis.model import PredicateInfo
from tidalog.analysis.rewrite import atoms
from tidalog.analysis.specialise import triple_use
from tidalog.model.program import WITNESS, Window
from tidalog.rdf.layout import TRIPLE


def check_windows(draft: Draft) -> None:
    """A window has one name and a stream of facts.  Only the stream fills a window with a name of its own,
    with what comes in."""
    first: dict[str, Window] = {}
    for window in draft.program.windows:
        known = first.setdefault(window.name, window)
        if known != window:
            name, position = draft.label(window.name), text_position(known.span)
            draft.report(WindowTwice(window.span, name=name, first_position=position))
    named = {window.name for window in first.values() if window.name != window.source}
    heads = {head.predicate: head for working in draft.rules for head in working.rule.heads}
    written = (fact for fact in draft.facts if any(term is not WITNESS for term in fact.arguments))
    facts = {fact.predicate: fact for fact in written}
    shorthands = _shorthands(draft)
    imported = {binding.predicate: binding for binding in draft.program.imports}
    for window in first.values():
        if window.source in named:
            draft.report(WindowOfWindow(window.span, name=window.name, source=draft.label(window.source)))
        for predicate in {window.name, window.source}:
            if predicate == TRIPLE or predicate in shorthands:
                draft.report(WindowOfTriples(window.span, name=draft.label(predicate)))
        derived = heads.get(window.source)
        if derived is not None and window.source not in named:
            within = "it enters no window" if window.name in named else "it never expires"
            words = {"source": draft.label(window.source), "effect": within}
            draft.report(DerivedStream(window.span, derived.span, **words))
        if window.name in named:
            for filled in (heads, facts, imported):
                found = filled.get(window.name)
                if found is not None:
                    words = {"name": draft.label(window.name), "source": draft.label(window.source)}
                    draft.report(WindowDerived(found.span or window.span, **words))


def _shorthands(draft: Draft) -> set[str]:
    """IRIs of properties and classes; with three arguments an IRI is a stream of triples."""
    if not draft.program.windows or not draft.layout.active:
        return set()
    given = ((fact.predicate, len(fact.arguments)) for fact in draft.program.facts)
    found = {name for name, arity in given if arity < 3 and draft.layout.is_shorthand(name)}
    for working in draft.rules:
        for atom in atoms(working.rule):  # shorthands are atoms of `triple` already
            use = triple_use(atom, in_head=False)
            if use is not None and isinstance(use[1], str):
                found.add(use[1])
    return found


def check_times(draft: Draft) -> None:
    """The argument with the time of a stream is declared, and the same for all windows over it."""
    program, known = draft.program, dict[str, str]()
    for window in program.windows:
        if not window.time:
            continue
        name, declaration = draft.label(window.source), program.declared.get(window.source)
        types = dict(zip(declaration.names, declaration.columns, strict=True)) if declaration else {}
        column = types.get(window.time)
        why = ""
        if declaration is None:
            why = f"{name} is not declared"
        elif column is None:
            why = f"{name} has no such argument, it has {', '.join(types)}"
        elif column.type != "dateTime":
            why = f"its type is {column.type}, and a time is a dateTime"
        elif known.setdefault(window.source, window.time) != window.time:
            why = f"another window over {name} takes its time from {known[window.source]}"
        if why:
            draft.report(NoTimeThere(window.span, argument=window.time, name=name, why=why))


def windows_are_defined(draft: Draft) -> None:
    """A window and its stream have facts, and as many arguments as each other."""
    windows = draft.program.windows
    for one, other, window in _pairs(windows):
        use = draft.uses.get(other)
        if use is not None:
            draft.uses.setdefault(one, Use(use.arity, window.span))


def _pairs(windows: Sequence[Window]) -> Iterator[tuple[str, str, Window]]:
    """Names with the same number of arguments: streams and their windows, then windows and their streams."""
    yield from ((window.source, window.name, window) for window in windows)
    yield from ((window.name, window.source, window) for window in windows)


def with_windows(
    infos: Mapping[str, PredicateInfo], windows: Sequence[Window], known: Container[str] | None = None
) -> Mapping[str, PredicateInfo]:
    """The predicates of facts and rules (those that are `known`), and with them windows and streams, as
    `windows_are_defined` says."""
    if not windows:
        return infos
    found = dict(infos)
    if known is not None:
        for name in {name for window in windows for name in (window.name, window.source)}:
            if name not in known:
                found.pop(name, None)
    for one, other, _ in _pairs(windows):
        if one not in found and other in found:
            found[one] = PredicateInfo(one, found[other].arity, explicit=True, derived=False)
    return found
