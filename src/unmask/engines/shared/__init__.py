"""Weights in columns, and which keys a query can see: the fast engine and symbolic execution both rest on it.

In come a transformer's weights and the queries and keys of any rows; out go products by sparse matrices (`prepared`,
`sparse_product`, over the rows of a `grid`), columns that are equal (`distinct`), and proofs that a query has no weight
on most keys (`bit_codes`, `visible_keys`, `code_index`).
"""
