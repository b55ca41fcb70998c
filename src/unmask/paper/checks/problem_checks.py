"""Checks of compiled problems: regular languages in each layout and for every length, parity, and expressions."""

import random
from fractions import Fraction
from functools import cache
from importlib.util import find_spec
from itertools import permutations, product
from math import factorial, prod

import numpy as np

from unmask.api import compare_frameworks, compile_problem, prove_family, run_word, verify_model
from unmask.checker import family_positions
from unmask.checker.families import check as replay
from unmask.compilers.regular_compiler import RegularCompiler
from unmask.engines.fast import FastEngine
from unmask.expressions import n
from unmask.numerics.arithmetic import Precision
from unmask.paper.checks.evidence import Check, Effort, Evidence, ItemProof, require
from unmask.paper.checks.framework_checks import UNLIKELY, tail
from unmask.paper.checks.masking_process import Canvas, CanvasLaw, Conditionals, model_conditionals, perfect
from unmask.paper.checks.theorem_checks import theorem_with_stem
from unmask.problems.automata.automaton import Automaton
from unmask.problems.expression_problems import ExpressionProblem
from unmask.programs.regular.product_tree import queue_factor, tree_steps
from unmask.reasoners.array_medium import RunSetup
from unmask.reasoners.decoding import Tape, decode
from unmask.reasoners.planners import Uniform
from unmask.reasoners.run_words import answers, run
from unmask.testing.draws import Draws
from unmask.testing.random_model import sample_words
from unmask.theorems.conversion_checks import first_disagreement
from unmask.verification.lengths.family_certificate import certificate_of
from unmask.verification.lengths.prove_lengths import LengthCertificate
from unmask.weights.kinds import Kind
from unmask.weights.model import Model, Price

LANGUAGES = ("(a|b)*abb", "(ab|ba)*", "(a*ba*b)*a*", "group:S3")
ALL_MAPS = Automaton(
    ("a", "b", "c"),
    np.array([[1, 1, 0], [2, 0, 1], [3, 2, 2], [4, 3, 3], [0, 4, 0]]),
    0,
    np.array([1, 0, 0, 0, 0], dtype=bool),
)
"""A cycle, a transposition and a map that merges two of five states generate all 3,125 maps."""


def one_slot_per_node(effort: Effort) -> Evidence:
    """Check compiled mdms: correct, max(1, ⌈log2 N⌉) steps and max(1, N - 1) slots, for N = 0 … 9 and 33."""
    lengths = (*range(10), 33) if effort.percent >= 100 else (0, 1, 3, 5)
    cases = 0
    for problem, length in product(LANGUAGES, lengths):
        model = compile_problem(problem, "mdm", length=length)
        verdict = verify_model(model, cases=effort.of(200))
        require(verdict.status == "held", f"{problem} at N = {length}: {verdict.counterexample!r} is decided wrongly")
        require(model.steps == max(1, tree_steps(length)), f"{problem} takes {model.steps} steps at N = {length}")
        require(model.padding == max(1, length - 1), f"{problem} takes {model.padding} slots at N = {length}")
        cases += verdict.cases
    return Evidence(
        f"one slot per node: {len(LANGUAGES)} problems, words of N = {lengths[0]} … {lengths[-1]}, all if they are "
        "few, exactly max(1, ⌈log2 N⌉) steps and max(1, N - 1) slots",
        cases,
    )


def states_per_node(effort: Effort) -> Evidence:
    """Check a monoid of more than 1,024 elements: the automaton's answers, ⌈log2 N⌉ steps, (N - 2)·|Q| + 1 slots."""
    compiler, cases = RegularCompiler.of(ALL_MAPS), 0
    lengths = (1, 2, 3, 5, 8, 16) if effort.percent >= 100 else (1, 3, 5)
    for length in lengths:
        model = compiler.compile("mdm", length, Precision(2))
        require(model.steps == max(1, tree_steps(length)), f"all maps take {model.steps} steps at N = {length}")
        slots = max(1, (length - 2) * ALL_MAPS.states + 1)
        require(model.padding == slots, f"all maps take {model.padding} slots at N = {length}, not {slots}")
        words = sample_words(model, Draws(length, 6), effort.of(60))
        states = np.full(len(words), ALL_MAPS.start)
        for letter in words.T:
            states = ALL_MAPS.delta[states, letter]
        correct = answers(model, words, engine=FastEngine()).accepted == ALL_MAPS.accepting[states]
        require(correct.all(), f"all maps of five states: a word of N = {length} is decided wrongly")
        cases += len(words)
    return Evidence(
        f"|Q| slots per node: all maps of five states (3,125 elements), words of N = {lengths[0]} … {lengths[-1]}, "
        "exactly max(1, ⌈log2 N⌉) steps and (N - 2)·|Q| + 1 slots",
        cases,
    )


