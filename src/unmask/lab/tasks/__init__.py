"""Problem × N × framework → what every row holds after every step, exactly: what a network is taught, and judged by.

`algebra` is the finite monoid of a regular problem; one file per framework says where its rows stand and what they
fetch (`direct`, `chain`, `tree`, `scan`, `loop`); `task` joins the two, `words` draws what is read.
"""
