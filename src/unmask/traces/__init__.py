"""Everything that happened in a run, by stable name.

A run of reasoners/ comes in; a `Trace` goes out, which reads and writes JSON and says where it first differs from
another (`compare`). Traces do not import the viewer: it registers itself (`notebook`).
"""
