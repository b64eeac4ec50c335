"""What a program means before any fact is seen: its passes, its graphs, its strata.

Reads the AST (`tidalog.program`), gives an `Analysis`.  No data, no plans and no engine enter here.
"""
