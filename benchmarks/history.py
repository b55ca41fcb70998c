"""A line of ratios for every `make bench`. Ratios hardly depend on the machine, so a loss of speed shows in them."""

import datetime
import json
import platform

LOSS = 1.5  # times the median of earlier measurements


def ratios_of(results):
    """Return the measurements that are relative to a rival on the same machine, or exponents."""
    ratios = {
        "regex: exponent": results["regex"]["exponent"],
        "cot: exponent": results["chain_of_thought"]["exponent"],
        "cot: fast over reference, N = 64": results["chain_of_thought"]["length_64"]
        / results["chain_of_thought"]["length_64_reference"],
        "words: tables with extraction over tree": results["every_word"]["seconds"]
        / results["every_word"]["tree_seconds"],
        "words: tables over tree": results["every_word"]["again_seconds"] / results["every_word"]["tree_seconds"],
        "words: tables over engine": results["every_word"]["seconds"] / results["every_word"]["engine_seconds"],
    }
    for stem, measured in results["converted"].items():
        ratios[f"{stem}: exponent"] = measured["exponent"]
    if results["a5"]["yardstick_seconds"]:
        ratios["a5 over yardstick"] = results["a5"]["seconds"] / results["a5"]["yardstick_seconds"]
    if results["proofs"]["abc"]:
        ratios["addition: ours over ABC"] = results["proofs"]["seconds"] / results["proofs"]["abc"][0]
    for name, measured in results["multipliers"].items():
        if measured["abc"]:
            ratios[f"{name}: ours over ABC"] = measured["seconds"] / measured["abc"][0]
    return {name: round(ratio, 4) for name, ratio in ratios.items()}


def append(path, ratios):
    """Append a line to the history."""
    line = {"date": datetime.datetime.now(datetime.UTC).date().isoformat(), "machine": platform.machine(), **ratios}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def losses(path, ratios):
    """Yield a sentence for each ratio that is well above the median of the history."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    for name, ratio in ratios.items():
        before = sorted(line[name] for line in lines if name in line)
        if before and ratio > LOSS * before[len(before) // 2]:
            yield f"LOSS: {name} is {ratio:.3g}, and was {before[len(before) // 2]:.3g}"
