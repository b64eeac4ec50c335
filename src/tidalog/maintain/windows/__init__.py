"""Windows: which explicit facts of a stream are in, by the time at which they came.

A window turns time into ordinary updates: what comes in is inserted, what is too old is deleted.  So rules,
negation and aggregates over windows are maintained by every strategy, as under any other update.
"""
