"""A program of one's own as a task: taught what its compiled model does, and run only where it is named."""

import json
import subprocess
import sys
import tracemalloc
from itertools import product

import msgspec
import numpy as np
import pytest
import torch

import command_line
from programs.recurrences.programs import EDITING, ONCE, palindrome, rule_110, slots_by_name
from unmask import run_word
from unmask.compilers.system_compiler import SystemCompiler
from unmask.errors import ProblemError, TooLarge, UnmaskError
from unmask.lab.memory_estimates import training_memory
from unmask.lab.network_measures import measure_waiting, operand_attention, right_by_level
from unmask.lab.presets import named_run
from unmask.lab.settings import Config, LabError, Shape
from unmask.lab.task_layouts import NO_OPERAND
from unmask.lab.task_sources import Stream, words
from unmask.lab.tasks import LabTask
from unmask.lab.trained_model import Trained, accuracy
from unmask.lab.trained_network import PlaceTable, TrainedNetwork, code_width
from unmask.lab.trained_sampling import TrainedPredictor
from unmask.lab.trained_view import view_of
from unmask.lab.training import new_network, train
from unmask.lab.training_batches import training_batch
from unmask.limits import Budget
from unmask.numerics.arithmetic import Precision
from unmask.problems.program_problems import program_problem
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter, number, some
from unmask.samplers.rule_interface import SamplerError
from unmask.viewer.html_page import render_text

i, k = indices("i k")
SHAPE = Shape(width=16, hidden=32, heads=2, layers=1, aux=True)
PARITY = """
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter
(i,) = indices("i")
odd = Slots("odd", i.range(N), BOOLEAN)
odd.rule((odd[i - 1].or_else(False), letter(i)), lambda before, x: before != (x == "b"))
program = System("ab", odd, answer=odd[N - 1])
"""


PALINDROME = """
from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter
i, j = indices("i j")
same = Slots("same", (i.range(N), j.range(i, N)), BOOLEAN)
same.rule((same[i + 1, j - 1].or_else(True), letter(i), letter(j)), lambda inside, a, b: inside and a == b)
program = System("ab", same, answer=same[0, N - 1])
"""


def task_of(system, length, framework="program"):
    problem = program_problem(system)
    return LabTask.of(problem.name, length, framework, program=problem)


def config_of(system, length, **more):
    settings = {"framework": "program", "shape": SHAPE, "steps": 4, "evaluate_every": 2, "converged": None, **more}
    return Config(problem=program_problem(system).name, length=length, **settings)


@pytest.mark.parametrize("name", [*ONCE, *EDITING])
def test_canvases_are_those_of_the_compiled_program(name):
    """Slot by slot, step by step; a program that edits starts with its letters, which is the first step here."""
    make, length = {**ONCE, **EDITING}[name]
    system = make()
    task, compiler = task_of(system, length), SystemCompiler(system, {})
    model, plan = compiler.compile("mdm", length, Precision(2)), compiler.plan("mdm", length)
    symbols, values = plan.symbols.vocabulary.symbols, list(task.source.symbol)
    assert task.layout.steps == model.steps + system.edits
    for word in words(task.source, 6, length, 0, Stream.training):
        states = task.states(word[None])[0]
        canvases = run_word(model, task.source.spelled(word)).canvas_symbols
        assert (states[:, :length] == word).all()
        assert (states[0, length:] == task.mask).all()
        for canvas, state in zip(canvases, states[1 + system.edits :], strict=True):
            compiled = slots_by_name(compiler, "mdm", length, canvas)
            for key, token in zip(task.layout.keys, state[length:], strict=True):
                if token == task.mask:
                    assert compiled[key] == model.mask
                else:
                    assert compiled[key] == symbols[plan.symbols.token[values[token]]]
        answered = task.shown_answers(states[-1:, length:])
        assert (answered == task.answers(word[None])).all()


