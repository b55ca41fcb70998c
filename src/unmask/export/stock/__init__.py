"""The real form → folders of stock architectures: BERT, GPT-2, ALBERT, with tokenizer and card.

A real transformer goes in, tensors under the names of a stock class and its config.json come out: `architecture` is
what all of them can hold, `bert`, `gpt2` and `albert` are one file each, `tokenizer` reads words for them, `folder`
joins all.
"""
