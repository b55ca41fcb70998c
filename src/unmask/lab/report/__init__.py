"""results.json → a Markdown page of tables and SVG plots, mean and spread over seeds; nothing is run here.

`summary` gathers cells by what they have in common, `tables` and `plots` show them, `findings` and `facts` count them
in sentences; `write` puts the files beside results.json. What was not run is said to be so.
"""