def test_a_row_points_to_what_its_rule_reads():
    task = task_of(palindrome(), 4)
    at = {key[1]: 4 + slot for slot, key in enumerate(task.layout.keys)}
    assert at[0, 3] == task.rows - 1  # the answer stands last
    pointers = task.pointers[0]
    assert pointers.shape == (task.rows, 3)
    assert pointers[at[0, 3]].tolist() == [at[1, 2], 0, 3]
    assert pointers[at[2, 2]].tolist() == [NO_OPERAND, 2, 2]  # nothing stands inside
    assert (pointers[:4] == NO_OPERAND).all()


def test_a_rewritten_slot_reads_letters_first_and_never_fetches_itself():
    task = task_of(rule_110(), 4)
    first, then = task.pointers[0, 4:], task.pointers[1, 4:]
    assert first.tolist() == [[cell, NO_OPERAND] for cell in range(4)]
    assert then.tolist() == [[4 + (cell - 1) % 4, 4 + (cell + 1) % 4] for cell in range(4)]


def test_a_read_over_a_range_points_to_its_ends():
    seen = Slots("seen", (), BOOLEAN)
    both = (letter(k), letter(k - 1).map(str.upper))
    seen.rule(some(k.range(1, N), both, lambda a, b: (a, b) == ("b", "A")), lambda found: found)
    task = task_of(System("ab", seen, answer=seen[()]), 6)
    assert task.pointers[0, -1].tolist() == [1, 5, 0, 4]
    nothing = task_of(System("ab", seen, answer=seen[()]), 6).longer(2).pointers  # a range of one
    assert nothing[0, -1].tolist() == [1, 1, 0, 0]


def wide(reads):
    slot = Slots("wide", (), BOOLEAN)
    slot.rule([letter(place) for place in range(reads)], lambda *bits: "b" in bits)
    return System("ab", slot, answer=slot[()])


def test_too_many_reads_are_refused():
    assert task_of(wide(8), 9).fetches == 8
    with pytest.raises(TooLarge, match=r"reads at most 8 positions, but program:\w+ has rules that read 9"):
        _ = task_of(wide(9), 9).pointers


def test_what_a_row_holds_itself_and_what_is_constant_does_not_count():
    """Life: nine cells are read, and eight are fetched."""
    cell = Slots("cell", i.range(N), BOOLEAN)
    cell.start(letter(i), lambda a: a == "b")
    cell.rule([cell[(i + d) % N] for d in range(9)] + [number(i * 0, among=(0,))], lambda *seen: any(seen[:9]))
    task = task_of(System("ab", cell, answer=cell, steps=1), 9)
    assert task.fetches == 8
    assert task.pointers[1, 9].tolist() == [10, 11, 12, 13, 14, 15, 16, 17]


def test_what_a_slot_starts_with_may_read_more_than_its_rule():
    cell = Slots("cell", (), BOOLEAN)
    cell.start([letter(0), letter(1), letter(2)], lambda *seen: "b" in seen)
    cell.rule(cell[()], lambda own: not own)
    task = task_of(System("ab", cell, answer=cell[()], steps=1), 3)
    assert task.pointers[:, -1].tolist() == [[0, 1, 2], [NO_OPERAND] * 3]


def test_many_symbols():
    """More than two bytes number."""
    slot = [Slots(f"s{at}", (), range(11000 * at, 11000 * at + 11000)) for at in range(4)]
    for at, group in enumerate(slot):
        group.rule(letter(0), lambda a, at=at: 11000 * at + 10999 - (a == "a"))
    task = task_of(System("ab", slot, answer=slot[3][()]), 2)
    last = task.states(task.source.letters[[[1, 1]]])[0, -1, -1]
    assert task.vocabulary[last] == "43999"


def test_the_third_operand_is_handed_over_too():
    task = task_of(palindrome(), 4)
    network = TrainedNetwork(
        Shape(width=12, hidden=8, heads=3, layers=1, beta=1000.0), len(task.vocabulary), task.fetches
    )
    seen = {}
    tokens = torch.from_numpy(task.states(words(task.source, 2, 4, 0, Stream.training))[:, 0])
    network(tokens, PlaceTable(task, "bits").at(0), lambda name, value: seen.update({name: value}))
    for operand, place in enumerate(task.pointers[0, -1]):
        assert seen["layers.0.weights"][:, operand, -1, place].min() > 0.99


