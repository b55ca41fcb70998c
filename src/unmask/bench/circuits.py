"""Reference model → its circuits, pass by pass, planner and predictor apart; proposed circuit × truth → score.

A circuit belongs to a pass and a part. It preserves decisions: for the predictor the symbols of the slots that the
pass writes, for the planner keep or take of every slot. Nothing is declared from the names of registers. Every node
and edge is found by switching it off in the exported BERT, on canvases of the model's own runs of the listed words:

    necessary node    off alone, it changes a decision of some word in this pass
    backup node       not necessary, but if only the nodes that are necessary in some pass are on, switching it on
                      changes a decision of this pass: it duplicates another node, or it keeps a node that another pass
                      needs from acting in this one
    edge              off alone, it changes a decision; for a backup node, this is tested with only that node and the
                      nodes that are necessary in some pass on

Tokens are the input and stay on, unless a single token is tested. Nodes with an edge belong to the circuit. Then it is
checked that the circuit is enough: with every head and MLP outside of it off, every decision of every listed word is
that of the whole model; and that it carries the words: with what its nodes add in the run of another word, every
decision is that of the other word. An error is raised otherwise.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from unmask.bench.ablated_bert import AblatedBert, CircuitEdge, Node, Recorded
from unmask.bench.loaded_model import BenchError
from unmask.bench.reference_models import SEED, VERSION, ReferenceRow, model_begin
from unmask.errors import UnmaskError
from unmask.limits import check

FORMAT = "unmask-circuit/1"
WORDS = 6
VARIANTS_AT_ONCE = 256  # variants of a pass that are computed together
NOTHING = 1e-6  # a node that adds less than this in every column counts as adding nothing


@dataclass(frozen=True, eq=False)
class PassCanvas:
    """The input of a part before a pass on one word, and the rows whose decisions the pass uses."""

    ids: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True)
class PartCircuit:
    """The nodes (and whether each is necessary) and the edges of one part in one pass."""

    part: str
    step: int
    decides: tuple[int, ...]
    nodes: dict[Node, bool]
    edges: frozenset[CircuitEdge]


def circuit_files(row: ReferenceRow, words: int = WORDS) -> dict[str, bytes]:
    """Return the files of a circuit folder: `circuit.json`, and both parts of the model as BERT folders."""
    from unmask.export.export_model import export_files
    from unmask.export.folder_files import as_json
    from unmask.samplers.problem_subject import Subject

    if row.order == "work":
        raise UnmaskError(f"{row.name} has read-only slots, which its planner does not know; choose another model")
    subject = Subject.of(row.source, row.length, words=words, seed=SEED, hops=row.hops)
    model, files, parts, circuits = subject.predictor.model, {}, {}, []
    for part in ("planner", "predictor"):
        exported, report = export_files(model, "bert", part=part, order=row.order)
        bert, slots = AblatedBert.of(exported, len(model.vocabulary)), list(report["slots"])
        files |= {f"{part}/{name}": content for name, content in exported.items()}
        parts[part] = {"folder": part, "layers": bert.layers, "heads": bert.heads}
        passes = list(canvases_of(subject, part, slots))
        circuits += [to_json(circuit, bert) for circuit in circuits_of(bert, passes, part, model.rows - model.padding)]
    document = {
        "format": FORMAT,
        "version": VERSION,
        "model": row.name,
        "problem": row.problem,
        "prompt_length": model.rows - model.padding,
        "slots": model.padding,
        "words": list(subject.words),
        "parts": parts,
        "circuits": circuits,
        "pairs": counterfactual_pairs(subject, slots),
    }
    return {**files, "circuit.json": as_json(document)}


def canvases_of(subject: Any, part: str, slots: Sequence[int]) -> Iterator[list[PassCanvas]]:
    """Return the canvases of all words for every pass of the model's own run; empty if the pass changes nothing."""
    model, first = subject.predictor.model, subject.predictor.first_row
    begin = model_begin(model)
    for before, after in pairwise(subject.own.histories):
        canvases = []
        for word, old, new in zip(subject.predictor.words, before[:, slots], after[:, slots], strict=True):
            decided = np.flatnonzero(old != new) if part == "predictor" else np.arange(len(slots))
            canvases.append(PassCanvas(np.array([*begin, *word.tolist(), *old.tolist()]), first + decided))
        yield canvases if any(len(canvas.rows) for canvas in canvases) else []


