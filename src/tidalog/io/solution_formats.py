"""Results of queries in the formats of SPARQL 1.1: JSON, XML, CSV and TSV.

Each function takes the names of the columns and rows of terms, None for no value; or the truth of an ASK,
which only JSON and XML can hold.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

from tidalog.model.terms import IRI, XSD, BlankNode, LangString, String, Term
from tidalog.model.terms import Literal as LiteralTerm
from tidalog.rdf.ntriples import lexical_form, ntriples_text

Rows = Iterable[tuple[Term | None, ...]]


def json_text(names: tuple[str, ...], found: list[tuple[Term | None, ...]] | bool) -> str:
    if isinstance(found, bool):
        return json.dumps({"head": {}, "boolean": found}) + "\n"
    bindings = [
        {name: _json_term(term) for name, term in zip(names, row, strict=True) if term is not None}
        for row in found
    ]
    whole = {"head": {"vars": list(names)}, "results": {"bindings": bindings}}
    return json.dumps(whole, ensure_ascii=False) + "\n"


def _json_term(term: Term) -> dict[str, str]:
    match term:
        case IRI(value):
            return {"type": "uri", "value": value}
        case BlankNode(label):
            return {"type": "bnode", "value": label}
        case String(value):
            return {"type": "literal", "value": value}
        case LangString(value, language):
            return {"type": "literal", "value": value, "xml:lang": language}
    value, datatype = lexical_form(term)
    return {"type": "literal", "value": value, "datatype": datatype}


def xml_text(names: tuple[str, ...], found: list[tuple[Term | None, ...]] | bool) -> str:
    start = '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">\n'
    if isinstance(found, bool):
        truth = "true" if found else "false"
        return f"{start}<head/>\n<boolean>{truth}</boolean>\n</sparql>\n"
    variables = "".join(f"<variable name={quoteattr(name)}/>" for name in names)
    rows = "".join(f"<result>{_xml_bindings(names, row)}</result>\n" for row in found)
    return f"{start}<head>{variables}</head>\n<results>\n{rows}</results>\n</sparql>\n"


def _xml_bindings(names: tuple[str, ...], row: tuple[Term | None, ...]) -> str:
    return "".join(
        f"<binding name={quoteattr(name)}>{_xml_term(term)}</binding>"
        for name, term in zip(names, row, strict=True)
        if term is not None
    )


def _xml_term(term: Term) -> str:
    match term:
        case IRI(value):
            return f"<uri>{escape(value)}</uri>"
        case BlankNode(label):
            return f"<bnode>{escape(label)}</bnode>"
        case String(value):
            return f"<literal>{escape(value)}</literal>"
        case LangString(value, language):
            return f"<literal xml:lang={quoteattr(language)}>{escape(value)}</literal>"
    value, datatype = lexical_form(term)
    return f"<literal datatype={quoteattr(datatype)}>{escape(value)}</literal>"


def csv_text(names: tuple[str, ...], found: list[tuple[Term | None, ...]] | bool) -> str:
    """Values without their types, as the format asks for."""
    assert not isinstance(found, bool)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(names)
    writer.writerows([["" if term is None else _plain(term) for term in row] for row in found])
    return out.getvalue()


def _plain(term: Term) -> str:
    match term:
        case IRI(value) | String(value) | LangString(value):
            return value
        case BlankNode(label):
            return f"_:{label}"
    return lexical_form(term)[0]


def tsv_text(names: tuple[str, ...], found: list[tuple[Term | None, ...]] | bool) -> str:
    """Terms as Turtle writes them."""
    assert not isinstance(found, bool)
    lines = ["\t".join(f"?{name}" for name in names)]
    lines += ["\t".join("" if term is None else _turtle(term) for term in row) for row in found]
    return "\n".join(lines) + "\n"


def _turtle(term: Term) -> str:
    if isinstance(term, IRI | BlankNode | String | LangString | LiteralTerm):
        return ntriples_text(term)
    value, datatype = lexical_form(term)
    return value if datatype == XSD + "integer" else ntriples_text(term)
