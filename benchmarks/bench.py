"""Measure every row of the performance table: `make bench`.

Writes benchmarks/results.json, a line of ratios to benchmarks/history.jsonl, the plots of
docs/reference/performance/ and the measured regions of docs/reference/performance.md. Times are the best of a few runs,
in CPU seconds (user and system), on one core. Rival programs run on the same machine, so that a growing ratio to a
rival is a loss on any machine. If C6288=FILE names the netlist of c6288 as AIGER or BLIF, it is measured, too.

    python benchmarks/bench.py              measure everything
    python benchmarks/bench.py PART …       measure some parts and keep the other results
    python benchmarks/bench.py pages        write the page and the plots from results.json, without measuring
"""

import cProfile
import json
import os
import platform
import pstats
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from itertools import product
from math import log
from pathlib import Path

import numpy as np
from history import append, losses, ratios_of
from multiplier import nor_multiplier
from pages import table, write_page
from rivals import abc_seconds, product_tree
from yardstick import dense_pass_seconds

from unmask.api import compile_problem, convert_model, problem_of, run_word, verify_model
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.paper.checks.circuit_checks import circuit_model
from unmask.problems.automata.groups_and_monoids import transition_monoid
from unmask.problems.circuits.circuit_files import write_aiger
from unmask.reasoners.run_words import answers, run
from unmask.reasoners.typed_words import read_word
from unmask.samplers.line_plot import Point, Series, plot, powers_axis
from unmask.verification.answer_tables import answer_many_words
from unmask.verification.word_encoding import WordEncoding
from unmask.verification.words.deciders import circuit_of, decider_of

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
RESULTS = HERE / "results.json"
PICTURES, SIZE = DOCS / "reference" / "performance", (460, 280)
ALTA_PARITY_SECONDS = 51
LARGE = {  # of tests/compilers/test_regular_compiler.py: 2,384 to 3,532 elements, and 66 states
    "log search": r".*(error|warning|fatal|panic).*(timeout|refused|reset).*",
    "secrets": r".*(password|passwd|pwd)\s*[=:]\s*\S{6,}.*",
    "image names": r"(?:[a-z0-9]+(?:[.-][a-z0-9]+)*)(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*(:\w[\w.-]{0,12})?"
    r"(@sha256:[0-9a-f]{16})?",
    "long dates": r"(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (January|February|March|April|May|June|July|August"
    r"|September|October|November|December) \d{1,2}",
}
YARDSTICK = "one dense float32 torch pass: 4,096 rows, width 256, 2 heads of 64, MLP 512, 2 layers"


def best(work, *, times=5):
    """Return the CPU seconds of the fastest of a few runs; the machine may be busy with other work."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def exponent(sizes, seconds):
    """Return the slope of the line through (log size, log seconds)."""
    x, y = [log(n) for n in sizes], [log(s) for s in seconds]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)


def command(*arguments, text=None):
    """Return (CPU seconds, peak memory in bytes, standard output) of an `unmask` command in a fresh process."""
    with tempfile.TemporaryFile("w+") as standard_input:
        standard_input.write(text or "")
        standard_input.seek(0)
        program = [sys.executable, "-m", "unmask", *arguments]
        process = subprocess.Popen(program, stdin=standard_input, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output


def a5():
    """A5 word problem, mdm, N = 2048: all steps of one run."""
    model = compile_problem("group:A5", "mdm", length=2048)
    letters = [model.token[s] for s in model.input_symbols]
    word = np.random.default_rng(0).choice(letters, model.length).tolist()
    seconds = best(lambda: run(model, word, engine=FastEngine(), canvas=False), times=9)
    return {"steps": model.steps, "seconds": seconds, "yardstick_seconds": dense_pass_seconds()}


def regex():
    """(ab)* by mdm, N = 2^10 … 2^17."""
    lengths = [1 << k for k in range(10, 18)]
    compiled, ran = [], []
    for length in lengths:
        compiled.append(best(lambda n=length: compile_problem("regex:(ab)*", "mdm", length=n), times=2))
        model = compile_problem("regex:(ab)*", "mdm", length=length)
        word = read_word(model, "ab" * (length // 2))
        assert run(model, word, engine=FastEngine(), canvas=False).accepted
        ran.append(best(lambda m=model, w=word: run(m, w, engine=FastEngine(), canvas=False), times=3))
    return {"lengths": lengths, "seconds": ran, "compile_seconds": compiled, "exponent": exponent(lengths, ran)}


def regex_by_hand(folder):
    """The longest word of `regex` as a user runs it: compile into a folder, then pass the word on standard input."""
    length = 1 << 17
    target = str(folder / "longest")
    compiling, _, _ = command("compile", "regex:(ab)*", "--length", str(length), "--to", "mdm", "--out", target)
    running, memory, output = command("run", target, "-", "--no-canvas", "--json", text="ab" * (length // 2) + "\n")
    assert json.loads(output)["accepted"] is True
    return {"length": length, "seconds": running, "compile_seconds": compiling, "peak_bytes": memory}


def chains():
    """One word by chain of thought: one step per letter."""
    lengths = [1 << k for k in range(10, 17)]
    ran = []
    for length in lengths:
        model = compile_problem("regex:(ab)*", "cot", length=length)
        word = read_word(model, "ab" * (length // 2))
        ran.append(best(lambda m=model, w=word: run(m, w, engine=FastEngine(), canvas=False), times=2))
    group = compile_problem("group:A5", "cot", length=4096)
    word = np.random.default_rng(0).choice([group.token[s] for s in group.input_symbols], 4096).tolist()
    small = compile_problem("regex:(ab)*", "cot", length=64)
    short = read_word(small, "ab" * 32)
    return {
        "lengths": lengths,
        "seconds": ran,
        "exponent": exponent(lengths, ran),
        "a5_seconds": best(lambda: run(group, word, engine=FastEngine(), canvas=False), times=3),
        "length_64": best(lambda: run(small, short, engine=FastEngine()), times=2),
        "length_64_reference": best(lambda: run(small, short, engine=ReferenceEngine()), times=1),
    }


def parity():
    """Parity of the a's in 512 letters, mdm."""
    model = compile_problem("regex:(b*ab*a)*b*", "mdm", length=512)
    seconds = best(lambda: run_word(model, "ab" * 256, engine=FastEngine()))
    assert run_word(model, "ab" * 256).accepted
    return {"seconds": seconds, "alta_seconds": ALTA_PARITY_SECONDS, "times_faster": ALTA_PARITY_SECONDS / seconds}


