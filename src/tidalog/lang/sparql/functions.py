"""Functions of SPARQL that no program can name: GROUP_CONCAT, and those whose value is another one each time.

The latter exist in queries that are asked once.  They get a number that tells their calls in a text apart,
and the solution they are called for, so that there is one call for each solution.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from tidalog.builtins import canonical_text
from tidalog.model.term_text import from_python
from tidalog.model.terms import IRI, XSD, BlankNode, String, Term, literal

CONCATENATION: Final = "sparql concat"
"""The aggregate: values, separator."""
_PREFIX: Final = "SPARQL "
CHANCE: Final = ("BNODE", "NOW", "RAND", "STRUUID", "UUID")


def of_chance(name: str) -> str:
    """The name of a function that has another value each time."""
    return _PREFIX + name


def concatenated(values: list[object], separators: list[str]) -> String:
    texts = [canonical_text(from_python(value)) for value in values]
    return String(separators[0].join(texts))


def _new_node() -> BlankNode:
    return BlankNode(f"b{uuid.uuid4().hex}")


def _new_text(*solution: object) -> str:
    return str(uuid.uuid4())


def _new_iri(*solution: object) -> IRI:
    return IRI(f"urn:uuid:{uuid.uuid4()}")


def _random(*solution: object) -> float:
    return random.random()


Function = Callable[..., object]
KEPT: Final[Mapping[str, Function]] = MappingProxyType({f"#{CONCATENATION.upper()}": concatenated})
"""Functions that rules may use."""
RANGES: Final = MappingProxyType(
    {f"#{CONCATENATION.upper()}": (2, None), **{of_chance(name): (1, None) for name in CHANCE}}
)
"""How many arguments each takes."""


def of_one_query() -> dict[str, Function]:
    """The functions of a query that is asked now."""
    now = literal(
        datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"), XSD + "dateTime"
    )

    nodes: dict[tuple[object, ...], BlankNode] = {}

    def node(label: object, *solution: object) -> BlankNode:
        """The node of a label is the same within a solution; without a label (a number) it is a new one."""
        if isinstance(label, str):
            return nodes.setdefault((label, *solution), _new_node())
        if isinstance(label, int):
            return _new_node()
        raise ValueError("a label is a string")

    def the_time(*solution: object) -> Term:
        return now

    found: dict[str, Function] = {
        "BNODE": node,
        "NOW": the_time,
        "RAND": _random,
        "STRUUID": _new_text,
        "UUID": _new_iri,
    }
    return {**KEPT, **{of_chance(name): function for name, function in found.items()}}
