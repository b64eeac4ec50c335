"""The compiled part of maintenance: one file per algorithm, over the engine's facts, plans and log.

A kernel here keeps its whole state in arrays, comes back wherever something is wanted (see `engine.opcodes`)
and goes on when it is called again.  No kernel knows a rule: plans come in as integers, filters with them.
"""
