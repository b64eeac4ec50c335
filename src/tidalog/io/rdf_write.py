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
from tidalog.io.columns import shown
from tidalog.io.diagnostics import NotRdfXml
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
_NAME: Final = r"[A-Za-z_\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{2FF}\x{370}-\x{37D}\x{37F}-\x{1FFF}]"
_NAME_END: Final = rf"{_NAME}[A-Za-z0-9_.\-\x{{B7}}\x{{C0}}-\x{{D6}}\x{{D8}}-\x{{F6}}\x{{F8}}-\x{{37D}}]*>$"
"""How the IRI of a property ends that is the name of an XML element."""
_TAKEN: Final = (
    rf"^<{RDF}(?:RDF|ID|about|parseType|resource|nodeID|datatype|Description|aboutEach|aboutEachPrefix|bagID"
    r"|li)>$"
)
"""Names that mean something else as an element."""
_NOT_XML: Final = r"[^\\](?:\\\\)*\\(?:[rbf]|u00[01])|[\x00-\x08\x0b-\x1f\x{FFFE}\x{FFFF}]"
"""Characters of a literal that XML has not, or changes."""


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
    if syntax == "rdfxml":
        _check_xml(columns, path)
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


def _check_xml(columns: Sequence[pa.ChunkedArray], path: Path) -> None:
    """Raises `DataError` (T190) for a statement that RDF/XML cannot express."""
    _, predicates, objects = columns[:3]
    is_name = pc.match_substring_regex(predicates, _NAME_END)
    is_taken = pc.match_substring_regex(predicates, _TAKEN)
    odd = pc.and_(pc.starts_with(objects, '"'), pc.match_substring_regex(objects, _NOT_XML))
    for wrong, why in (
        (pc.or_(pc.invert(is_name), is_taken), "its property is not the name of an XML element"),
        (odd, "its literal has a character that XML does not have, or changes"),
    ):
        if pc.any(wrong, min_count=0).as_py():
            row = [column.filter(wrong)[0].as_py() for column in columns[:3]]
            raise DataError(NotRdfXml(path=path, statement=shown(" ".join(row)), why=why))
