"""The playground: `unmask serve`, a local web page on which you type a problem and watch its model run.

A request passes `server` (checks, routes), `worker_pool` (queue, time limits), a `worker` process, and
`requested_problem` (problem and compiler); `answers` computes the answer. `request_limits` has the limits of one
request, `programs/` the programs that can be chosen by name, `assets/` the page.
"""
