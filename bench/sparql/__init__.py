"""SPARQL queries over universities, beside pyoxigraph."""