def looped(effort: Effort) -> Evidence:
    """Check compiled looped transformers: at most ⌈log2 N⌉ loops (item 1 of the remark; one pad row is used)."""
    cases = 0
    for problem, length in product(LANGUAGES, (1, 2, 5, 8)):
        model = compile_problem(problem, "plt", length=length)
        verdict = verify_model(model, cases=effort.of(100))
        require(verdict.status == "held", f"{problem} at N = {length}: {verdict.counterexample!r} is decided wrongly")
        require(model.steps <= max(1, tree_steps(length)), f"{problem} takes {model.steps} loops at N = {length}")
        cases += verdict.cases
    return Evidence(f"{len(LANGUAGES)} problems as looped transformers, N = 1, 2, 5, 8, against the problem", cases)


def looped_then_converted(effort: Effort) -> Evidence:
    """Check the looped transformer of a regular language after plt_to_mdm, as in the proof of the corollary."""
    theorem, cases = theorem_with_stem("plt_to_mdm"), 0
    for length in (1, 2, 3)[: effort.of(3)]:
        source = compile_problem("(ab)*", "plt", length=length)
        conversion = theorem.convert(source)
        require(Price.of(conversion.model).within(theorem.bound(source)), f"N = {length} costs more than its bound")
        verdict = verify_model(conversion.model, against="(ab)*", method="sample", cases=effort.of(6))
        require(verdict.status == "held", f"N = {length}: {verdict.counterexample!r} is decided wrongly")
        cases += verdict.cases
    return Evidence("(ab)* as a looped transformer, then as masked diffusion, N = 1 … 3, on words", cases)


def converted(effort: Effort) -> Evidence:
    """Check that conversions of a compiled regular language have its aligned states."""
    cases = 0
    for stem, length in (
        ("mdm_to_plt", 8),
        ("mdm_to_smdm", 8),
        ("planner_and_predictor_to_topk", 8),
        ("pcot_to_mdm", 4),
    ):
        theorem = theorem_with_stem(stem)
        source = compile_problem("(ab)*", theorem.source, length=length)
        wrong = first_disagreement(source, theorem.convert(source), seed=3, words=effort.of(4), engine=FastEngine())
        require(wrong is None, f"{stem} at N = {length}: {wrong}")
        cases += effort.of(4)
    return Evidence("(ab)* compiled and converted to plt, smdm, topk and from pcot: every aligned state", cases)


# Regular languages for every length: proved if a solver is installed, and replayed by the independent checker.


COMPARED = 9
"""The length of the model that the independent checker compares with the certificate."""


def with_every_length(check: Check, *kinds: Kind) -> Check:
    """Return a check that also proves the languages for every N, if a solver is installed; it fails if either fails."""

    def both(effort: Effort) -> Evidence:
        evidence = effort.run(check)
        if find_spec("z3") is None:
            return evidence
        languages = LANGUAGES if effort.percent >= 100 else LANGUAGES[:1]
        for language in languages:
            for kind in kinds:
                _prove(language, kind)
        return Evidence(evidence.method, evidence.cases, (*evidence.proofs, _proof(languages, kinds)))

    return both


def _prove(language: str, kind: Kind) -> None:
    answer = prove_family(language, kind)
    certificate = answer.certificate
    proved = isinstance(certificate, LengthCertificate) and certificate.claim is not None
    require(proved, f"{language} as {kind} is not proved for every N: {answer.reason}")
    assert isinstance(certificate, LengthCertificate)
    assert certificate.claim is not None
    models = [compile_problem(language, kind, length=COMPARED)]
    replay(certificate_of(certificate.claim), models, family_positions.solver_named())


def _proof(languages: tuple[str, ...], kinds: tuple[Kind, ...]) -> ItemProof:
    return ItemProof(
        covers=f"every N >= 0 and every word, p = 2, as {', '.join(kinds)}",
        by="closure, enumeration and an SMT solver",
        names=languages,
        run=f"unmask prove '{languages[0]}' --to {kinds[0]} --every-length",
        note="about the weights that `compile` writes, replayed from a certificate by a second checker from N = 2 on; "
        "one language and one p at a time, monoids of at most 1,024 elements; docs/background/every-length.md",
    )


# Checks on compiled problems: the steps in every framework, and the effect of a planner.