def every_word():
    """All 65,536 words of length 16 over {a, b}: by tables, by the engine, and by a product tree over the monoid."""
    problem = "regex:(ab)*"
    numbers = (np.arange(1 << 16)[:, None] >> np.arange(16)[::-1]) & 1
    monoid = transition_monoid(problem_of(problem).automaton)

    def words_of(model):
        letters = [next(t for a, b, t in model.characters if a <= ord(c) <= b) for c in "ab"]
        return np.array([model.token[letter] for letter in letters])[numbers]

    def extracted():
        model = compile_problem(problem, "mdm", length=16)
        words = words_of(model)
        start = time.process_time()
        answered = answer_many_words(model, words, engine=FastEngine())
        first = time.process_time() - start
        assert answered.by == "tables"
        assert np.flatnonzero(answered.answers.accepted == 1).tolist() == [0x5555]
        return first, best(lambda: answer_many_words(model, words, engine=FastEngine()), times=3)

    measured = [extracted() for _ in range(3)]
    model = compile_problem(problem, "mdm", length=16)
    words = words_of(model)
    tokens = list(problem_of(problem).automaton.tokens)
    as_tokens = np.array([tokens.index(model.vocabulary[t]) for t in range(len(tokens))])[words]
    assert np.flatnonzero(product_tree(monoid, as_tokens)).tolist() == [0x5555]
    return {
        "words": len(words),
        "seconds": min(first for first, _ in measured),
        "again_seconds": min(again for _, again in measured),
        "tree_seconds": best(lambda: product_tree(monoid, as_tokens)),
        "engine_seconds": best(lambda: answers(model, words, engine=FastEngine()), times=1),
    }


def a_million_words(folder):
    """1,000,000 words of length 32 through standard input: reading and printing included."""
    target = str(folder / "words")
    command("compile", "regex:(a|b)*abb(a|b)*", "--length", "32", "--to", "mdm", "--out", target)
    letters = np.random.default_rng(0).integers(0, 2, (1_000_000, 32))
    text = "".join(np.array(["a", "b"])[row].tobytes().decode("utf-32-le") + "\n" for row in letters)
    seconds, memory, output = command("run", target, "-", text=text)
    lines = output.splitlines()
    expected = ["accepted" if "abb" in word else "rejected" for word in text.splitlines()]
    assert lines == expected
    return {"words": len(lines), "seconds": seconds, "peak_bytes": memory}


