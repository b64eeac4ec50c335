"""Trees of statements that differ only in their names, IRIs, variables, strings and numbers.

A large program has few shapes of rules.  Two statements have the same shape if they consist of the same
pieces in the same order, up to the text of plain names, IRIs, variables, strings, integers and doubles.
The parser sees the kinds of tokens only, so their trees are equal up to texts and positions: copying the tree
of the first is several times as fast as parsing.

Invariant.  A statement with anything that is not surely read as such a piece has no shape, and is parsed.
"""

from __future__ import annotations

import re
from typing import Final

from lark import Token, Tree
from lark.tree import Meta

_PIECE: Final = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<variable>\?[^\W\d]\w*)"
    r"|(?P<label>\A[^\W\d_]\w*:(?=\s))"
    r"|(?P<prefixed>(?:[^\W\d_]\w*)?:\w+)(?![\w:\"'%-]|\.[\w.%-])"
    r"|(?P<iri><[A-Za-z][A-Za-z0-9+.-]*:[^<>\"{}|^`\\\x00-\x20?]*>)"
    r"|(?P<name>[^\W\d_]\w*)(?![\w:\"'-])"
    r'|(?P<string>"[^"\\\n]+")(?![\w"@^])'
    r"|(?P<double>[0-9]+\.[0-9]+)(?:(?![\w.])|(?=\.\Z))"
    r"|(?P<integer>[0-9]+)(?:(?![\w.])|(?=\.\Z))|#[^\W\d]\w*|_(?![\w:])|:-|[!<>]=|<(?=[\s?0-9\"])|[(),.~=>+*/;-]"
)
_RESERVED: Final = re.compile(r"a|true|false|in", re.IGNORECASE)
_MOST: Final = 1024
"""Shapes that are kept."""
_LONGEST: Final = 1000
"""Characters of a statement with a shape."""

Copy = tuple[str, int, int, tuple["Copy", ...] | None]
"""A token or a tree: its kind, its first and last piece, and the children of a tree."""
Pieces = list[tuple[int, int]]
"""Where pieces begin and end."""


class StatementShapes:
    def __init__(self) -> None:
        self._known: dict[str, Copy] = {}

    def shape(self, text: str) -> tuple[str, Pieces] | None:
        """The shape of a statement and its pieces; None if it has no shape."""
        if len(text) > _LONGEST:
            return None
        kinds: list[str] = []
        pieces: Pieces = []
        at = 0
        for found in _PIECE.finditer(text):
            if found.start() != at:
                return None
            at, kind, piece = found.end(), found.lastgroup, found[0]
            if kind == "space":
                kinds.append(" ")
                continue
            if (kind == "name" or kind == "prefixed") and _RESERVED.fullmatch(piece.partition(":")[0]):
                kind = None
            kinds.append(piece if kind is None else f"\0{kind}")
            pieces.append((found.start(), at))
        return ("\1".join(kinds), pieces) if at == len(text) and pieces else None

    def copied(self, shape: str, pieces: Pieces, text: str) -> Tree[Token] | None:
        """The tree of a statement of a known shape."""
        copy = self._known.get(shape)
        return None if copy is None else _tree(copy, pieces, text)

    def keep(self, shape: str, pieces: Pieces, tree: Tree[Token]) -> None:
        """The tree of the first statement of a shape."""
        if len(self._known) >= _MOST:
            self._known.clear()
        starts = {start: number for number, (start, _) in enumerate(pieces)}
        ends = {end: number for number, (_, end) in enumerate(pieces)}
        try:
            self._known[shape] = _copy(tree, starts, ends)
        except KeyError:
            return  # a token is not a piece


def _copy(tree: Tree[Token], starts: dict[int, int], ends: dict[int, int]) -> Copy:
    children: list[Copy] = []
    for child in tree.children:
        if isinstance(child, Tree):
            children.append(_copy(child, starts, ends))
        else:
            children.append((child.type, starts[child.start_pos or 0], ends[child.end_pos or 0], None))
    meta = tree.meta
    first, last = (-1, -1) if meta.empty else (starts[meta.start_pos], ends[meta.end_pos])
    return tree.data, first, last, tuple(children)


def _tree(copy: Copy, pieces: Pieces, text: str) -> Tree[Token]:
    kind, first, last, parts = copy
    children: list[Tree[Token] | Token] = []
    for part in parts or ():
        if part[3] is None:
            start, end = pieces[part[1]][0], pieces[part[2]][1]
            children.append(Token(part[0], text[start:end], start, end_pos=end))
        else:
            children.append(_tree(part, pieces, text))
    meta = Meta()  # type: ignore[no-untyped-call]
    if first >= 0:
        meta.empty, meta.start_pos, meta.end_pos = False, pieces[first][0], pieces[last][1]
    return Tree(kind, children, meta)
