"""law:FILE × N → the law of every sampler, and how far it is from the truth.

`law_file` reads a `law`, a weighted automaton; `conditionals` is its exact predictor. The law of a sampler over it is
added up outcome by outcome (`enumeration`) or slot by slot (`slotwise`); `distance`, `measure` and `report` compare.

`information` measures how much masked positions hide, `schedule` prices schedules by it and finds the best one, and
`least_passes` searches the least number of passes of an exact sampler.
"""
