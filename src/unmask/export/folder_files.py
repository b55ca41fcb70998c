"""The files of every export folder: export.json, registers.json, the card (README.md), and how the folder is written.

A folder is written completely or not at all, and never over existing files. `registers.json` names the coordinates of
the residual stream by the register names of the model folder, and lists what each head compares.
"""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from unmask.api import problem_accepts, problem_name, problem_states
from unmask.errors import FolderError
from unmask.export.real_transformer import RealTransformer
from unmask.export.tokenizer import TokenNames
from unmask.files import write_folder
from unmask.weights.kinds import DIFFUSION
from unmask.weights.model import Model
from unmask.weights.storage import content_hash

Files = dict[str, bytes]


def check_free(out: Path) -> tuple[str, ...]:
    """Refuse a path that exists, because an export replaces nothing. Call this also before long work."""
    try:
        exists = out.exists() or out.is_symlink()
    except OSError as error:
        raise FolderError(f"{out} cannot be written: {error.strerror}") from None
    if exists:
        raise FolderError(f"{out} exists; an export never replaces files; choose another name")
    return ()


def write_new_folder(files: Files, out: str | os.PathLike[str]) -> Path:
    """Write a folder at a path that does not exist yet."""
    return write_folder(Path(out), files.items(), check=check_free)


def as_json(document: Any) -> bytes:
    """Return a document as the bytes of an indented JSON file."""
    return as_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n")


def as_text(text: str) -> bytes:
    """Return the text in UTF-8; half a surrogate pair, which a vocabulary may contain, becomes an escape."""
    return text.encode("utf-8", "backslashreplace")


FORMAT = "unmask-export/1"


def summary(model: Model, form: str, transformer_name: str, *, exact: bool = False) -> dict[str, Any]:
    """Return the entries of `export.json` that every form has."""
    return {
        "format": FORMAT,
        "form": form,
        "exact": exact,
        "part": transformer_name,
        "problem": problem_name(model),
        "accepts": problem_accepts(model),
        **({"states": states} if (states := problem_states(model)) else {}),
        "kind": model.kind,
        "precision": model.precision.p,
        "length": model.length,
        "padding": model.padding,
        "steps": model.steps,
        "model_sha256": content_hash(model),
    }


OF_EVERY_HEAD = ("zero", "minus the sum", "outside", "constant")  # what hides spare rows, and what a norm needs


def register_map(transformer: RealTransformer) -> dict[str, Any]:
    """`columns` in order, `registers` by name, and per layer its heads with the registers that they read and write."""
    names = transformer.names
    registers: dict[str, list[int]] = {}
    for column, name in enumerate(names):
        registers.setdefault(_register(name), []).append(column)
    layers, before = [], None
    for layer in transformer.layers:
        description = f"layer {layer.source}" if layer.source != before else f"outer ReLU of layer {layer.source}"
        description, before = layer.does or description, layer.source
        heads = [
            {
                "head": i,
                "source": head.source,
                "queries": _registers_used(head.wq, names),
                "keys": _registers_used(head.wk, names),
                "reads": _registers_used(head.wv, names),
                "writes": _registers_used(head.wo.T, names),
            }
            for i, head in enumerate(layer.heads)
        ]
        layers.append({"does": description, "heads": heads})
    return {"width": transformer.width, "columns": list(names), "registers": registers, "layers": layers}


def _register(name: str) -> str:
    return name.split(":")[0] if not name.startswith("column ") else name


def _registers_used(matrix: np.ndarray, names: tuple[str, ...]) -> list[str]:
    """Return the registers whose columns have a nonzero weight."""
    registers = (_register(names[column]) for column in np.flatnonzero(matrix.any(axis=1)))
    return [name for name in dict.fromkeys(registers) if name not in OF_EVERY_HEAD]


MOST_STATES = 64
FRONT = """---
library_name: {library}
tags: [unmask, compiled, {kind}]
---
"""

