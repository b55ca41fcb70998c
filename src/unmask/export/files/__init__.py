"""What every exported folder holds: files written whole or not at all, names of registers and tokens, a card.

A Model goes in; out come the names of its tokens as strings of a tokenizer (`token_names`), the register of every
coordinate (`register_map`), the head of export.json (`summary`), README.md (`card`), and at last the folder (`folder`).
"""