@dataclass(frozen=True, eq=False)
class Pass:
    """The canvases of all words before a pass, the runs of the whole model on them, and what they decide."""

    bert: AblatedBert
    canvases: list[PassCanvas]
    runs: list[Recorded]
    decisions: list[np.ndarray]

    @classmethod
    def of(cls, bert: AblatedBert, canvases: list[PassCanvas]) -> "Pass":
        runs = [bert.forward(canvas.ids) for canvas in canvases]
        return cls(bert, canvases, runs, [pass_decisions(*pair)[0] for pair in zip(runs, canvases, strict=True)])

    def decided(self, off: frozenset[Node]) -> list[np.ndarray]:
        """Return the decisions of every word with these nodes off."""
        return [decisions_without(self.bert, canvas, [off])[0] for canvas in self.canvases]

    def changed(self, sets: list[frozenset[Node]], expected: list[np.ndarray]) -> np.ndarray:
        """Return which of these sets change a decision of some word when their nodes are off."""
        changes = np.zeros(len(sets), dtype=bool)
        for canvas, target in zip(self.canvases, expected, strict=True):
            if sets:
                changes |= (decisions_without(self.bert, canvas, sets) != target).any(axis=1)
        return changes

    def is_enough(self, nodes: set[Node], switchable: frozenset[Node]) -> bool:
        """Return whether these nodes alone, with all others off, make every decision of the whole model."""
        return not self.changed([switchable - nodes], self.decisions).any()


def circuits_of(bert: AblatedBert, passes: list[list[PassCanvas]], part: str, first: int) -> Iterator[PartCircuit]:
    """Yield the circuit of every pass that changes something; `first` is the row of the first slot."""
    passes_by_step = {step: Pass.of(bert, canvases) for step, canvases in enumerate(passes, start=1) if canvases}
    candidates = {
        step: candidate_nodes(bert, pass_run.canvases, pass_run.runs) for step, pass_run in passes_by_step.items()
    }
    needed: dict[int, set[Node]] = {}
    for step, pass_run in passes_by_step.items():
        changes = pass_run.changed([frozenset([node]) for node in candidates[step]], pass_run.decisions)
        needed[step] = {node for node, matters in zip(candidates[step], changes, strict=True) if matters}
    needed_in_some_pass = {node for nodes in needed.values() for node in nodes}
    for step, pass_run in passes_by_step.items():
        yield _circuit(pass_run, part, step, first, candidates[step], needed[step], needed_in_some_pass)


def _circuit(
    pass_run: Pass,
    part: str,
    step: int,
    first: int,
    candidates: list[Node],
    necessary: set[Node],
    needed_in_some_pass: set[Node],
) -> PartCircuit:
    bert, canvases = pass_run.bert, pass_run.canvases
    switchable = frozenset(node for node in bert.nodes(len(canvases[0].ids)) if node.kind != "token")
    tokens = {node for node in candidates if node.kind == "token"}
    always_unneeded = switchable - needed_in_some_pass
    unneeded = [node for node in candidates if node not in needed_in_some_pass | tokens]
    restores = pass_run.changed([always_unneeded - {node} for node in unneeded], pass_run.decided(always_unneeded))
    backup = {node for node, matters in zip(unneeded, restores, strict=True) if matters}
    edges = set(deciding_edges(bert, canvases, frozenset(), necessary | tokens))
    needed_or_token = needed_in_some_pass | tokens
    for node in sorted(backup):
        edges |= {
            edge
            for edge in deciding_edges(bert, canvases, always_unneeded - {node}, needed_or_token | {node})
            if node in edge
        }
    nodes = necessary | backup | {end for edge in edges for end in edge if end.kind != "output"}
    if not pass_run.is_enough(nodes, switchable):
        nodes = irreducible(nodes, candidates, lambda kept: pass_run.is_enough(kept, switchable))
    _check_carries(pass_run, nodes)
    return PartCircuit(
        part,
        step,
        tuple(sorted({int(row) - first for canvas in canvases for row in canvas.rows})),
        {node: node in necessary for node in sorted(nodes)},
        frozenset(edges),
    )