LOAD = """folder = "."  # where this file is
model, tokenizer = {auto}.from_pretrained(folder{remote}), {reads}.from_pretrained(folder)
word = tokenizer({word!r}, return_tensors="pt"){ids}
"""

DENOISE = """```python
import json

import torch
from transformers import {auto}, {reads}

{load}canvas = torch.full((1, {padding}), tokenizer.mask_token_id)
for slots in json.load(open(f"{{folder}}/export.json"))["order"]:  # the order of the planner
    with torch.no_grad():
        logits = model(torch.cat([word, canvas], dim=1)).logits[:, {rows}]
    canvas[:, slots] = logits.argmax(-1)[:, slots]
print(tokenizer.convert_ids_to_tokens(canvas[0].tolist()))
```
"""

DENOISE_SURE = """```python
import torch
from transformers import {auto}, {reads}

{load}canvas = torch.full((1, {padding}), tokenizer.mask_token_id)
for _ in range({steps}):
    with torch.no_grad():
        chance = model(torch.cat([word, canvas], dim=1)).logits[:, {rows}].softmax(-1)
    sure = (chance.amax(-1) > 0.9) & (canvas == tokenizer.mask_token_id)
    canvas = torch.where(sure, chance.argmax(-1), canvas)
print(tokenizer.convert_ids_to_tokens(canvas[0].tolist()))
```
"""

PLAN = """```python
import torch
from transformers import {auto}, {reads}

{load}canvas = torch.full((1, {padding}), tokenizer.mask_token_id)
with torch.no_grad():
    logits = model(torch.cat([word, canvas], dim=1)).logits[:, {rows}]
print((logits.argmax(-1) == tokenizer.convert_tokens_to_ids({take!r}))[0].nonzero().flatten().tolist())  # write these
```
"""

LOOP = """```python
import torch
from transformers import {auto}, {reads}

{load}pads = torch.full((1, {padding}), tokenizer.pad_token_id)
with torch.no_grad():
    answer = model(torch.cat([word, pads], dim=1)).logits[:, -1].argmax(-1)
print(tokenizer.convert_ids_to_tokens(answer.tolist()))
```
"""

GENERATE = """```python
from transformers import {auto}, {reads}

{load}answer = model.generate(**word, do_sample=False, max_new_tokens={steps})[0, word.input_ids.shape[1]:]
print(tokenizer.convert_ids_to_tokens(answer.tolist()))
```
"""

CLASSES = {
    **dict.fromkeys(("bert", "albert", "eurobert"), "AutoModelForMaskedLM"),
    **dict.fromkeys(("gpt2", "llama", "qwen2"), "AutoModelForCausalLM"),
    **dict.fromkeys(("llada", "dream"), "AutoModel"),
}
PUBLISHED = {
    "llada": "`configuration_llada.py` and `modeling_llada.py` (class `LLaDAModelLM`)",
    "dream": "`configuration_dream.py`, `modeling_dream.py` and what they import (class `DreamModel`)",
}


def stock_card(model: Model, report: dict[str, Any], tokens: TokenNames, words: np.ndarray) -> str:
    """Return the card of a folder that transformers loads; `AutoTokenizer` ignores how a Qwen2 folder splits words."""
    form, transformer_name, order = report["form"], report["part"], report["order"]
    denoise = PLAN if transformer_name == "planner" else DENOISE if order else DENOISE_SURE
    code = {"cot": GENERATE, "plt": LOOP}.get(model.kind, denoise)
    names = {"auto": CLASSES[form], "reads": "PreTrainedTokenizerFast" if form == "qwen2" else "AutoTokenizer"}
    load = LOAD.format(
        **names,
        remote=", trust_remote_code=True" * (form in PUBLISHED),
        word=written_word(model, tokens, words),
        ids="" if model.kind == "cot" else ".input_ids",
    )
    shifted = report.get("shifted", False)
    example = code.format(
        **names,
        load=load,
        padding=model.padding,
        rows=f"-{model.padding + 1}:-1" if shifted else f"-{model.padding}:",
        steps=model.steps,
        take=tokens.special.get("take", ""),
    )
    if "work" in report:
        start = f"canvas = torch.full((1, {model.padding}), tokenizer.mask_token_id)\n"
        token, slots = report["work"]["token"], report["work"]["slots"]
        example = example.replace(start, f"{start}canvas[:, :{slots}] = tokenizer.convert_tokens_to_ids({token!r})\n")
    notes = [
        *_precisions(report),
        "Every weight was computed; none was trained. `registers.json` names the coordinates of the residual "
        "stream and lists what each head compares. `export.json` contains the measurements.\n",
    ]
    return _card(model, report, "transformers", [*_published(form), example], notes)