def steps_both_ways(effort: Effort) -> Evidence:
    """Check the steps of parity and A5 in every framework: ⌈log2 N⌉ or N. A run can only show upper bounds."""
    cases = 0
    for problem, lengths in (("group:Z2", (8, 32)), ("group:A5", (8,))):
        rows = list(compare_frameworks(problem, lengths if effort.percent >= 100 else lengths[:1]))
        for row in rows:
            require(row.correct is True and row.within_bound, f"{row.framework} fails on {problem} at N = {row.length}")
            steps = {"mdm": tree_steps(row.length), "cot": row.length}.get(row.framework, row.steps)
            require(row.steps == steps, f"{row.framework} takes {row.steps} steps on {problem} at N = {row.length}")
        cases += len(rows)
    return Evidence("steps of parity and of the word problem of A5, compiled for every framework", cases)


# The experiment on thm:perfect-approximation-limitation.


def planner_is_needed(effort: Effort) -> Evidence:
    """Check the parity tree: always right with its planner, right by the hook-length formula in uniform order.

    Also check in which slots its predictor is imperfect.
    """
    cases = 0
    for length in range(2, 7 if effort.percent >= 100 else 5):
        model = compiled_parity(length)
        planned, uniform = planned_accuracy(model), uniform_accuracy(model)
        require(planned == 1, f"planned, the parity of {length} bits is right with probability {planned} only")
        formula = closed_formula(length)
        require(uniform == formula, f"unmasked uniformly, N = {length} is right {uniform} of the time, not {formula}")
        cases += factorial(length - 1) * 2**length
    cases += sampled_runs(effort, 4)
    cases += imperfect_slots(4)
    return Evidence(
        "parity, planned and in every order of unmasking, every word, N = 2 … 6, against 1/2 + 1/2·Π 1/h(v); "
        "sampled runs against their exact law; perfect() over all contexts",
        cases,
    )


def compiled_parity(length: int) -> Model:
    return compile_problem("group:Z2", "mdm", length=length)


def parity_factors(length: int) -> list[tuple[int, int]]:
    """Return the two factors of each slot: inputs below N, then slots N + j."""
    both = [queue_factor(n, side).at_positions(length, range(length - 1)) for side in (0, 1)]
    return [(int(left), int(right)) for left, right in zip(*both, strict=True)]


def closed_formula(length: int) -> Fraction:
    """Return 1/2 + 1/2·Π_v 1/h(v), where h(v) is the number of slots in the subtree of slot v."""
    sizes: list[int] = []
    for pair in parity_factors(length):
        sizes.append(1 + sum(sizes[f - length] for f in pair if f >= length))
    return Fraction(1, 2) + Fraction(1, 2 * prod(sizes))


def planned_accuracy(model: Model) -> Fraction:
    words = _words(model)
    correct = answers(model, words, engine=FastEngine()).accepted == _parities(model, words)
    return Fraction(int(correct.sum()), len(words))


def uniform_accuracy(model: Model) -> Fraction:
    """Return the exact accuracy over all words and all orders of unmasking, one slot at a time, with decoding.

    A slot with a masked operand decodes to a fixed symbol. Over all words, the bits that it ignores are fair coins,
    which gives the 1/2 of the formula.
    """
    words, mask = _words(model), model.token[model.mask or ""]
    frame = RunSetup(model, words, FastEngine())
    session = frame.session("predictor")

    @cache
    def canvas(order: tuple[int, ...]) -> np.ndarray:
        if not order:
            return np.full((len(words), model.padding), mask)
        before = canvas(order[:-1])
        logits = session.read(frame.before(before), (frame.first_row, model.rows))
        symbols = decode(logits, model.precision, without=mask)
        return np.where(np.arange(model.padding) == order[-1], symbols, before)

    accept = model.token[model.accept]
    correct = total = 0
    for order in permutations(range(model.padding)):
        accepted = (canvas(order)[:, -1] == accept).astype(int)
        correct += int((accepted == _parities(model, words)).sum())
        total += len(words)
    return Fraction(correct, total)


def sampled_runs(effort: Effort, length: int) -> int:
    """Compare runs of `--planner uniform:1 --sample` with the exact chance of a correct answer; return their number."""
    model = compiled_parity(length)
    word = [0] * (length - 1) + [1]
    laws = model_conditionals(model, word, engine=FastEngine(), sampled=True)
    answer = model.accept if sum(word) % 2 == 0 else model.reject
    chance = _chance_of_answer(model, laws, answer)
    runs = effort.of(400)
    correct = sum(
        run(model, word, engine=FastEngine(), tape=Tape(s), planner=Uniform(1, Tape(s)), canvas=False).output[-1]
        == answer
        for s in range(runs)
    )
    require(tail(runs, correct, chance) > UNLIKELY, f"{correct} of {runs} runs are right, expected {chance}")
    return runs