def irreducible(nodes: set[Node], candidates: list[Node], is_enough: Callable[[set[Node]], bool]) -> set[Node]:
    """Add nodes until they are enough, then remove each node that is not needed."""
    kept = nodes | set(candidates)
    if not is_enough(kept):
        raise BenchError("the nodes that reach a decision are not enough for it; this model has no circuit")
    for node in reversed(candidates):
        if node not in nodes and is_enough(kept - {node}):
            kept.discard(node)
    return kept


def _check_carries(pass_run: Pass, nodes: set[Node]) -> None:
    """Check that a circuit carries its word: with its outputs from another word's run, it decides as for that word."""
    for number, canvas in enumerate(pass_run.canvases):
        other = (number + 1) % len(pass_run.canvases)
        if not np.array_equal(canvas.rows, pass_run.canvases[other].rows):
            continue
        patched = pass_run.bert.forward(canvas.ids, given={node: pass_run.runs[other].added[node] for node in nodes})
        if not np.array_equal(pass_decisions(patched, canvas)[0], pass_run.decisions[other]):
            raise BenchError("a circuit does not carry another word; this is a fault of the bench, please report it")


def pass_decisions(run: Recorded, canvas: PassCanvas) -> np.ndarray:
    """Return the decisions of a run, [variants, rows of the canvas that are decided]."""
    return run.decided[:, canvas.rows]


def decisions_without(bert: AblatedBert, canvas: PassCanvas, off: list[frozenset[Node]]) -> np.ndarray:
    """Return the decisions with each of these sets of nodes off."""
    decisions = []
    for start in range(0, len(off), VARIANTS_AT_ONCE):
        check()
        decisions.append(pass_decisions(bert.forward(canvas.ids, off[start : start + VARIANTS_AT_ONCE]), canvas))
    return np.concatenate(decisions)


def candidate_nodes(bert: AblatedBert, canvases: list[PassCanvas], runs: list[Recorded]) -> list[Node]:
    """Return the nodes that, for some word, add something and lead to a decision through attention."""
    candidates: set[Node] = set()
    for canvas, run in zip(canvases, runs, strict=True):
        reach = {int(row) for row in canvas.rows}
        live = {layer: set() for layer in range(-1, bert.layers)}
        for layer in reversed(range(bert.layers)):
            live[layer] = set(reach)
            weights = run.patterns[layer][:, sorted(reach)].max(axis=(0, 1), initial=0)
            reach |= set(np.flatnonzero(weights > NOTHING).tolist())
        live[-1] = reach
        candidates |= {
            node for node, added in run.added.items() if node.row in live[node.layer] and np.abs(added).max() > NOTHING
        }
    return sorted(candidates)


def deciding_edges(
    bert: AblatedBert, canvases: list[PassCanvas], off: frozenset[Node], nodes: set[Node] | frozenset[Node]
) -> Iterator[CircuitEdge]:
    """Yield the edges between these nodes, and to outputs, that change a decision if they are off, with `off` off."""
    needed: set[CircuitEdge] = set()
    for canvas in canvases:
        before = bert.forward(canvas.ids, [off])
        expected = pass_decisions(before, canvas)[0]
        untested = [edge for edge in _possible(nodes, canvas, before) if edge not in needed]
        for start in range(0, len(untested), VARIANTS_AT_ONCE):
            check()
            batch = untested[start : start + VARIANTS_AT_ONCE]
            run = bert.forward(canvas.ids, [off] * len(batch), edges=batch, before=before)
            matters = (pass_decisions(run, canvas) != expected).any(axis=1)
            needed |= {edge for edge, is_needed in zip(batch, matters, strict=True) if is_needed}
    yield from sorted(needed)