def a_million_letters(folder):
    """(ab)* by mdm at N = 2^20, from the command line."""
    length, target = 1 << 20, folder / "million"
    compiling, _, _ = command("compile", "regex:(ab)*", "--length", str(length), "--to", "mdm", "--out", str(target))
    text = "ab" * (length // 2) + "\n"
    running, memory, output = command("run", str(target), "-", "--no-canvas", "--json", text=text)
    assert json.loads(output)["accepted"] is True
    stored = sum(path.stat().st_size for path in target.iterdir())
    return {"seconds": running, "compile_seconds": compiling, "peak_bytes": memory, "folder_bytes": stored}


def converted():
    """One word through converted models, which have no special code in the engine; also the time to convert them."""
    results = {}
    for (source, to), problem in product(
        (("mdm", "pcot"), ("pcot", "mdm")), ("regex:(a|b)*abb", "group:S3", "group:A5")
    ):
        lengths, seconds, before = [32, 64, 128, 256], [], []
        for length in lengths:
            start = time.perf_counter()
            model = compile_problem(problem, source, length=length)
            for _, conversion in convert_model(model, to, by=f"{source}_to_{to}"):
                model = conversion.model
            before.append(time.perf_counter() - start)
            word = np.random.default_rng(0).choice([model.token[s] for s in model.input_symbols], length).tolist()
            seconds.append(best(lambda m=model, w=word: run(m, w, engine=FastEngine(), canvas=False), times=3))
        results[f"{source}_to_{to}, {problem}"] = {
            "lengths": lengths,
            "seconds": seconds,
            "compile_and_convert_seconds": before,
            "exponent": exponent(lengths, seconds),
        }
    return results


def proofs():
    """The circuit of addition of 32 bits, proved from the weights; and ABC on the two netlists."""
    return _proof_and_abc(circuit_model("addition", "mdm", 64), "family:addition", 33)


def multipliers(folder):
    """Models of multipliers, proved against the netlists they were compiled from; and ABC on the extracted netlists."""
    written = folder / "multiplier.aag"
    written.write_text(write_aiger(nor_multiplier()), encoding="ascii")
    netlists = {"NOR array": f"aiger:{written}"}
    netlist_file = os.environ.get("C6288")
    if netlist_file:
        netlists["c6288"] = f"{'blif' if netlist_file.endswith('.blif') else 'aiger'}:{netlist_file}"
    return {name: _proof_and_abc(compile_problem(problem, "mdm"), problem, 32) for name, problem in netlists.items()}


def _proof_and_abc(model, problem, outputs):
    start = time.process_time()
    assert verify_model(model, method="prove").status == "proved"
    ours = time.process_time() - start
    letters, encoding = list(model.input_symbols), WordEncoding(2, model.length)
    netlists = (model, problem_of(problem).specification(model.length))
    theirs = abc_seconds(*(circuit_of(decider_of(netlist, letters, outputs), encoding) for netlist in netlists))
    return {"seconds": ours, "abc": theirs}


def large_proofs():
    """Proofs at N = 64 of the regexes of our collection whose automata have the largest monoids and the most states."""
    measured = {}
    for name, pattern in LARGE.items():
        model = compile_problem(f"regex:{pattern}", "mdm", length=64)
        start = time.process_time()
        assert verify_model(model, method="prove").status == "proved", name
        measured[name] = time.process_time() - start
    return measured


def start_up(folder):
    """A small model from the command line: first run in a fresh process, and the best of five."""
    target = str(folder / "small")
    command("compile", "regex:(ab)*", "--length", "8", "--to", "mdm", "--out", target)
    seconds = [command("run", target, "abababab", "--json")[0] for _ in range(5)]
    return {"first_seconds": seconds[0], "seconds": min(seconds)}


def compile_4096(folder):
    """A usual regex at N = 4096, compiled, checked and written."""
    pattern = r"regex:[A-Za-z0-9._]+@[a-z]+(\.[a-z]+)+"
    target = str(folder / "mail")
    seconds, memory, _ = command("compile", pattern, "--length", "4096", "--to", "mdm", "--out", target)
    return {"problem": pattern, "seconds": seconds, "peak_bytes": memory}


def profile():
    """Return the share of the time of two runs by source file."""
    shares = {}
    for name, problem, length in (("A5, N = 2048", "group:A5", 2048), ("(ab)*, N = 131,072", "regex:(ab)*", 1 << 17)):
        model = compile_problem(problem, "mdm", length=length)
        letters = [model.token[s] for s in model.input_symbols]
        word = np.random.default_rng(0).choice(letters, model.length).tolist()
        run(model, word, engine=FastEngine(), canvas=False)
        profiler = cProfile.Profile()
        profiler.runcall(run, model, word, engine=FastEngine(), canvas=False)
        shares[name] = _by_file(pstats.Stats(profiler))
    return shares


def _by_file(stats):
    """Return the share of the time by source file of unmask; time inside NumPy counts for the calling file."""
    seconds: dict[str, float] = {}

    def ours(function):
        return "unmask" in function[0]

    for function, (_, _, own_seconds, _, callers) in stats.stats.items():  # ty: ignore[unresolved-attribute]
        if ours(function):
            file = Path(function[0]).stem
            seconds[file] = seconds.get(file, 0) + own_seconds
        else:
            for caller, (_, _, share, _) in callers.items():
                file = Path(caller[0]).stem if ours(caller) else "other"
                seconds[file] = seconds.get(file, 0) + share
    whole = sum(seconds.values())
    return {file: share / whole for file, share in sorted(seconds.items(), key=lambda i: -i[1])[:8]}


def rows_of(results):
    """Yield the rows (what, target, measured) of the table."""
    a5_, regex_, hand, chain = results["a5"], results["regex"], results["regex_by_hand"], results["chain_of_thought"]
    yardstick = a5_["yardstick_seconds"]
    against = f"{a5_['seconds'] / yardstick:.2f} of it" if yardstick else "torch not installed"
    yield (
        f"A5 `mdm`, N = 2048, all {a5_['steps']} steps, exact",
        "at most 0.25 of the yardstick",
        f"{a5_['seconds']:.3f} s, {against}",
    )
    yield f"yardstick: {YARDSTICK}", "", f"{yardstick:.3f} s" if yardstick else "torch not installed"
    yield "regex `(ab)*` `mdm`, N = 2^10 … 2^17", "exponent at most 1.15", f"exponent {regex_['exponent']:.2f}"
    yield (
        "the same, N = 131,072, the word through standard input, loading included",
        "30 s, 6 GB",
        f"{hand['seconds']:.1f} s, {hand['peak_bytes'] / 1e9:.2f} GB; compile {hand['compile_seconds']:.1f} s",
    )
    million = results["a_million_letters"]
    yield (
        "the same, N = 1,048,576",
        "15 s, 4 GB, a folder of 500 MB",
        f"{million['seconds']:.1f} s, {million['peak_bytes'] / 1e9:.2f} GB, {million['folder_bytes'] / 1e6:.0f} MB; "
        f"compile {million['compile_seconds']:.1f} s",
    )
    regex_4096 = chain["seconds"][chain["lengths"].index(4096)]
    yield (
        "`cot`, one word, N = 4096: regex, A5",
        "40,000 symbols a second",
        f"{4096 / regex_4096:,.0f}, {4096 / chain['a5_seconds']:,.0f}",
    )
    yield "`cot`, N = 1,024 … 65,536 steps", "exponent at most 1.1", f"exponent {chain['exponent']:.2f}"
    faster = chain["length_64_reference"] / chain["length_64"]
    yield "`cot`, N = 64, against the reference", "", f"{faster:.0f} times faster"
    yield (
        "parity, n = 512, `mdm`",
        f"100 times faster than ALTA's {ALTA_PARITY_SECONDS} s",
        f"{results['parity']['seconds']:.4f} s, {results['parity']['times_faster']:.0f} times",
    )
    words, many = results["every_word"], results["a_million_words"]
    yield (
        "all 65,536 words of length 16, `mdm`, by tables",
        "10 times a product tree in NumPy",
        f"{words['seconds']:.3f} s with the extraction, {words['seconds'] / words['tree_seconds']:.1f} times; "
        f"{words['again_seconds']:.3f} s once it is made, {words['again_seconds'] / words['tree_seconds']:.1f} times",
    )
    yield "the same by the engine", "20 s", f"{words['engine_seconds']:.1f} s"
    yield (
        "`unmask run DIR -`, 1,000,000 words of length 32, reading and printing included",
        "20 s",
        f"{many['seconds']:.1f} s, {many['peak_bytes'] / 1e9:.2f} GB",
    )
    for stem, entry in results["converted"].items():
        yield (
            f"converted by {stem}, one word, N = 128; N = 256".replace("|", "\\|"),
            "1 s, exponent at most 1.3",
            f"{entry['seconds'][-2]:.2f} s; {entry['seconds'][-1]:.2f} s, exponent {entry['exponent']:.2f} from N = 32"
            f" (compile and convert {entry['compile_and_convert_seconds'][-1]:.2f} s)",
        )
    yield (
        "addition of 32 bits proved from the weights; `cec` of ABC on the netlists of both",
        "21 s",
        _seconds_and_abc(results["proofs"]),
    )
    for name, entry in results["multipliers"].items():
        title = "a 16 × 16 array multiplier of NOR gates, built as c6288 is" if name == "NOR array" else f"`{name}`"
        yield f"{title}, proved against its netlist; `cec` of ABC on both", "41 s", _seconds_and_abc(entry)
    yield (
        "regexes with a slot per state, `mdm`, N = 64, proved",
        "60 s each",
        ", ".join(f"{name} {seconds:.0f} s" for name, seconds in results["large_proofs"].items()),
    )
    start = results["start_up"]
    yield (
        "`unmask run` on a small model, whole process",
        "1 s",
        f"{start['seconds']:.2f} s (first: {start['first_seconds']:.2f} s)",
    )
    yield (
        f"`unmask compile '{results['compile_4096']['problem']}' --length 4096`".replace("|", "\\|"),
        "5 s",
        f"{results['compile_4096']['seconds']:.2f} s",
    )


def _seconds_and_abc(proved):
    abc = "ABC not installed" if proved["abc"] is None else f"ABC {proved['abc'][1]} in {proved['abc'][0]:.2f} s"
    return f"{proved['seconds']:.1f} s; {abc}"


def write_results(results):
    """The tables of docs/reference/performance.md."""
    targets = table(("what", "target", "measured"), rows_of(results))
    where = ["| run | " + " | ".join(f"{i}." for i in range(1, 6)) + " |", "|---|" + "---|" * 5]
    for name, shares in results["profile"].items():
        cells = [f"`{file}` {100 * share:.0f} %" for file, share in list(shares.items())[:5]]
        where.append(f"| {name} | " + " | ".join(cells) + " |")
    machine = results["machine"]
    under = (
        f"CPU seconds, user and system, measured with `make bench` on a machine of {machine['cores']} cores, "
        f"Python {machine['python']}, NumPy {machine['numpy']}."
    )
    write_page(DOCS / "reference" / "performance.md", {"table": [*targets, "", under], "profile": where})


def curve(name, lengths, seconds):
    return Series(name, tuple(Point(n, s) for n, s in zip(lengths, seconds, strict=True)))


def write_plots(results):
    """Write seconds against N on logarithmic axes, with a band of slope 1 through the first run."""
    for name, title in (("regex", "(ab)* by mdm"), ("chain_of_thought", "(ab)* by chain of thought")):
        measured = results[name]
        lengths, run_seconds = measured["lengths"], measured["seconds"]
        series = [curve("run", lengths, run_seconds)]
        if compile_seconds := measured.get("compile_seconds"):
            series.append(curve("compile", lengths, compile_seconds))
        linear = curve("slope 1", lengths, [run_seconds[0] * n / lengths[0] for n in lengths])
        series.append(replace(linear, measured=False))
        seconds = [point.y for curve_series in series for point in curve_series.points]
        picture = plot(title, powers_axis("length N", lengths), powers_axis("seconds", seconds), series, size=SIZE)
        (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")


def measure(only, folder, results):
    """Measure all parts, or some; results.json is written after each."""
    parts = {
        "a5": a5,
        "regex": regex,
        "regex_by_hand": lambda: regex_by_hand(folder),
        "chain_of_thought": chains,
        "parity": parity,
        "every_word": every_word,
        "a_million_words": lambda: a_million_words(folder),
        "a_million_letters": lambda: a_million_letters(folder),
        "converted": converted,
        "proofs": proofs,
        "multipliers": lambda: multipliers(folder),
        "large_proofs": large_proofs,
        "start_up": lambda: start_up(folder),
        "compile_4096": lambda: compile_4096(folder),
        "profile": profile,
    }
    if unknown := set(only) - parts.keys():
        raise SystemExit(f"there is no part {min(unknown)}; parts are {', '.join(parts)}")
    results["machine"] = {"cores": os.cpu_count(), "python": platform.python_version(), "numpy": np.__version__}
    for name in only or parts:
        start = time.monotonic()
        results[name] = parts[name]()
        print(f"{name}: measured in {time.monotonic() - start:.0f} s", flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if missing := [name for name in parts if name not in results]:
        raise SystemExit(f"not measured yet: {', '.join(missing)}; run without naming parts")


def main(only):
    """Measure all parts or those named, and write the page and the plots; `pages` only writes."""
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if only else {}
    if only != ["pages"]:
        with tempfile.TemporaryDirectory() as scratch:
            measure(only, Path(scratch), results)
        for loss in losses(HERE / "history.jsonl", ratios_of(results)):
            print(loss)
        if not only:
            append(HERE / "history.jsonl", ratios_of(results))
    write_plots(results)
    write_results(results)
    for row in rows_of(results):
        print(" | ".join(row))


if __name__ == "__main__":
    main(sys.argv[1:])
