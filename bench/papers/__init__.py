"""The evaluation of "Backward/Forward with Marking for Update Streams" (Illich and Glimm, 2025), repeated.

`programs` has its rules, `streams` its update streams, `figures` its tables; `java` is what the streams need
of Java, with whose random numbers and sets they were made.  `short_lived` makes streams of our own.
"""