def test_more_reads_at_another_length():
    last = Slots("last", (), BOOLEAN)
    last.rule([letter(0), letter(1), letter(2), letter(3)], lambda *seen: "b" in seen, where=N > 3)
    last.rule([letter(0), letter(1)], lambda *seen: "b" in seen)
    system = System("ab", last, answer=last[()])
    config = config_of(system, 3)
    task = config.task_of(program_problem(system))
    with pytest.raises(UnmaskError, match="at length 4 a rule reads 4 positions, but this network was trained with 2"):
        Trained(task, new_network(config, task), config).at_length(4)


def test_a_program_of_many_steps_is_foreseen():
    system = rule_110(10**9)
    with Budget(memory=1 << 30), pytest.raises(TooLarge, match="what 8 rows read in 1,000,000,001 steps"):
        train(config_of(system, 4), program=program_problem(system))
    task, less = task_of(rule_110(1000), 4), task_of(rule_110(1), 4)
    config = config_of(system, 4)
    drawn = words(task.source, config.batch, 4, 0, Stream.training)
    task.states(drawn)  # what is kept of words that come again
    tracemalloc.start()
    task.states(drawn)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    per_step = 4 * task.rows * (code_width("bits", 2) + 2 * task.rows)  # of the places, which are counted apart
    assert training_memory(config, task) - training_memory(config, less) - 999 * per_step > peak


def test_more_rows_than_there_are_codes_leave_no_folder(tmp_path):
    (tmp_path / "palindrome.py").write_text(PALINDROME)
    config, program = named_run(f"program:{tmp_path / 'palindrome.py'}", length=32)
    with pytest.raises(TooLarge, match=r"256 rows, but program:palindrome.py N = 32 program has 560; use a shorter"):
        train(config, tmp_path / "run", program=program)
    assert not (tmp_path / "run").exists()


def test_a_program_in_no_file_has_no_folder(tmp_path):
    with pytest.raises(UnmaskError, match="is not in a file, so a folder cannot refer to it"):
        train(config_of(palindrome(), 4), tmp_path / "run", program=program_problem(palindrome()))


def test_truth_values_and_letters_of_the_same_name_are_apart():
    task = task_of(rule_110(), 4)
    assert task.vocabulary == ("0", "1", "1'", "0'", "m", "□")
    assert task.source.verdicts == {"1'": True, "0'": False}
    assert task_of(palindrome(), 4).vocabulary == ("a", "b", "1", "0", "m", "□")


def test_direct_has_the_answers_alone():
    task = task_of(rule_110(), 4, "direct")
    drawn = words(task.source, 5, 4, 0, Stream.training)
    states = task.states(drawn)
    assert (task.layout.steps, task.layout.padding) == (1, 4)
    assert (states[:, 1, 4:] == task_of(rule_110(), 4).states(drawn)[:, -1, 4:]).all()
    assert (task.pointers == NO_OPERAND).all()


def test_longer_words_and_the_commonest_answer():
    task = task_of(palindrome(), 4)
    assert task.longer(6).layout.padding == 21
    exact = 1 - 2 ** (2 - 4)  # half of the letters decide the others
    assert abs(task.source.chance(4) - exact) < 0.05
    cells = task_of(rule_110(1), 3)  # an answer is all cells
    _, counts = np.unique(cells.answers(np.array(list(product((0, 1), repeat=3)))), axis=0, return_counts=True)
    assert abs(cells.source.chance(3) - counts.max() / 8) < 0.05


@pytest.mark.parametrize("system", [palindrome(), rule_110(2)])
def test_a_network_of_as_many_operands_learns(system):
    config = config_of(system, 4, steps=60, evaluate_every=20)
    run = train(config, program=program_problem(system))
    assert run.trained.network.fetches == run.trained.task.fetches == (2 if system.edits else 3)
    assert run.progress.history[-1].loss < run.progress.history[0].loss
    assert run.to_json()["chance"] < 1
    attention = operand_attention(run.trained, seed=0)
    assert 0 < attention.best <= 1
    assert measure_waiting(run.trained, seed=0) is None  # of a tree alone
    assert (right_by_level(run.trained, seed=0) is None) == system.edits


