"""The playground: `unmask serve`, a page on this machine alone where a problem is typed and its model seen at work.

Request ──guard, question──▶ Question ──shared, crew──▶ worker ──subject──▶ Subject ──▶ answer, as JSON or a page

A `worker` is a process that may be killed; `limits` says what one question may take. What is answered has a file each:
`denoise`, `growth`, `planning`, `proof`, `sampling`, `suggestions`. `app` is the application and `server` its port;
`programs/` are those that can be asked for by name, `assets/` is the page itself.
"""