def _possible(nodes: set[Node] | frozenset[Node], canvas: PassCanvas, run: Recorded) -> Iterator[CircuitEdge]:
    """Yield the edges along which something can flow: within a row, or where an attention weight is not 0."""
    outputs = [Node("output", int(row), len(run.patterns)) for row in canvas.rows]
    for reader in (*nodes, *outputs):
        for source in nodes:
            earlier = source.layer < reader.layer or (
                source.layer == reader.layer and (source.kind, reader.kind) == ("head", "mlp")
            )
            is_same_row = source.row == reader.row
            is_attended = (
                reader.kind == "head" and run.patterns[reader.layer][reader.head, reader.row, source.row] > NOTHING
            )
            if earlier and (is_same_row or is_attended) and np.abs(run.added[source]).max() > NOTHING:
                yield source, reader


# Words that differ in one letter, and which slots that changes.

LETTERS_PER_WORD = 4


def counterfactual_pairs(subject: Any, slots: Sequence[int]) -> list[dict[str, Any]]:
    """Return, for every word, words that differ in one letter and for which some slot has another right value."""
    from unmask.samplers.predictors import CompiledPredictor

    model = subject.predictor.model
    letters = np.unique(subject.predictor.words)
    pairs = []
    for number, word in enumerate(subject.predictor.words):
        changed_words, positions = [], np.linspace(0, len(word) - 1, LETTERS_PER_WORD).astype(int).tolist()
        for position in dict.fromkeys(positions):
            other = word.copy()
            other[position] = letters[(np.searchsorted(letters, word[position]) + 1) % len(letters)]
            changed_words.append((position, other))
        changed_predictor = CompiledPredictor(
            model, np.stack([other for _, other in changed_words]), subject.predictor.engine
        )
        values = replace(subject, predictor=changed_predictor).expected
        for (position, other), value in zip(changed_words, values, strict=True):
            differ = np.flatnonzero(value[slots] != subject.expected[number][slots]).tolist()
            if differ:
                symbols = [model.symbols(tokens.tolist()) for tokens in (word, other)]
                pairs.append({"word": symbols[0], "counterfactual": symbols[1], "letter": position, "slots": differ})
    return pairs


# Documents, and the score of a proposed circuit.


def to_json(circuit: PartCircuit, bert: AblatedBert) -> dict[str, Any]:
    return {
        "part": circuit.part,
        "pass": circuit.step,
        "decides": list(circuit.decides),
        "nodes": [node_json(node, bert, necessary=necessary) for node, necessary in circuit.nodes.items()],
        "edges": [[source.id, reader.id] for source, reader in sorted(circuit.edges)],
    }


def node_json(node: Node, bert: AblatedBert, *, necessary: bool) -> dict[str, Any]:
    """Return the JSON object of a node; its row, and for a head its number, index the entry of the hook."""
    index = {"row": node.row, **({"head": node.head} if node.kind == "head" else {})}
    where = {"layer": node.layer} if node.kind in ("head", "mlp") else {}
    return {
        "id": node.id,
        "kind": node.kind,
        **where,
        **index,
        "hook": node.hook,
        "role": role(node, bert),
        "necessary": necessary,
    }


def role(node: Node, bert: AblatedBert) -> str:
    """Describe what a node compares, reads and writes, by register names: a comment, not part of the truth."""
    if node.kind == "token":
        return "the symbol of this row"
    layer = bert.registers["layers"][node.layer]
    if node.kind == "mlp":
        return f"MLP of {layer['does']}"
    head = next((head for head in layer["heads"] if head["head"] == node.head), None)
    if head is None:
        return "a head without weights"
    names = {key: ", ".join(head[key]) or "nothing" for key in ("queries", "keys", "reads", "writes")}
    return f"looks up {names['queries']} = {names['keys']}; copies {names['reads']} to {names['writes']}"


