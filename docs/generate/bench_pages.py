"""Run the scripts of docs/bench/ and write what they print into the pages; write the table of docs/bench/index.md.

UNMASK_PUBLISHED names a folder with checkouts of published samplers, as in tests/export/test_published_classes.py.
Without it the pages about Fast-dLLM and Dream stay as they are, and LLaDA is not in the table.
"""

import importlib.util
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

BENCH = Path(__file__).parents[1] / "bench"
INDEX = BENCH / "index.md"
SCRIPT = re.compile(r"```python\n(.*?)```\n\nSeen:\n\n```text\n(.*?)```", re.DOTALL)
REGION = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)
PACKAGES = ("torch", "transformers", "diffusers")


def reports() -> list[Path]:
    """The pages that contain a script."""
    return sorted(page for page in BENCH.glob("*.md") if page != INDEX)


def script_and_output(page: str) -> tuple[str, str]:
    """The script of a page, and what the page says that it prints."""
    found = SCRIPT.search(page)
    if found is None:
        raise ValueError("the page has no script followed by its output")
    return found[1], found[2]


def needs_published(script: str) -> bool:
    """Whether a script imports a checkout."""
    return "Fast-dLLM" in script


def printed(script: str, published: str | None) -> str:
    """What a script prints, in a process of its own."""
    python = sys.executable
    if needs_published(script):
        python = str(Path(published or "").absolute() / "transformers-4.49" / "bin" / "python")
    command = [python, "-c", script]
    return subprocess.run(command, cwd=published, capture_output=True, text=True, check=True).stdout


def with_output(page: str, published: str | None) -> str:
    """The page with what its script prints now."""
    script, shown = script_and_output(page)
    if needs_published(script) and published is None:
        return page
    return page.replace(f"```text\n{shown}```", f"```text\n{printed(script, published)}```")


def samplers(published: str | None) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Name → (sampler, options)."""
    found: dict[str, tuple[Any, dict[str, Any]]] = {
        "LLaDA2Pipeline": ("diffusers:LLaDA2Pipeline", {}),
        "BlockRefinementScheduler": ("diffusers:BlockRefinementScheduler", {}),
    }
    if published is not None:
        from unmask.bench.adapters import llada

        spec = importlib.util.spec_from_file_location("llada_generate", Path(published) / "LLaDA" / "generate.py")
        if spec is not None and spec.loader is not None:
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            found["LLaDA generate"] = (llada(module.generate), {})
            found["LLaDA generate, random"] = (llada(module.generate), {"remasking": "random"})
    return found


def table(reports_of: dict[str, Any]) -> str:
    """Checks by samplers, then models and budgets by samplers."""
    names = list(reports_of)
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    states: dict[str, dict[str, str]] = {}
    runs: dict[tuple[str, int], dict[str, str]] = {}
    for name, report in reports_of.items():
        for check, status, _ in report.rows():
            states.setdefault(check, {})[name] = status
        for run in report.runs:
            runs.setdefault((run.model, run.steps), {})[name] = f"{run.right:.2f} in {run.passes}"
    head = f"{' | '.join(names)} |"
    line = "|---" * len(names) + "|"
    return "\n".join(
        [
            f"Quick set of reference models; {versions}; LLaDA at b7e6c35 where it is listed. Every sampler with the",
            "default options of its adapter.",
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


def _cells(row: dict[str, str], names: list[str]) -> str:
    return " | ".join(row.get(name, "–") for name in names)


def main() -> None:
    """Write everything."""
    published = os.environ.get("UNMASK_PUBLISHED")
    for page in reports():
        page.write_text(with_output(page.read_text(encoding="utf-8"), published), encoding="utf-8")
    if "--scripts" in sys.argv:
        return
    from unmask.bench import check_sampler

    measured = {
        name: check_sampler(sampler, "quick", options=options)
        for name, (sampler, options) in samplers(published).items()
    }
    text = INDEX.read_text(encoding="utf-8")
    INDEX.write_text(REGION.sub(lambda found: found[1] + table(measured) + found[2], text), encoding="utf-8")


if __name__ == "__main__":
    main()
