"""Heads whose keys no single code decides: queries that are alike, keys that are alike, and which can meet at all.

In come the queries, keys and values of a head; out go the sums of the rows that see many keys (`class_attention`), and
for every other row a list of the keys that it has weight on. `opposites` proves which signs exclude each other, `signs`
joins what is left, `key_classes` finds what is alike.
"""
