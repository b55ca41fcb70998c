"""Which rows a written symbol was made from, read off the attention weights.

    sources(row, last layer) = {row} ∪ ⋃ over heads and keys of sources(key, layer before)

A row counts as a source if something stands in it when it is read: a letter of the input or a slot that was
written. In a circuit a gate reads wires, which are slots that stay masked, and these read the sources of the wires.
Nothing here looks at what a program meant; random weights have sources too.
"""

from collections import defaultdict
from dataclasses import dataclass

from unmask.viewer.recording import Reads, Recording
from unmask.viewer.story import NOTHING, Story

Head = tuple[str, int, int]
"""(transformer, layer, head)"""
CONTINUES = -1
MOST_EDGES = 20_000


@dataclass(frozen=True)
class Edge:
    """What was written at (line, column) was made from what stood at `source`, which was written at `source_line`.

    `head` indexes the heads of the run, or is CONTINUES: a chain of thought continues from its last symbol.
    """

    line: int
    column: int
    source_line: int
    source: int
    head: int


def heads_of(recording: Recording) -> list[Head]:
    """All heads of a run, those of the planner first."""
    return sorted({(name, layer, head) for name, _, layer, head in recording.attention}, key=_planner_first)


def edges_of(story: Story, recording: Recording) -> list[Edge] | None:
    """The edges of every event in turn; None where they are too many to be a picture."""
    heads = heads_of(recording)
    edges: list[Edge] = []
    for line, column in story.events():
        moment = story.moment(line)
        if moment is None:
            continue
        row = story.deciding_row(line, column)
        sources = _sources(row, _reads_by_layer(recording, heads, moment))
        if row != column and row >= story.first_slot:
            sources[row] = CONTINUES
        for source, head in sorted(sources.items()):
            if source != column and _holds_something(story, line, source):
                edges.append(Edge(line, column, story.last_written(line, source), source, head))
        if len(edges) > MOST_EDGES:
            return None
    return edges


def _planner_first(head: Head) -> tuple[bool, Head]:
    return head[0] != "planner", head


def _reads_by_layer(recording: Recording, heads: list[Head], moment: int) -> list[list[tuple[int, Reads]]]:
    """(index of the head, what it reads) for each layer of the transformer that writes, the last layer first."""
    layers: dict[int, list[tuple[int, Reads]]] = defaultdict(list)
    for index, (name, layer, head) in enumerate(heads):
        reads = recording.attention.get((name, moment, layer, head))
        if name != "planner" and reads is not None:
            layers[layer].append((index, reads))
    return [layers[layer] for layer in sorted(layers, reverse=True)]


def _sources(row: int, layers: list[list[tuple[int, Reads]]]) -> dict[int, int]:
    """source row → the head that reads it."""
    reached, sources = {row}, {}
    for layer in layers:
        further = set()
        for reader in reached:
            for index, reads in layer:
                first, last = reads.starts[reader], reads.starts[reader + 1]
                for key in reads.keys[first:last].tolist():
                    if key != reader:
                        sources.setdefault(key, index)
                        further.add(key)
        reached |= further
    sources.pop(row, None)
    return sources


def _holds_something(story: Story, line: int, source: int) -> bool:
    if story.looped:
        return True
    return source < story.first_slot or story.tokens[line - 1, source] not in (NOTHING, story.mask)
