"""Config → a trained network: what a batch teaches (`lessons`), how it is scored (`loss`), and the loop around it
(`train`), which keeps checkpoints (`checkpoint`) and goes on from them to the same numbers."""