def test_a_view_says_whether_the_answer_is_right_and_letters_accept_nothing():
    """The values are the letters 0 and 1, which are no verdicts."""
    same = Slots("same", i.range(N), "01")
    same.rule(letter(i), lambda a: a)
    system = System("01", same, answer=same)
    config = config_of(system, 2, steps=100, evaluate_every=50)
    trained = train(config, program=program_problem(system)).trained
    view = view_of(trained, "01")
    assert view.remarks == ("A trained model: the answer is 0 1, and it is right.",)
    assert "neither accepted nor rejected" in render_text(view.panels[0])
    new = Trained(trained.task, new_network(config, trained.task), config)
    assert any("it is wrong" in view_of(new, word).remarks[0] for word in ("00", "01", "10", "11"))


def test_an_answer_of_several_slots_is_right_if_all_are(monkeypatch):
    system = rule_110(2)
    config = config_of(system, 4)
    task = config.task_of(program_problem(system))
    trained = Trained(task, new_network(config, task), config)
    judged_words = words(task.source, 50, 4, 0, Stream.judging)
    true = task.answers(judged_words)
    for wrong, right in ((None, 1.0), (0, 0.0), (3, 0.0)):
        answers = true.copy()
        if wrong is not None:
            answers[:, wrong] = (answers[:, wrong] + 1) % task.mask
        monkeypatch.setattr("unmask.lab.trained_model.canvases", lambda _, answers=answers: iter([answers]))
        assert accuracy(trained, 50, seed=0, stream=Stream.judging).right == right


def test_random_masking_of_a_program_that_writes_once():
    config = config_of(palindrome(), 4, objective="masking")
    task = config.task_of(program_problem(palindrome()))
    batch = training_batch(task, config, 0)
    hidden = batch.tokens[:, 4:] == task.mask
    assert hidden.any()
    assert (batch.targets[:, 0, 4:][hidden] < task.mask).all()
    predictor = TrainedPredictor(Trained(task, new_network(config, task), config), batch.tokens[:, :4])
    assert predictor.logits(batch.tokens[:, 4:]).shape == (32, 10, 6)
    direct = config_of(rule_110(2), 4, framework="direct")
    task = direct.task_of(program_problem(rule_110(2)))
    TrainedPredictor(Trained(task, new_network(direct, task), direct), batch.tokens[:, :4])  # writes once, in one step


def test_what_is_rewritten_is_not_masked_nor_sampled():
    system = rule_110(2)
    config = config_of(system, 4, objective="masking")
    with pytest.raises(UnmaskError, match="written once, but program:rule 110 rewrites slots"):
        train(config, program=program_problem(system))
    task = config.task_of(program_problem(system))
    with pytest.raises(SamplerError, match="samplers write each slot once"):
        TrainedPredictor(Trained(task, new_network(config, task), config), np.zeros((1, 4), dtype=int))


