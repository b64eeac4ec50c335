"""Text in and out: grammars, statements, printer; one module per dialect, all lowering to one AST.

Nothing here looks at what a program means beyond its text; that is analysis.
"""