@dataclass(frozen=True)
class CircuitScore:
    """The score of the proposed nodes, or edges.

    Recall is the share of necessary ones that were proposed, precision the share of proposed ones that are in the
    circuit.
    """

    precision: float
    recall: float
    missing: tuple[str, ...]
    extra: tuple[str, ...]

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def to_json(self) -> dict[str, Any]:
        numbers = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**numbers, "missing": list(self.missing), "extra": list(self.extra)}


def score_circuit(proposed: Mapping[str, Any], truth: Mapping[str, Any]) -> dict[str, CircuitScore]:
    """Return the scores of `nodes` and `edges` over all circuits of the truth; a missing circuit counts as empty.

    Both are documents with `circuits`, a list of {"part", "pass", "nodes", "edges"}; a node is an id or an object with
    an id, an edge a pair of ids.
    """
    true_circuits, proposed_circuits = _by_pass(truth, "the truth"), _by_pass(proposed, "the proposal")
    unknown = sorted(set(proposed_circuits) - set(true_circuits))
    if unknown:
        part, step = unknown[0]
        raise UnmaskError(f"the truth has no circuit of the {part} in pass {step}; leave it out of the proposal")
    scores = {}
    for kind in ("nodes", "edges"):
        needed = {(key, item) for key, circuit in true_circuits.items() for item in circuit["necessary " + kind]}
        allowed = {(key, item) for key, circuit in true_circuits.items() for item in circuit[kind]}
        proposed_items = {(key, item) for key, circuit in proposed_circuits.items() for item in circuit[kind]}
        scores[kind] = CircuitScore(
            len(proposed_items & allowed) / len(proposed_items) if proposed_items else float(not needed),
            len(proposed_items & needed) / len(needed) if needed else 1.0,
            _labels(needed - proposed_items),
            _labels(proposed_items - allowed),
        )
    return scores


def _labels(items: set[tuple[tuple[str, int], Any]]) -> tuple[str, ...]:
    return tuple(
        f"{part} pass {step}: {' → '.join(item) if isinstance(item, tuple) else item}"
        for (part, step), item in sorted(items)
    )


def _by_pass(document: Mapping[str, Any], source: str) -> dict[tuple[str, int], dict[str, set[Any]]]:
    by_pass: dict[tuple[str, int], dict[str, set[Any]]] = {}
    try:
        for circuit in document["circuits"]:
            key = (circuit["part"], circuit["pass"])
            if key in by_pass or not isinstance(key[0], str) or type(key[1]) is not int:
                raise UnmaskError(f"{source} has two circuits for {key}, or none that is named by a part and a pass")
            nodes = [node if isinstance(node, dict) else {"id": node} for node in circuit["nodes"]]
            ids = {node["id"] for node in nodes}
            backup = {node["id"] for node in nodes if not node.get("necessary", True)}
            edges = {(source, reader) for source, reader in circuit["edges"]}
            if not all(isinstance(name, str) for name in (*ids, *(end for edge in edges for end in edge))):
                raise TypeError("ids are strings")
            by_pass[key] = {
                "nodes": ids,
                "necessary nodes": ids - backup,
                "edges": edges,
                "necessary edges": {edge for edge in edges if not backup & set(edge)},
            }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise UnmaskError(
            f"{source} is not a document of circuits ({reason}); it has `circuits`, a list of objects with "
            "`part`, `pass`, `nodes` (ids) and `edges` (pairs of ids)"
        ) from None
    return by_pass


def read_circuit(path: str | Path) -> dict[str, Any]:
    """Read a document of circuits from a file, or from `circuit.json` of a folder."""
    path = Path(path)
    path = path / "circuit.json" if path.is_dir() else path
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UnmaskError(f"{path} cannot be read ({error.strerror}); check the path") from None
    except ValueError as error:
        raise UnmaskError(f"{path} is not JSON ({error}); check the file") from None
    if not isinstance(document, dict):
        raise UnmaskError(f"{path} does not contain a JSON object; check the file")
    return document
