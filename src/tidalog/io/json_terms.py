"""Terms as values of JSON.

Strings, numbers and booleans are what they are in JSON.  Other terms are objects, as in JSON-LD: `{"@id": …}`
an IRI or a blank node, `{"@value": …, "@language": …}` a text in a language, `{"@value": …, "@type": …}` a
literal of a type, doubles that are not numbers among them.  With `terms`, a string that format `any` would
read as another term is an object too, so that a file is the same facts with this format and without.
"""

from __future__ import annotations

import json
from typing import Final

import pyarrow as pa

from tidalog import arrow_compute as pc
from tidalog.io.row_text import json_texts
from tidalog.io.text_form import any_text, column_text
from tidalog.model.term_text import parse_any, special_double
from tidalog.model.terms import (
    IRI,
    XSD,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    is_text,
    literal,
)

_ID, _VALUE, _TYPE, _LANGUAGE = "@id", "@value", "@type", "@language"
_BLANK: Final = "_:"


def json_values(column: pa.ChunkedArray, reading: str, *, terms: bool = False) -> pa.ChunkedArray:
    """A column with its reading (`reading_of`) as values of JSON."""
    if pa.types.is_float64(column.type):
        finite = pc.is_finite(column)
        text = column_text(column)
        return text if pc.all(finite, min_count=0).as_py() else pc.if_else(finite, text, _objects(text))
    if pa.types.is_int64(column.type) or pa.types.is_boolean(column.type):
        return column_text(column)
    if reading == "string" and pa.types.is_string(column.type):
        return json_texts(column)
    return _objects(any_text(column, reading), terms)


def _objects(text: pa.ChunkedArray, terms: bool = False) -> pa.ChunkedArray:
    """Text in `any` form as values of JSON, each distinct text once."""
    chunks = []
    for chunk in text.chunks:
        encoded = chunk.dictionary_encode()
        words = [json_of(parse_any(word), terms=terms) for word in encoded.dictionary.to_pylist()]
        chunks.append(pa.array(words, pa.string()).take(encoded.indices))
    return pa.chunked_array(chunks, pa.string())


def json_of(term: Term, *, terms: bool = False) -> str:
    """A term as JSON."""
    match term:
        case String(value):
            is_plain = not terms or parse_any(value) == term
            found: object = value if is_plain else {_VALUE: value, _TYPE: XSD + "string"}
        case Integer(value) | Boolean(value):
            found = value
        case Double(value):
            found = value if value - value == 0.0 else {_VALUE: special_double(value), _TYPE: XSD + "double"}
        case IRI(value):
            found = {_ID: value} if not value.startswith(_BLANK) else {_VALUE: value, _TYPE: _ID}
        case BlankNode(label):
            found = {_ID: _BLANK + label}
        case LangString(value, language):
            found = {_VALUE: value, _LANGUAGE: language}
        case Literal(lexical, datatype):
            found = {_VALUE: lexical, _TYPE: datatype}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def iris_of(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The texts of a column of objects if all are IRIs, as Arrow reads them; else None."""
    kind = column.type
    if not pa.types.is_struct(kind) or [field.name for field in kind] != [_ID] or column.null_count:
        return None
    texts = pa.chunked_array([chunk.field(_ID) for chunk in column.chunks])
    if not pa.types.is_string(texts.type) or texts.null_count:
        return None
    return None if pc.any(pc.starts_with(texts, _BLANK), min_count=0).as_py() else texts


def term_of(value: dict[str, object]) -> Term | None:
    """The term that an object stands for, or None."""
    match value:
        case {"@id": str(text), **rest} if not rest and text != _BLANK and is_text(text):
            return BlankNode(text.removeprefix(_BLANK)) if text.startswith(_BLANK) else IRI(text)
        case {"@value": str(text), "@language": str(language), **rest} if not rest:
            try:
                return LangString(text, language)
            except ValueError:
                return None
        case {"@value": str(text), "@type": str(datatype), **rest} if not rest:
            return literal(text, datatype) if datatype != _ID else IRI(text)
        case _:
            return None
