"""Addition → programs that add in one step: a carry is what the last pair of equal bits says."""
