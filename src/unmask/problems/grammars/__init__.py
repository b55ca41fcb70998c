"""Context-free grammars: text → Grammar → binary form → a system of recurrences; and a recogniser that knows neither.

`notation.py` reads a file, `binary.py` makes every rule a letter or a pair, `chart.py` is the system of recurrences
over factors of the word, `earley.py` recognises by the rules as they were written.
"""