def _chance_of_answer(model: Model, laws: Conditionals, answer: str) -> Fraction:
    """Return the exact probability that uniform unmasking with sampling ends with this answer."""

    @cache
    def chance(context: Canvas) -> Fraction:
        masked = [i for i, s in enumerate(context) if s == model.mask]
        if not masked:
            return Fraction(int(context[-1] == answer))
        law = laws(context)
        total = Fraction(0)
        for i in masked:
            for symbol, p in law[i].items():
                if p:
                    total += p * chance((*context[:i], symbol, *context[i + 1 :]))
        return total / len(masked)

    return chance(tuple([model.mask or ""] * model.padding))


def imperfect_slots(length: int) -> int:
    """Check that in contexts of the true canvas the predictor is imperfect exactly at slots with a masked factor."""
    model, cases = compiled_parity(length), 0
    tree = parity_factors(length)
    elements, mask = model.input_symbols, model.mask or ""
    for word in _words(model).tolist():
        values = list(word)
        for left, right in tree:
            values.append((values[left] + values[right]) % 2)
        true = [elements[v] for v in values[length:]]
        true[-1] = model.accept if values[-1] == 0 else model.reject
        task = CanvasLaw({tuple(true): Fraction(1)}, mask)
        contexts = list(task.contexts())
        laws = model_conditionals(model, word, engine=FastEngine(), sampled=True)
        wrong = {(i.context, i.slot) for i in perfect(laws, task.conditionals, iter(contexts))}
        expected = {
            (context, slot)
            for context in contexts
            for slot, pair in enumerate(tree)
            if context[slot] == mask and any(f >= length and context[f - length] == mask for f in pair)
        }
        require(wrong == expected, f"on {word} the predictor is imperfect elsewhere: {sorted(wrong ^ expected)[:1]}")
        require(((mask,) * model.padding, model.padding - 1) in wrong, "the answer is known from the masks alone")
        cases += len(contexts)
    return cases


def _words(model: Model) -> np.ndarray:
    tokens = [model.token[s] for s in model.input_symbols]
    return np.array(list(product(tokens, repeat=model.length)), dtype=np.int64)


def _parities(model: Model, words: np.ndarray) -> np.ndarray:
    """Return 1 where the sum is even, that is, where the product is the identity."""
    return (words.sum(axis=1) % 2 == 0).astype(int) if model.input_symbols else words


# The check of fig:expression-tree: the symbols of every step, for the figure's word, other words and other shapes.


FIGURE = "expr:(a+b)*(c+d)-e"
WRITTEN = ("5*5-6=", "25-6=", "19")
OTHER_SHAPES = ("expr:a-b-c-d in -1..1", "expr:a*(b+c*(d-e)) in 0..2", "expr:(a+b)*(c+d)-e in 0..4 compact")
ALL_KINDS: tuple[Kind, ...] = ("mdm", "smdm", "topk", "plt", "pcot", "cot")


def figure(effort: Effort) -> Evidence:
    """Check the word of the figure, symbol by symbol, then words of its shape and of other shapes, for every kind."""
    diffusion, chain = (compile_problem(FIGURE, kind) for kind in ("mdm", "cot"))
    sizes = (diffusion.length, diffusion.padding, diffusion.steps, chain.steps)
    require(sizes == (14, 11, 3, 11), f"the figure has N, P, T and the chain's T of {sizes}")
    trace, line = run_word(diffusion, "(2+3)*(4+1)-6="), run_word(chain, "(2+3)*(4+1)-6=")
    for step, (canvas, chosen) in enumerate(zip(trace.canvas, trace.chosen, strict=True)):
        written = "".join(trace.symbols(canvas[chosen]))
        require(written == WRITTEN[step], f"step {step + 1} writes {written}, not {WRITTEN[step]}")
    require("".join(line.output) == "".join(WRITTEN), f"the chain of thought writes {''.join(line.output)}")
    cases = 2
    for problem in (FIGURE, *OTHER_SHAPES):
        depth = ExpressionProblem(problem.removeprefix("expr:")).shape.depth
        for kind in ALL_KINDS:
            model = compile_problem(problem, kind)
            require(model.steps == (model.padding if kind == "cot" else depth), f"{problem} takes {model.steps} steps")
            seed = random.Random(kind).getrandbits(16)
            verdict = verify_model(model, method="sample", cases=effort.of(40), seed=seed)
            require(verdict.status == "held", f"{problem} as {kind} is wrong on {verdict.counterexample!r}")
            cases += verdict.cases
    return Evidence(
        "the figure's word: N = 14, P = 11, steps write 5*5-6=, 25-6=, 19, the chain takes 11; "
        "four expressions as every kind on words of their shape and others",
        cases,
    )
