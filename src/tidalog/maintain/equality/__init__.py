"""Facts modulo equality: which terms become equal, and which may no longer be.

The engine holds facts over representatives, and beside them, in relations that no rule of the program reads,
what is needed to undo that.  Invariant, between updates:

    ?equal(t, r)         t is in a class of several terms, whose representative is r; also r itself
    ?given P(t…, r…)     the explicit fact P(t…) has a term in a class; P(r…) is what the engine has for it
    ?denotes(c, r)       r stands for c, a constant of a rule

An explicit fact without such a term is explicit in the engine; one with such terms is explicit there if it
stands for one in `?given P`.  `engine.equal` has the same classes as arrays.
"""
