"""Numbers of F_p: integers a with |a| <= 4^p - 1 that mean a / 2^p. The only place that rounds."""
