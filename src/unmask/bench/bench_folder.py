"""Reference model → bench folder (export, bench.json, check.py, SHA256SUMS), and the cache of such folders.

`check.py` is made from the modules of this package that use nothing else of unmask, one after the other, so that a
folder grades a sampler with torch and transformers alone and in the same way as `unmask bench run`.
"""

import ast
import os
import shutil
from hashlib import sha256
from pathlib import Path

from unmask.bench.loaded_model import BenchError, LoadedModel, load_reference
from unmask.bench.reference_models import MOST_BYTES, VERSION, ReferenceRow, chosen_rows, reference_files
from unmask.errors import FolderError

CHECKSUMS = "SHA256SUMS"
STANDALONE = ("observed_run", "loaded_model", "trial", "checks", "comparison_checks", "run_checks")
HEAD = '''"""Grade a sampler on the model of this folder: python check.py FILE.py:NAME

NAME is generate(model, tokenizer, input_ids, *, steps, mask_token_id, **options) and returns the filled ids. Needs
torch and transformers. Written by unmask; do not edit.
"""


class UnmaskError(Exception):
    """An input that cannot be used."""
'''
TAIL = """

def main() -> int:
    import argparse
    import json
    from contextlib import redirect_stdout

    parser = argparse.ArgumentParser(description="Grade a sampler on the model of this folder.")
    parser.add_argument("sampler", metavar="FILE.py:NAME")
    parser.add_argument("--check", action="append", metavar="NAME")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    try:
        with redirect_stdout(sys.stderr):  # what a sampler prints is not part of the report
            report = run_checks(
                function_named(chosen.sampler), [load_reference(Path(__file__).parent)], checks=chosen.check
            )
    except UnmaskError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report.to_json(), indent=1) if chosen.json else report.text())
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
"""


def standalone_script() -> str:
    """Return the text of check.py."""
    parts = [HEAD]
    for name in STANDALONE:
        source = (Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        tree, lines = ast.parse(source), source.splitlines()
        for node in tree.body:
            is_docstring = node is tree.body[0] and isinstance(node, ast.Expr)
            of_unmask = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("unmask")
            if is_docstring or of_unmask:
                for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                    lines[number] = ""
        parts.append("\n".join(lines).strip() + "\n")
    return "\n\n".join(parts) + TAIL


def folder_files(row: ReferenceRow, form: str | None = None) -> dict[str, bytes]:
    """Return all files of a bench folder, with their checksums."""
    files = {**reference_files(row, form), "check.py": standalone_script().encode()}
    size = sum(map(len, files.values()))
    if form in (None, row.form) and size > MOST_BYTES:
        raise BenchError(f"{row.name} has {size:,} bytes; a reference model has at most {MOST_BYTES:,}")
    listed = [f"{sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)]
    return {**files, CHECKSUMS: "".join(listed).encode()}


def write_bench_folder(row: ReferenceRow, out: str | os.PathLike[str], form: str | None = None) -> Path:
    """Write a bench folder to a path that does not exist yet."""
    from unmask.export.folder_files import check_free, write_new_folder

    check_free(Path(out))
    return write_new_folder(folder_files(row, form), out)


def cache_folder() -> Path:
    """Return $UNMASK_CACHE, or `unmask` in the user's cache directory."""
    named = os.environ.get("UNMASK_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "unmask"


def is_intact(folder: Path) -> bool:
    """Return whether all files exist and have their recorded checksums."""
    try:
        listed = (folder / CHECKSUMS).read_text(encoding="utf-8").splitlines()
        pairs = [line.split("  ", 1) for line in listed]
        return bool(pairs) and all(sha256((folder / name).read_bytes()).hexdigest() == digest for digest, name in pairs)
    except (OSError, ValueError):
        return False


def cached_model(row: ReferenceRow) -> LoadedModel:
    """Return the model from the cache; it is built if it is missing or was changed."""
    digest = sha256(f"{VERSION} {row}".encode()).hexdigest()[:12]
    folder = cache_folder() / "bench" / f"{row.name}-{digest}"
    if not is_intact(folder):
        if folder.exists():
            shutil.rmtree(folder)
        try:
            write_bench_folder(row, folder)
        except FolderError:
            if not is_intact(folder):  # otherwise another process was faster
                raise
    return load_reference(folder)


def model_names(models: str) -> list[str]:
    """Return the names that `cached_models` loads: those of reference models, or the path of a bench folder."""
    if os.sep in models or Path(models).is_dir():
        return [models]
    return [row.name for row in chosen_rows(models)]


def cached_models(models: str) -> list[LoadedModel]:
    """Load `quick`, `full`, names separated by commas, or the path of a bench folder."""
    if os.sep in models or Path(models).is_dir():
        return [load_reference(models)]
    return [cached_model(row) for row in chosen_rows(models)]
