"""Inside a trained network: whether it reads its operands (`operands`) and waits for them (`waiting`), how strongly
gradients pull attention there (`signals`), and a page that shows a run (`page`)."""
