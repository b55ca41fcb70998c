"""System of recurrences → programs: a row per slot, a head per read, an MLP for the rules.

`slot_rows.py` gives slots their rows and codes, as expressions in N. `regions.py` cuts groups into regions in which
every read exists, `rule_tables.py` turns a rule into conjunctions, and `system_plan.py` puts these together, for every
N or for one. `slot_registers.py` defines the computation of a row, and `system_programs.py` makes the programs of all
kinds of models from it; `string_placement.py` orders the rows of chains of thought.

Terms: a *region* is a set of slots in which one table is the rule. The *finder rows* of a slot evaluate its reads over
a range, one row for each index. A *channel* consists of the finder rows of the c-th such read of every region. The
*code* of a row is the number by which heads address it.
"""
