"""Everything that happened in a run, by stable names.

`trace` has the `Trace` of a run, which can be written to JSON and read again. `trace_differences` says where two traces
first differ.
"""
