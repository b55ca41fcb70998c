"""What one request may ask for, and the limits of its work. A request beyond them gets an error message."""

BODY = 64 * 1024  # bytes of a request
PROBLEM = 1_000  # characters of a PROBLEM string
CIRCUIT = 48 * 1024  # characters of a pasted circuit
WORD = 4_000  # characters of a word
LENGTH = 128  # symbols of a word, N
ROWS = 4_000  # input and slots together
WIDTH = 4_000  # columns of the wider transformer
LARGEST_K = 1_000
LARGEST_SEED = 1_000_000

MEMORY = 1 << 30  # bytes of address space of a worker
SECONDS = {"run": 12, "steps": 20, "planners": 26, "prove": 60, "words": 6}
"""Task → the time after which its worker is killed."""
MOST_WORKERS = 2
WAITING = 12  # requests that wait for one
PATIENCE = 30  # seconds that a request waits
GRACE = 1  # seconds in which work may finish after the client has left
ENDING = 5  # seconds in which a worker that has stopped answering must end
READING = 10  # seconds in which a request must have arrived
PAGES = 12  # stored pages of runs
KEPT = 64  # stored answers, for identical requests
FRESH = 60  # seconds for which an answer is kept: under load it may have left out what took too long