def test_a_name_runs_nothing(tmp_path, monkeypatch):
    """A config is data, and so is all that it names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.py").write_text("open('ran', 'w').close()\n" + PARITY)
    (tmp_path / "c.json").write_text(json.dumps({"problem": "program:p.py", "framework": "program", "length": 4}))
    with pytest.raises(ProblemError, match=r"the code of program:p.py is needed to run it; give --program"):
        LabTask.of("program:p.py", 8, "program")
    with pytest.raises(LabError, match=r"does not contain its code; give the file with --program FILE.py"):
        named_run("c.json")
    assert not (tmp_path / "ran").exists()
    config, program = named_run("c.json", program=tmp_path / "p.py")
    assert (tmp_path / "ran").exists()
    assert config.sha256 == program.sha256 != ""


def test_a_problem_is_a_run_with_the_settings_of_the_table(tmp_path):
    path = tmp_path / "parity.py"
    path.write_text(PARITY)
    config, program = named_run(f"program:{path}", length=4)
    assert (config.problem, config.framework, config.length) == ("program:parity.py", "program", 4)
    assert config.shape.aux
    assert config.task_of(program).layout.padding == 4
    with pytest.raises(ProblemError, match="use the framework direct or program, and leave out factors"):
        msgspec.structs.replace(config, framework="tree").task_of(program)
    regular, nothing = named_run("group:S3", length=8, framework="scan")
    assert (regular.problem, regular.length, regular.framework, nothing) == ("group:S3", 8, "scan", None)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("unmask lab train S3-tree --length 4 --out run", "--length and --framework are only for a PROBLEM"),
        ("unmask lab train program:parity.py --length 0 --out run", "must be an integer from 2 to 128, not 0"),
        (
            "unmask lab train program:parity.py --program slow.py --out run",
            "cannot be combined with the problem",
        ),
        ("unmask lab train program:slow.py --timeout 1 --out run", "the time limit of 1 s was reached"),
        (f"unmask lab train regex:{'ab' * 200} --length 1 --out run", "must be an integer from 2 to 128, not 1"),
        ("unmask lab train group:S3 --length 1 --out run", "its length must be an integer from 2 to 128, not 1"),
        ("unmask lab train group:S3 --framework rnn --out run", "its framework must be direct, cot, tree, scan"),
        ("unmask lab train group:S3 --framework program --out run", "unknown framework 'program' for group:S3"),
        (
            "unmask lab train S3-tree --program parity.py --out run",
            "the run uses group:S3, which is not a program; leave out --program",
        ),
        ("unmask lab train group:S3 --program parity.py --out run", "cannot be combined with the problem"),
        ("unmask lab train program:missing.py --out run", "missing.py cannot be read: No such file"),
        ("unmask lab train other.json --program parity.py --out run", "is not the file of this run"),
        ("unmask lab train named.json --program parity.py --out run", "the run uses program:p.py, but parity.py"),
    ],
)
def test_bad_input_is_one_message(line, sentence, tmp_path):
    (tmp_path / "parity.py").write_text(PARITY)
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(30)\n" + PARITY)
    run = {"framework": "program", "length": 4}
    (tmp_path / "other.json").write_text(json.dumps({**run, "problem": "program:parity.py", "sha256": "0"}))
    (tmp_path / "named.json").write_text(json.dumps({**run, "problem": "program:p.py"}))
    code, printed = command_line.run(line, tmp_path)
    assert code == 2
    assert sentence in printed
    assert not (tmp_path / "run").exists()


def test_train_resume_and_view(tmp_path):
    (tmp_path / "parity.py").write_text(PARITY)
    train_it = "unmask lab train program:parity.py --length 4 --out run"
    code, printed = command_line.run(train_it, tmp_path)
    assert code == 0
    assert "program:parity.py N = 4 program, 100.0 % of 1000 new words correct" in printed
    weights = (tmp_path / "run" / "model.safetensors").read_bytes()
    assert command_line.run(train_it, tmp_path)[0] == 0
    assert (tmp_path / "run" / "model.safetensors").read_bytes() == weights
    code, printed = command_line.run("unmask lab view run abba --text", tmp_path)
    assert code == 2
    assert "give the file with --program FILE.py" in printed
    code, printed = command_line.run("unmask lab view run abba --text --program parity.py", tmp_path)
    assert code == 0
    assert "rejected" in printed
    (tmp_path / "parity.py").write_text(PARITY + "open('ran', 'w').close()\n")
    for line in (train_it, "unmask lab view run abba --text --program parity.py"):
        code, printed = command_line.run(line, tmp_path)
        assert code == 2
        assert "contains another run, whose sha256" in printed or "is not the file of this run" in printed
        assert (tmp_path / "ran").exists() == (line == train_it)  # whose name says what to run; a folder is asked first
        (tmp_path / "ran").unlink(missing_ok=True)


def test_what_a_program_prints_stays_out_of_the_document(tmp_path):
    (tmp_path / "parity.py").write_text("print('hello')\n" + PARITY)
    config = {"problem": "program:parity.py", "framework": "program", "length": 4, "steps": 2, "shape": {"width": 8}}
    (tmp_path / "c.json").write_text(json.dumps(config))
    line = "unmask lab train c.json --program parity.py --out run --json"
    done = subprocess.run(
        [sys.executable, "-m", *line.split()], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["steps"] == 2
    assert "hello" in done.stderr
