"""Programs and a grammar that reference models are compiled from; read as files (`program:FILE`, `cfg:FILE`)."""
