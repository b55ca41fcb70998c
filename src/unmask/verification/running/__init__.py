"""Question × words → Verdict, by running them: all words of the model's length, or some.

`cases` runs both sides in batches: the first word with another answer is the refutation, and a sample that finds none
says how many it tried, never that there is none.
"""
