"""The pipeline on Spark: updates from any source of Spark, to an engine, changes to any sink.

Everything that knows of Spark lives here, and nothing else of Tidalog imports this room but the command line.
PySpark itself is imported when a function is called, not before.
"""
