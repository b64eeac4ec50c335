"""The compiled part of maintenance: one file per algorithm, over the engine's facts, plans and log.

A kernel keeps its whole state in arrays, returns whenever it needs something (see `engine.opcodes`) and
continues when it is called again.  No kernel knows a rule: plans and filters are integers.
"""
