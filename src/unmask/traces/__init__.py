"""Everything that happened in a run, by stable name."""
