"""The terms that a `ReadResult` stands for, as the dictionary would read them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tidalog.io.result import ReadResult
from tidalog.model.term_text import from_python, parse_any
from tidalog.model.terms import IRI, BlankNode, String, Term

_READ: dict[str, Callable[[Any], Term]] = {"native": from_python, "string": String, "iri": IRI}


def columns_of(result: ReadResult) -> list[list[Term]]:
    return [
        [_READ.get(column.reading, parse_any)(value) for value in column.array.to_pylist()]
        for column in result.columns
    ]


def without_scope(term: Term) -> Term:
    """A blank node of a file by the label that it has there."""
    return BlankNode(re.sub(r"^f[0-9a-f]{12}_", "", term.label)) if isinstance(term, BlankNode) else term


def terms_of(result: ReadResult) -> list[tuple[Term, ...]]:
    """Row by row."""
    return list(zip(*columns_of(result), strict=True))
