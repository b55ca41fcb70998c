"""Measurements → a page and a plot.

Tables and series go in, text comes out: `plot` makes SVG of series, `page` one HTML file that asks for nothing. Neither
knows what was measured.
"""
