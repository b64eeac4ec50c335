"""Data in and out: files, data frames and rows to columns of terms, and back.

`read_table`, `read_binding` and `from_python` return a `ReadResult`: Arrow columns and how the dictionary is
to read them.  `write_table` and `write_binding` take an Arrow table.  Everything works on whole columns; no
row is looked at by Python unless it is wrong.  Terms, ids and facts do not enter here: what a text means is
for the dictionary to say.  Names are imported from their modules, so that a message about data does not load
Arrow.
"""
