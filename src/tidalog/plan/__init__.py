"""From rules to plans: lowering, join order, logical plans.

The same for every engine: names, variables and terms here; ids, registers and opcodes are an engine's affair.
"""
