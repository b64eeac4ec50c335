"""Data in and out: files, data frames and rows to columns of terms, and back.

`read_table`, `read_binding` and `from_python` give a `ReadResult`: Arrow columns and how the dictionary is to
read them.  `write_table` and `write_binding` take an Arrow table.  Everything works on whole columns; no row
is looked at by Python unless it is wrong.  Terms, ids and facts do not enter here: what a text means is for
the dictionary to say.
"""

from tidalog.io.binding import export_path, is_rdf, read_binding, write_binding
from tidalog.io.diagnostics import DataDiagnostic, Place
from tidalog.io.frames import from_python
from tidalog.io.read import read_table
from tidalog.io.result import BadRow, BadRows, ReadResult, TermColumn
from tidalog.io.write import write_table
from tidalog.rdf.ntriples import ntriples_text

__all__ = [
    "BadRow",
    "BadRows",
    "DataDiagnostic",
    "Place",
    "ReadResult",
    "TermColumn",
    "export_path",
    "from_python",
    "is_rdf",
    "ntriples_text",
    "read_binding",
    "read_table",
    "write_binding",
    "write_table",
]