def _card(model: Model, report: dict[str, Any], library: str, run: list[str], notes: list[str]) -> str:
    """Return the card: what the model computes, the order of its slots, how to run it, and what was checked."""
    return "\n".join(
        [
            FRONT.format(library=library, kind=model.kind),
            *_description(model, report),
            *_slot_order_section(model, report),
            "## Run it\n",
            *run,
            *_guarantee_section(model, report),
            *notes,
        ]
    )


def _published(form: str) -> list[str]:
    """Return where to get the modelling code of LLaDA and Dream: neither transformers nor this folder contains it."""
    if form not in PUBLISHED:
        return []
    return [
        f"Put {PUBLISHED[form]} into this folder first, from the repository NVlabs/Fast-dLLM (`{form}/model/`) or "
        f"from a published {'LLaDA' if form == 'llada' else 'Dream'} checkpoint. Checked with the files of Fast-dLLM "
        "at 24cc59e, transformers 4.49.0 and torch 2.13.0; transformers 5 does not load these classes.\n",
    ]


def _precisions(report: dict[str, Any]) -> list[str]:
    """Describe the number formats in which a form was checked."""
    if "margins" not in report:
        return []
    agreeing = [f"{name} (least margin {margin})" for name, margin in report["margins"].items() if margin is not None]
    differing = [name for name, margin in report["margins"].items() if margin is None]
    sentences = [f"Number formats in which all checked decisions agree: {', '.join(agreeing)}."]
    sentences += [f"Do not use {' or '.join(differing)}: some decisions differ there."] if differing else []
    return [" ".join(sentences) + "\n"]


GGUF = """Load `model.gguf` (architecture `{arch}`, {dtype}) with llama.cpp. The tokens of a word such as `{word}` are
those of `Tokenizer.from_file("tokenizer.json").encode(word).ids` (package `tokenizers`). `llama_tokenize` with
`add_special` and `parse_special` returns the same ones for words over {letters}; do not use it for others.
"""

GGUF_CANVAS = """Append the token `[MASK]` {padding} times, request the logits of every row, and {before}. {write}.
"""

GGUF_CHAIN = """Generate greedily: {steps} symbols, then `[EOS]`.
"""

GGUF_CHECKED = """Such files were run through the C API of the wheel xllamacpp 2026.10.11549. This one was read back and
compared with F_p. This comparison does not cover other roundings in a kernel, such as those of activations in q8_0.
"""


def gguf_card(model: Model, report: dict[str, Any], tokens: TokenNames, words: np.ndarray) -> str:
    """Return the card of a GGUF file."""
    arch, letters = report["arch"], sorted(tokens.letters(model))
    typed = f"{', '.join(f'`{letter}`' for letter in letters[:MOST_STATES])}{', …' * (len(letters) > MOST_STATES)}"
    run = [
        GGUF.format(arch=arch, dtype=report["dtype"], word=written_word(model, tokens, words), letters=typed or "none")
    ]
    if model.kind == "cot":
        run.append(GGUF_CHAIN.format(steps=model.steps))
    else:
        clear = "clear the memory (`llama_memory_clear`) and call `llama_set_causal_attn(context, false)` before each"
        before = f"{clear} pass" if arch in ("llama", "qwen2") else "do nothing else: there is no cache"
        run.append(
            GGUF_CANVAS.format(padding=model.padding, before=before, write=_what_to_write(model, report, tokens))
        )
    if arch == "eurobert":
        run.append("This architecture ends with the residual stream: multiply it by `lm_head.safetensors`.\n")
    return _card(model, report, "gguf", [*run, GGUF_CHECKED], [])


