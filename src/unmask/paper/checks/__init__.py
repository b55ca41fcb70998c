"""The checks behind the items of the paper: each runs something, and can fail.

A check takes an Effort, which says by how much to divide its cases, and hands back Evidence (`evidence`): a method in
words and a number of cases; what fails raises. `exactly` and `binomial` are the definitions and the law that checks
compare with; the other files are named after what they check.
"""
