"""Compilers and conversions → what can be claimed of the uniformity of their positions and weights.

In come programs, recorded while models are compiled and converted at several lengths; out goes a `Subject` for each way
of writing a model, or `NotUniform`. What one program declares is judged in `programs.language.uniformity`.
"""
