"""One pass as ONNX, plain or exact, written and tried without the package.

A transformer goes in, the bytes of a graph come out: `graph` writes nodes over named values, `forms` is the pass in
them, `run` computes a graph in NumPy, so that the files of `folder` were tried before anyone sees them.
"""