def _what_to_write(model: Model, report: dict[str, Any], tokens: TokenNames) -> str:
    """Return an instruction that says which slots a pass writes."""
    if report["part"] == "planner":
        return f"The slots to write are those where `{tokens.special['take']}` has the largest logit"
    confident = "every slot whose probability is above 0.9, until no mask is left"
    if report["order"] is None:
        return f"Write {confident}"
    once = model.kind != "topk" and not _rewrites(report)
    return "Write the slots in the order above" + f", or {confident}" * once


def plain_card(model: Model, report: dict[str, Any], code: str) -> str:
    """Return the card of a torch or ONNX folder."""
    return _card(model, report, report["form"], [code], [])


def written_word(model: Model, tokens: TokenNames, words: np.ndarray) -> str:
    """Return a word of the check as a user types it."""
    names = list(tokens.names)
    word = words[len(words) // 2].tolist() if len(words) else []
    if tokens.catch_all is not None:
        stranger = tokens.catch_all.first_not_in(set(tokens.names))
        names = [stranger if name == tokens.special["unk"] else name for name in names]
    letters = [names[token] for token in word]
    return ("" if model.characters is not None or all(len(x) == 1 for x in letters) else " ").join(letters)


def _description(model: Model, report: dict[str, Any]) -> list[str]:
    title = report["problem"] or "Model compiled by unmask"
    reads = f"{model.length} symbols" if model.length else "nothing"
    begin = " after a begin symbol" if model.begin is not None else ""
    answers = (
        "answers in the last row"
        if model.answer_rows == 1
        else (f"writes {model.answer_rows} outputs in its last {model.answer_rows} rows; the last one is the answer")
    )
    action = {
        "plt": f"loops {model.steps} times over them and {model.padding} padding rows, and {answers}",
        "cot": f"writes {model.steps} symbols, one per step; the last is the answer",
        "pcot": f"writes {model.padding} symbols, {model.block} per step; the last is the answer",
    }.get(model.kind, f"fills {model.padding} masked slots in {model.steps} steps; {_answer_slots(model, report)}")
    return [
        f"# {title}\n",
        f"{_subject(report)} compiled {model.kind}. It reads {reads}{begin}, {action}: "
        f"{_answer_meaning(model, report)}. Its numbers are those of F_{model.precision.p}.\n",
        *([f"{report['accepts']}\n"] if report["accepts"] else []),
        *_states(report),
    ]


def _states(report: dict[str, Any]) -> list[str]:
    """Return the meaning of the symbols of a chain of thought: each is a state, described by a shortest word to it."""
    states = report.get("states", {})
    if not states:
        return []
    states_text = [f"`{name}` after {f'`{word}`' if word else 'no letter'}" for name, word in states.items()]
    further = f", and {len(states_text) - MOST_STATES} more in `export.json`" if len(states_text) > MOST_STATES else ""
    return [
        "The symbols are states, each named here by a shortest word that leads to it: "
        f"{', '.join(states_text[:MOST_STATES])}{further}.\n"
    ]


def _answer_slots(model: Model, report: dict[str, Any]) -> str:
    count = model.stated_answers
    slots = report.get("answer_slots") or [*range(model.padding - count, model.padding)]
    if count == 1:
        position = "the last one" if slots == [model.padding - 1] else f"slot {slots[0]}, counted from 0,"
        return f"{position} is the answer"
    if slots == sorted(slots):
        return f"slots {_ranges(slots)}, counted from 0, hold its {count} answers"
    return f"its {count} answers are, in this order, the `answer_slots` of `export.json`"


def _answer_meaning(model: Model, report: dict[str, Any]) -> str:
    """Return the meaning of the symbols of an answer: a value, or accepted and rejected."""
    problem = model.problem_fields
    values = problem.get("symbols") if model.notes_answers else None
    if isinstance(values, list) and values:
        examples = ", ".join(f"`{value}`" for value in values[:MOST_STATES]) + ", …" * (len(values) > MOST_STATES)
        return f"{'each' if model.stated_answers > 1 else 'it'} is one of {examples}"
    if problem.get("kind") == "expression":
        return "it is the value of the expression"
    accept, reject = (report.get(name, getattr(model, name)) for name in ("accept", "reject"))
    yes, no = ("accepted", "rejected") if model.stated_answers == 1 else ("true", "false")
    return f"`{accept}` means {yes}, `{reject}` means {no}"


def _subject(report: dict[str, Any]) -> str:
    return "A" if report["part"] == "model" else f"The {report['part']} of a"


def _slot_order_section(model: Model, report: dict[str, Any]) -> list[str]:
    if model.kind not in DIFFUSION:
        return []
    if report["order"] is None:
        return [
            "## Order of the slots\n\nThe word determines which slots the model's own planner writes in each step.\n"
        ]
    written = set().union(*report["order"])
    rest = [] if len(written) == model.padding else ["All other slots stay masked.\n"]
    if "work" in report:
        token, slots = report["work"]["token"], report["work"]["slots"]
        rest = [
            f"The first {slots} slots belong to the prompt: put the token `{token}` there. They are read like masks "
            "and never written.\n"
        ]
    if _rewrites(report):
        rest.append("Slots are written again in later steps. A sampler that writes every slot once is not enough.\n")
    steps = [f"{i + 1}. {_ranges(slots)}" for i, slots in enumerate(report["order"])]
    return [
        "## Order of the slots\n\nSlots are counted from 0. The model's own planner writes these slots in "
        f"its {len(steps)} steps:\n",
        *steps,
        "",
        *rest,
    ]


def _rewrites(report: dict[str, Any]) -> bool:
    """Return whether a step writes a slot that an earlier step has written."""
    steps = report["order"] or []
    return sum(map(len, steps)) > len(set().union(*steps))


def _ranges(slots: list[int]) -> str:
    parts: list[list[int]] = []
    for slot in slots:
        if parts and parts[-1][1] == slot - 1:
            parts[-1][1] = slot
        else:
            parts.append([slot, slot])
    return ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in parts) or "nothing"


def _ties(report: dict[str, Any]) -> str:
    """Return how the export breaks ties: a stock form has a bias for each symbol, other forms have none."""
    if "tie_bias" not in report:
        return "rounding noise decides"
    return f"a bias of {report['tie_bias']:g} per symbol gives the same result unless rounding noise is larger"


def _guarantee_section(model: Model, report: dict[str, Any]) -> list[str]:
    field, title = f"F_{model.precision.p}", "## What it guarantees\n"
    if report["exact"]:
        return [title, f"It computes the same integers as {field}, bit for bit, for these and all other weights.\n"]
    measured = report["agreement"]
    sections = [
        title,
        f"It makes the same decisions as {field} wherever {field} has no tie. This was checked at export on "
        f"{measured['words']} words, {measured['passes']} passes and {measured['decisions']} decisions: all agree. "
        f"The least margin is {measured['least_margin']} in logits of {field}. {measured['ties']} rows tie in {field}. "
        f"In {field} the lowest symbol wins a tie; in this export {_ties(report)}.\n",
    ]
    if measured["chosen_above"] is not None:
        level = measured["chosen_above"] * report.get("logit_scale", 1)
        sections.append(f"Write a slot if its largest logit is above {level:g}.\n")
    return sections
