"""The evaluations of two papers, repeated.

"Backward/Forward with Marking for Update Streams" (Illich and Glimm, 2025): `programs` has its rules,
`streams` its update streams, `figures` its tables; `java` is what the streams need of Java, with whose random
numbers and sets they were made.  `short_lived` makes streams of our own.

"ZodiacEdge" (Xu and Curé, 2023), whose rules change: `rule_sets` has its rules and data, `rule_figures` what
it prints of its times.
"""
