"""Traces: everything that happened in a run, by stable names.

`trace` defines the `Trace` of a run, which can be written to JSON and read again. `trace_differences` finds the first
difference of two traces. `notebook` displays a trace in a notebook.
"""
