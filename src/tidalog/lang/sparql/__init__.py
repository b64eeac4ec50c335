"""SPARQL queries and continuous queries (C-SPARQL)."""

from tidalog.lang.sparql.answers import Translation
from tidalog.lang.sparql.parser import parse_registrations, parse_statement
from tidalog.lang.sparql.translate import translate

__all__ = ["Translation", "parse_registrations", "parse_statement", "translate"]
