"""SPARQL queries and continuous queries (C-SPARQL)."""

from tidalog.lang.sparql.parser import parse_registrations, parse_statement

__all__ = ["parse_registrations", "parse_statement"]
