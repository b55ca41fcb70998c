"""Run the scripts of docs/bench/ and write what they print into the pages; write the table of docs/bench/index.md.

UNMASK_PUBLISHED names a folder with checkouts of published samplers, as in tests/export/test_published_classes.py.
Without it the pages about Fast-dLLM and Dream stay as they are, and the table is about diffusers alone.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from unmask.bench import check_sampler
from unmask.bench.bench_folder import write_bench_folder
from unmask.bench.reference_models import VERSION, chosen_rows
from unmask.bench.run_checks import NOT_APPLICABLE, CheckOutcome, MeasuredRun, Report

sys.path.insert(0, str(Path(__file__).parent))
from published_samplers import SAMPLERS

BENCH = Path(__file__).parents[1] / "bench"
INDEX = BENCH / "index.md"
SCRIPT = re.compile(r"```python\n(.*?)```\n\nSeen:\n\n```text\n(.*?)```", re.DOTALL)
REGION = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)
PACKAGES = ("torch", "transformers", "diffusers")
PROGRAM = Path(__file__).parent / "published_samplers.py"
PUBLISHED_VERSIONS = """
LLaDA at b7e6c35, Fast-dLLM (also its copy of Dream) at 24cc59e, dllm at ca176752; Fast-dLLM and Dream run
on their own model classes, with transformers 4.49.0."""


def reports() -> list[Path]:
    """Return the pages that contain a script."""
    return sorted(page for page in BENCH.glob("*.md") if page != INDEX)


def script_and_output(page: str) -> tuple[str, str]:
    """Return (the script of a page, its output according to the page)."""
    match = SCRIPT.search(page)
    if match is None:
        raise ValueError("the page has no script followed by its output")
    return match[1], match[2]


def needs_published(script: str) -> bool:
    """Return whether a script imports a checkout of a published sampler."""
    return "Fast-dLLM" in script


def older_python(published: str) -> str:
    """Return the interpreter with the version of transformers that the classes of LLaDA and Dream need."""
    return str(Path(published).absolute() / "transformers-4.49" / "bin" / "python")


def output_of(script: str, published: str | None) -> str:
    """Run a script in its own process and return its output."""
    python = sys.executable
    if needs_published(script):
        python = older_python(published or "")
    command = [python, "-c", script]
    return subprocess.run(command, cwd=published, capture_output=True, text=True, check=True).stdout


def with_output(page: str, published: str | None) -> str:
    """Return the page with the current output of its script."""
    script, output = script_and_output(page)
    if needs_published(script) and published is None:
        return page
    return page.replace(f"```text\n{output}```", f"```text\n{output_of(script, published)}```")


def measure_samplers(published: str | None) -> dict[str, Report]:
    """Return name → report on the quick set; published code runs in its own process."""
    reports = {
        "LLaDA2Pipeline": check_sampler("diffusers:LLaDA2Pipeline"),
        "BlockRefinementScheduler": check_sampler("diffusers:BlockRefinementScheduler"),
    }
    if published is not None:
        with tempfile.TemporaryDirectory() as exported:
            for name, (form, _) in SAMPLERS.items():
                reports[name] = measured_published(published, name, form, Path(exported))
    return reports


def measured_published(published: str, name: str, form: str | None, exported: Path) -> Report:
    """Run the checks of a published sampler, on models that are exported to a folder if it needs another form."""
    models, python = "quick", sys.executable
    if form is not None:
        rows = chosen_rows("quick")
        folders = [exported / f"{row.name}-{form}" for row in rows]
        for row, folder in zip(rows, folders, strict=True):
            if not folder.exists():
                write_bench_folder(row, folder, form)
        models, python = ",".join(map(str, folders)), older_python(published)
    environment = {**os.environ, "PYTHONPATH": str(BENCH.parents[1] / "src")}
    command = [python, PROGRAM, published, name, models]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    report = json.loads(process.stdout)
    outcomes = [CheckOutcome(**outcome) for outcome in report["outcomes"]]
    return Report(name, outcomes, [MeasuredRun(**run) for run in report["runs"]])


def table(reports_of: dict[str, Report]) -> str:
    """Return two Markdown tables with a column per sampler: checks, then models and budgets."""
    names = list(reports_of)
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    states: dict[str, dict[str, str]] = {}
    runs: dict[tuple[str, int], dict[str, str]] = {}
    for name, report in reports_of.items():
        for check, status, _ in report.rows():
            states.setdefault(check, {})[name] = _short(status)
        for run in report.runs:
            runs.setdefault((run.model, run.steps), {})[name] = f"{run.right:.2f} in {run.passes}"
    head = f"{' | '.join(names)} |"
    line = "|---" * len(names) + "|"
    more = PUBLISHED_VERSIONS if len(names) > 2 else ""
    return "\n".join(
        [
            f"Quick set of reference models, version {VERSION}; {versions}.{more}",
            "Every sampler has the default options of its adapter.",
            "",
            f"| check | {head}",
            f"|---{line}",
            *(f"| {check} | {_cells(row, names)} |" for check, row in states.items()),
            "",
            "Share of right slots of one word, and the number of passes, for each budget:",
            "",
            f"| model | steps | {head}",
            f"|---|--:{line}",
            *(f"| {model} | {steps} | {_cells(row, names)} |" for (model, steps), row in sorted(runs.items())),
            "",
        ]
    )


def _short(status: str) -> str:
    """`failed (1 of 7 models)` → `1 of 7 fail`."""
    counted = re.search(r"failed \((.*) models\)", status)
    return f"{counted[1]} fail" if counted else {NOT_APPLICABLE: "–"}.get(status, "pass")


def _cells(row: dict[str, str], names: list[str]) -> str:
    return " | ".join(row.get(name, "–") for name in names)


def main() -> None:
    """Write everything."""
    published = os.environ.get("UNMASK_PUBLISHED")
    for page in reports():
        page.write_text(with_output(page.read_text(encoding="utf-8"), published), encoding="utf-8")
    if "--scripts" in sys.argv:
        return
    text = INDEX.read_text(encoding="utf-8")
    INDEX.write_text(
        REGION.sub(lambda match: match[1] + table(measure_samplers(published)) + match[2], text), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
