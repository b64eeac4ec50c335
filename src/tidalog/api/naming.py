"""Names that users write: of predicates, of the columns of a result, of parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

from tidalog.analysis import Analysis, PredicateInfo
from tidalog.api.diagnostics import bad_argument
from tidalog.io.update_diagnostics import UnknownPredicate
from tidalog.lang.names import full_name
from tidalog.model.errors import UsageError
from tidalog.model.program import Aggregate, Atom, Negation, Rule, Variable, flat_literals
from tidalog.model.registered import OF_ONTOLOGY, is_of_query
from tidalog.model.term_text import NAME, from_python
from tidalog.model.terms import Term
from tidalog.rdf.layout import TRIPLE

_NOT_IN_AN_IRI: Final = re.compile(r'[\x00-\x20<>"{}|^`\\\ud800-\udfff]')


def checked_name(predicate: str, prefixes: Mapping[str, str]) -> str:
    """The full name of a predicate that data is to be added to.  Raises `UsageError`."""
    name = full_name(predicate, prefixes) if isinstance(predicate, str) else ""
    if NAME.fullmatch(name) or (":" in name and not _NOT_IN_AN_IRI.search(name) and name[0] not in "#?"):
        return name
    problem = f"{predicate or '(nothing)'} cannot be the name of a predicate"
    hint = "use letters, digits and underscores, and start with a letter"
    raise bad_argument(problem, "a predicate is a name such as edge, or an IRI", hint)


def user_predicates(analysis: Analysis) -> dict[str, PredicateInfo]:
    """The predicates that users know; all relations of triples are `triple`."""
    layout = analysis.triples
    infos = [info for name, info in analysis.predicates.items() if not is_hidden(name)]
    found = {info.name: info for info in infos if not layout.holds(info.name)}
    if layout.active:
        derived = any(info.derived for info in infos if layout.holds(info.name))
        found[TRIPLE] = PredicateInfo(TRIPLE, 3, True, derived)
    return dict(sorted(found.items()))


def known_predicate(predicate: str, analysis: Analysis) -> str:
    """The full name of a predicate: `full_name`, or a name as results and deltas have it.  Raises
    `UsageError` if it is unknown."""
    if not isinstance(predicate, str):
        checked_name(predicate, {})
    name = predicate
    if not _is_known(name, analysis):
        name = full_name(predicate, analysis.program.prefixes)
    _check_known(name, predicate, analysis)
    return name


def _is_known(name: str, analysis: Analysis) -> bool:
    """Whether `user_predicates` has a name, at the same cost in programs of any size."""
    if analysis.triples.holds(name):
        return name == TRIPLE
    return name in analysis.predicates and not is_hidden(name)


def _check_known(name: str, written: str, analysis: Analysis) -> None:
    if _is_known(name, analysis) or analysis.triples.is_shorthand(name):
        return
    known = [analysis.label(known) for known in user_predicates(analysis)]
    near = get_close_matches(written, known, 1, 0.6)
    listed = ", ".join(known[:_LISTED]) + (" …" if len(known) > _LISTED else "")
    hint = f"did you mean {near[0]}?" if near else f"predicates are {listed}" if known else ""
    raise UsageError(UnknownPredicate(name=written, hint=hint))


_LISTED: Final = 12


def check_query(rule: Rule, analysis: Analysis) -> None:
    """Every predicate of a query is known."""
    for literal in flat_literals(rule.body):
        atom = literal.atom if isinstance(literal, Negation) else literal
        if isinstance(atom, Atom):
            _check_known(atom.predicate, analysis.label(atom.predicate), analysis)


def predicates_read(rule: Rule, analysis: Analysis) -> frozenset[str]:
    """The predicates whose facts a query depends on, by the names that a delta has for them."""
    atoms = [
        literal.atom if isinstance(literal, Negation) else literal for literal in flat_literals(rule.body)
    ]
    names = {atom.predicate for atom in atoms if isinstance(atom, Atom)}
    return frozenset(TRIPLE if holds_triples(analysis, name) else name for name in names)


def column_names(head: Atom) -> list[str]:
    """The names of columns: those of variables, `count_y` for an aggregate, else `arg3`; each once."""
    names: list[str] = []
    for position, argument in enumerate(head.arguments, 1):
        match argument:
            case Variable(name) if not argument.anonymous:
                wanted = name
            case Aggregate(operator, (Variable(name), *_)):
                wanted = f"{operator}_{name}"
            case _:
                wanted = f"arg{position}"
        while wanted in names:
            wanted += "_"
        names.append(wanted)
    return names


def parameter_terms(parameters: Mapping[str, object]) -> dict[str, Term]:
    """The values of parameters as terms."""
    terms: dict[str, Term] = {}
    for name, value in parameters.items():
        try:
            terms[name.removeprefix("$")] = from_python(value)
        except TypeError as error:
            problem = f"${name} cannot be {value!r}"
            hint = "a parameter is a number, a boolean, a text or a term"
            raise bad_argument(problem, str(error), hint) from error
    return terms


def is_hidden(relation: str) -> bool:
    """Whether a relation is internal: memo relations, groups, views of triples, those of queries and
    ontologies."""
    return is_computed(relation) or is_of_query(relation) or relation.startswith(OF_ONTOLOGY)


def is_computed(relation: str) -> bool:
    """Whether a relation can have no explicit facts."""
    return relation.startswith(("#", "?"))


def holds_triples(analysis: Analysis, predicate: str) -> bool:
    """Whether the facts of a predicate are triples.  An IRI with no argument or more than
    two is a predicate like any other."""
    layout, known = analysis.triples, analysis.predicates.get(predicate)
    if layout.active and predicate == TRIPLE:
        return True
    return layout.is_shorthand(predicate) and (known is None or known.arity in (1, 2))
