"""One file per published rule.

A rule is a Sampler of `passes/state.py`: a state and beliefs go in, what the next pass writes or masks again comes out.
Each file opens with the rule as an equation, under the names of its own code, and says where ours differs from that.
"""
