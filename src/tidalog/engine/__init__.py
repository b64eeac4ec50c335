"""The embedded engine: dictionary, fact store, indexes and the plan machine.

Python at the surface, numba inside.  The compiled code is fixed and cached on disk; it interprets plans held
in integer arrays.  Text, syntax and files do not enter here: the engine speaks term ids, Arrow and plans.
"""
