"""Problem × N × framework → what every row holds after every step, exactly: what a network is taught, and judged by.

A source says what the symbols are and what the answer is: `algebra`, the finite monoid of a regular problem, or
`program`, a system of recurrences. One file per framework says where its rows stand and what they fetch (`direct`,
`chain`, `tree`, `scan`, `loop`, `program_slots`); `task` joins the two, `words` draws what is read.
"""
