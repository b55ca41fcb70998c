"""Random saturating models through a converter: the whole aligned state after every step, and the price.

In comes a theorem with the kinds it is about; `conversions` draws models and compares what they hold step by step,
`transformer_conversions` does so for those between transformers. The first difference is an error that names its place.
"""
