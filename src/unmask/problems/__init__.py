"""What is to be computed: problems, without numbers or tensors."""
