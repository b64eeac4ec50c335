"""Writes RDF: statements are columns of text in N-Triples syntax, the fourth that of graphs (empty: none).

N-Triples and N-Quads are these texts.  pyoxigraph writes the other syntaxes, from one slice of statements
after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Final, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyoxigraph as ox

from tidalog import arrow_compute as pc
from tidalog.io.diagnostics import NotInSyntax
from tidalog.io.rdf_read import SYNTAXES
from tidalog.io.row_text import bytes_of
from tidalog.model.errors import DataError
from tidalog.model.terms import RDF

_SLICE: Final = 1 << 16
_IRI: Final = r"<[A-Za-z][A-Za-z0-9+.-]*:[^\\>]*>|<[^\\:>]*>"
_BLANK: Final = r"_:[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_-])?"
RULES: Final = (
    (0, rf"^(?:{_IRI}|{_BLANK})$", "the subject of a triple is an IRI or a blank node"),
    (1, rf"^(?:{_IRI})$", "the predicate of a triple is an IRI"),
    (2, rf"^(?:[^<_]|{_BLANK}$|(?:{_IRI})$)", "an IRI has no spaces, quotes or brackets inside"),
    (3, rf"^(?:|{_IRI}|{_BLANK})$", "a graph is an IRI or a blank node"),
)
"""What the columns of a statement match, so that other tools read them."""
_NAME: Final = r"A-Za-z_\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}"
_NO_NAME: Final = rf"[^{_NAME}0-9.\-\x{{B7}}>][0-9.\-\x{{B7}}]*>$"
"""How the IRI of a property ends that is not the name of an XML element."""
_TAKEN: Final = (
    rf"^<{RDF}(?:RDF|ID|about|parseType|resource|nodeID|datatype|Description|aboutEach|aboutEachPrefix|bagID"
    r"|li)>$"
)
"""Names that mean something else as an element."""
_NO_NODE: Final = rf"^_:[^{_NAME}]"
_NOT_XML: Final = r'^".*(?:[^\\](?:\\\\)*\\(?:[rbf]|u00[01])|[\x00-\x08\x0b-\x1f\x{FFFE}\x{FFFF}])'
_RELATIVE: Final = tuple(
    (column, r"^<[^:>]*>$|\^\^<[^:>]*>$", "it has a relative IRI, which readers resolve")
    for column in range(4)
)


def misfits(columns: Sequence[pa.ChunkedArray]) -> Iterator[tuple[npt.NDArray[np.bool_], str]]:
    """For each rule that some statements break: these, and the rule."""
    for column, pattern, rule in RULES[: len(columns)]:
        wrong = pc.invert(pc.match_substring_regex(columns[column], pattern))
        if pc.any(wrong, min_count=0).as_py():
            yield wrong.to_numpy(), rule


def lines(columns: Sequence[pa.ChunkedArray]) -> Iterator[bytes | memoryview]:
    """Statements as lines."""
    for start in range(0, len(columns[0]), _SLICE):
        terms = [column.slice(start, _SLICE) for column in columns]
        row = pc.binary_join_element_wise(*terms[:3], " ")
        if len(terms) > 3:
            named = pc.binary_join_element_wise(row, terms[3], " ")
            row = pc.if_else(pc.equal(terms[3], ""), row, named)
        yield from bytes_of(pc.binary_join_element_wise(row, " .\n", ""))


def write_rdf(
    columns: Sequence[pa.ChunkedArray],
    syntax: str,
    prefixes: Mapping[str, str],
    stream: IO[bytes],
    path: Path,
) -> None:
    """Writes statements."""
    if syntax in ("ntriples", "nquads"):
        for piece in lines(columns):
            stream.write(piece)
        return
    if syntax in _LIMITS:
        _check_syntax(columns, syntax, path)
    given = ox.RdfFormat.N_QUADS if len(columns) > 3 else ox.RdfFormat.N_TRIPLES
    parsed = (ox.parse(bytes(piece), given, lenient=True) for piece in lines(columns))
    # Quads alone: a statement of a file without graphs is in the default one.
    statements: Iterable[ox.Quad | ox.Triple] = chain.from_iterable(parsed)
    if syntax in ("turtle", "rdfxml"):
        statements = (cast("ox.Quad", quad).triple for quad in statements)
    known = {name: iri for name, iri in prefixes.items() if ":" in iri}
    if syntax in ("rdfxml", "jsonld"):
        known.pop("", None)
    ox.serialize(cast("Iterable[ox.Quad]", statements), stream, SYNTAXES[syntax], prefixes=known)


_LIMITS: Final[Mapping[str, Sequence[tuple[int, str, str]]]] = {
    "rdfxml": (
        (1, rf"{_TAKEN}|{_NO_NAME}", "its property is not the name of an XML element"),
        (0, _NO_NODE, "the label of its blank node is not an XML name"),
        (2, _NO_NODE, "the label of its blank node is not an XML name"),
        (2, _NOT_XML, "its literal has a character that XML does not have, or changes"),
        *_RELATIVE,
    ),
    "jsonld": _RELATIVE,
}
"""What a syntax cannot express: a column, a pattern of what it cannot have, and why."""


def _check_syntax(columns: Sequence[pa.ChunkedArray], syntax: str, path: Path) -> None:
    """Raises `DataError` (T190) for a statement that the syntax cannot express."""
    for number, pattern, why in _LIMITS[syntax]:
        if number >= len(columns):
            continue
        wrong = pc.match_substring_regex(columns[number], pattern)
        if pc.any(wrong, min_count=0).as_py():
            row = [column.filter(wrong)[0].as_py() for column in columns]
            raise DataError(NotInSyntax(path=path, statement=" ".join(row).strip(), why=why))
