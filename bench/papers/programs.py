"""The programs of the paper's evaluation (its Appendix B), in the words of Tidalog."""

from __future__ import annotations

P_TRANS = """\
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- edge(?x, ?y), path(?y, ?z) .
"""
"""Paths of a graph: most facts have many derivations."""

P_SEQ = """\
edge1(?x, ?y) :- edge(?x, ?y) .
edge2(?x, ?y) :- edge1(?x, ?y) .
edge3(?x, ?y) :- edge2(?x, ?y) .
edge4(?x, ?y) :- edge3(?x, ?y) .
"""
"""One edge under four more names: every fact has one derivation."""

P_MAP = """\
sameStart:   connection(?v, ?w) :- nextInWay(?x, _, ?v), nextInWay(?x, _, ?w), ?v != ?w .
startsAtEnd: connection(?v, ?w) :- nextInWay(?x, _, ?v), nextInWay(_, ?x, ?w), ?v != ?w .
endsAtStart: connection(?v, ?w) :- nextInWay(_, ?x, ?v), nextInWay(?x, _, ?w), ?v != ?w .
sameEnd:     connection(?v, ?w) :- nextInWay(_, ?x, ?v), nextInWay(_, ?x, ?w), ?v != ?w .
onward:      connection(?u, ?w) :- connection(?u, ?v), connection(?v, ?w) .
"""
"""Which ways of a map are connected: the program of the real tracks, and of `examples/map`."""

PROGRAMS = {"trans": P_TRANS, "seq": P_SEQ, "map": P_MAP}
