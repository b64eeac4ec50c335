"""The embedded engine: dictionary, fact store, indexes and the executors.

Python at the surface, numba inside.  The compiled code is fixed, one object file (`kernel_object`); it
interprets plans held in integer arrays.  Text, syntax and files do not enter here: the engine takes term ids,
Arrow and plans.
"""
