"""Input and output: files, data frames and rows to columns of terms, and back.

`read_table`, `read_binding` and `from_python` return a `ReadResult`: Arrow columns and how the dictionary
must read them.  `write_table` and `write_binding` take an Arrow table.  Everything works on whole columns;
Python looks only at rows with errors.  Nothing here knows terms, ids or facts: the dictionary decides what a
text means.  Names are imported from their modules, so that a message about data does not load Arrow.
"""
