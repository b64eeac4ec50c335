"""Functions on text.  Positions and lengths count Unicode code points; positions start at 1.

A text argument is a string or a language string; STR converts other terms.  Functions of a language string
keep its language; CONCAT, STR and the digests give plain strings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from urllib.parse import quote, unquote

from tidalog.builtins import patterns
from tidalog.builtins.base import Builtin, CannotCompute, canonical_text, text_of, whole_number_of
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
)

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _like(original: Term, text: str) -> Term:
    """The text with the language that the original has, if any."""
    return LangString(text, original.language) if isinstance(original, LangString) else String(text)


def concatenate(arguments: Sequence[Term]) -> Term:
    texts = [canonical_text(argument) for argument in arguments]
    patterns.check_size(sum(map(len, texts)))
    return String("".join(texts))


def full_text(term: Term) -> str:
    """A term as N-Triples writes it: `<iri>`, `"text"`, `"text"@en`, `"5"^^<datatype>`."""
    match term:
        case IRI(value):
            return f"<{value}>"
        case BlankNode(label):
            return f"_:{label}"
        case String(value):
            return _quoted(value)
        case LangString(value, language):
            return f"{_quoted(value)}@{language}"
        case Literal(lexical, datatype):
            return f"{_quoted(lexical)}^^<{datatype}>"
        case Integer() | Double() | Boolean():
            return f"{_quoted(canonical_text(term))}^^<{XSD}{type(term).__name__.lower()}>"


def _quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(character, character) for character in text) + '"'


def substring(arguments: Sequence[Term]) -> Term:
    """The characters at positions `start` to `start + length - 1`, as far as there are any."""
    text, start = text_of(arguments[0]), whole_number_of(arguments[1])
    end = len(text) + 1
    if len(arguments) == 3:
        end = min(end, start + whole_number_of(arguments[2]))
    return _like(arguments[0], text[max(start, 1) - 1 : max(end, 1) - 1])


def before(arguments: Sequence[Term]) -> Term:
    head, found, _ = _parts(arguments)
    return _like(arguments[0], head) if found else String("")


def after(arguments: Sequence[Term]) -> Term:
    _, found, tail = _parts(arguments)
    return _like(arguments[0], tail) if found else String("")


def _parts(arguments: Sequence[Term]) -> tuple[str, bool, str]:
    text, separator = text_of(arguments[0]), text_of(arguments[1])
    at = text.find(separator)
    return text[: max(at, 0)], at >= 0, text[at + len(separator) :]


def compare(arguments: Sequence[Term]) -> Term:
    left, right = text_of(arguments[0]), text_of(arguments[1])
    return Integer((left > right) - (left < right))


def matches(arguments: Sequence[Term]) -> Term:
    flags = text_of(arguments[2]) if len(arguments) == 3 else ""
    return Boolean(patterns.search(text_of(arguments[1]), flags, text_of(arguments[0])))


def replace(arguments: Sequence[Term]) -> Term:
    text, pattern, replacement = map(text_of, arguments[:3])
    flags = text_of(arguments[3]) if len(arguments) == 4 else ""
    return _like(arguments[0], patterns.replace(pattern, flags, replacement, text))


def edit_distance(arguments: Sequence[Term]) -> Term:
    """How many insertions, deletions and replacements of a character turn one text into the other."""
    left, right = text_of(arguments[0]), text_of(arguments[1])
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return Integer(row[-1])


def encode_for_uri(text: str) -> str:
    return quote(_bytes(text), safe="")


def decode_uri(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise CannotCompute("the percent signs do not spell UTF-8") from None


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise CannotCompute("the text has half a surrogate pair, which UTF-8 cannot hold") from None


def _digest(algorithm: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(algorithm, _bytes(text), usedforsecurity=False).hexdigest()


def _same_kind(name: str, function: Callable[[str], str], summary: str) -> Builtin:
    """Text to text; a language string stays one."""
    return Builtin(name, 1, 1, lambda a: _like(a[0], function(text_of(a[0]))), summary)


def _plain(name: str, function: Callable[[str], str], summary: str) -> Builtin:
    """Text to plain string."""
    return Builtin(name, 1, 1, lambda a: String(function(text_of(a[0]))), summary)


def _test(name: str, holds: Callable[[str, str], bool], summary: str) -> Builtin:
    return Builtin(name, 2, 2, lambda a: Boolean(holds(text_of(a[0]), text_of(a[1]))), summary)


BUILTINS: tuple[Builtin, ...] = (
    Builtin("STR", 1, 1, lambda a: String(canonical_text(a[0])), "the text of any term"),
    Builtin("FULLSTR", 1, 1, lambda a: String(full_text(a[0])), "any term with its type, as in N-Triples"),
    Builtin("CONCAT", 0, None, concatenate, "the texts of all arguments, one after the other"),
    Builtin("STRLEN", 1, 1, lambda a: Integer(len(text_of(a[0]))), "number of characters"),
    _same_kind("STRREV", lambda text: text[::-1], "the characters in reverse"),
    Builtin("SUBSTR", 2, 3, substring, "from a position on, at most that many characters"),
    _same_kind("UCASE", str.upper, "in upper case"),
    _same_kind("LCASE", str.lower, "in lower case"),
    _same_kind("TRIM", str.strip, "without white space at both ends"),
    _test("CONTAINS", lambda text, part: part in text, "whether the second occurs in the first"),
    _test("STRSTARTS", str.startswith, "whether the first starts with the second"),
    _test("STRENDS", str.endswith, "whether the first ends with the second"),
    Builtin("STRBEFORE", 2, 2, before, "what stands before the second, empty if it does not occur"),
    Builtin("STRAFTER", 2, 2, after, "what stands after the second, empty if it does not occur"),
    Builtin("COMPARE", 2, 2, compare, "-1, 0 or 1 as the first is before, equal to or after the second"),
    Builtin("REGEX", 2, 3, matches, "whether a regular expression matches somewhere; flags i, m, q, s, x"),
    Builtin("REPLACE", 3, 4, replace, "every match replaced; $1 to $9 are groups, $0 the match"),
    Builtin("LEVENSHTEIN", 2, 2, edit_distance, "edit distance of two texts"),
    _plain("URIENCODE", encode_for_uri, "percent-encoded for use in a URI"),
    _plain("ENCODE_FOR_URI", encode_for_uri, "percent-encoded for use in a URI"),
    _plain("URIDECODE", decode_uri, "decodes percent-encoding"),
    _plain("MD5", _digest("md5"), "MD5 digest in hexadecimal"),
    _plain("SHA1", _digest("sha1"), "SHA-1 digest in hexadecimal"),
    _plain("SHA256", _digest("sha256"), "SHA-256 digest in hexadecimal"),
    _plain("SHA384", _digest("sha384"), "SHA-384 digest in hexadecimal"),
    _plain("SHA512", _digest("sha512"), "SHA-512 digest in hexadecimal"),
)
