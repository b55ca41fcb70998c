"""A stand-alone reader of model folders: it knows the format page and F_p, and nothing of the library.

    python tests/outside_reader.py DIR WORD [--sample --seed S]

Slow and obvious on purpose. Every number is a Python int `a` that means `a / 2^p`; vectors are lists of
ints; a matrix is a list of sparse rows `[(column, value), ...]`. Leaving out a zero term is exact, because
adding zero never changes a saturating sum.
"""

import argparse
import json
import re
import struct
import sys
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_DOWN, ROUND_HALF_EVEN, Context, Decimal, localcontext
from pathlib import Path


class Unreadable(ValueError):
    """The folder or the word is not what the format page describes."""


class Undefined(ArithmeticError):
    """All exponentials of an attention row are zero, so its weights do not exist."""

    def __init__(self, layer, head, row):
        super().__init__(f"layer {layer}, head {head}, row {row} attends to nothing (Z = 0)")
        self.layer, self.head, self.row = layer, head, row


class Reselected(RuntimeError):
    """The planner of an smdm selected a slot that is not masked."""

    def __init__(self, step, slot):
        super().__init__(f"step {step}: the planner selected slot {slot}, which is not masked")
        self.step, self.slot = step, slot


def need(condition, message):
    """Refuse the folder or the word with one sentence unless `condition` holds."""
    if not condition:
        raise Unreadable(message)


# ------------------------------------------------------------------------------------------- numbers


class Fp:
    """F_p: integers `a` with `|a| <= 4^p - 1` that mean `a / 2^p`."""

    def __init__(self, precision):
        self.precision = precision
        self.one = 2**precision
        self.top = 4**precision - 1
        self._exp = {}

    def clip(self, a):
        """The nearest number of F_p to an integer of any size."""
        if -self.top <= a <= self.top:
            return a
        return self.top if a > 0 else -self.top

    def ratio(self, num, den):
        """`num / den` (den > 0) to the nearest integer, ties toward zero, then clipped."""
        size = (2 * abs(num) + den - 1) // (2 * den)
        return self.clip(size if num >= 0 else -size)

    def add(self, a, b):
        """`a + b`, saturating."""
        return self.clip(a + b)

    def mul(self, a, b):
        """`a * b`, rounded."""
        return self.ratio(a * b, self.one)

    def div(self, a, b):
        """`a / b` for b > 0."""
        return self.ratio(a * self.one, b)

    def exp(self, a):
        """The correctly rounded exponential."""
        if a not in self._exp:
            if a > self.precision * self.one:  # e^p > 2^p > B
                self._exp[a] = self.top
            elif a < -(self.precision + 1) * self.one:  # e^-(p+1) < 2^-(p+1), half a grid step
                self._exp[a] = 0
            else:
                self._exp[a] = self._correctly_rounded(lambda: (Decimal(a) / self.one).exp())
        return self._exp[a]

    def gumbel(self, raw):
        """The correctly rounded `-ln(-ln u)` with `u = ((raw >> 11) + 1/2) / 2^53`."""
        odd = 2 * (raw >> 11) + 1
        return self._correctly_rounded(lambda: -(-(Decimal(odd) / 2**54).ln()).ln())

    def _correctly_rounded(self, formula):
        """Evaluate with more and more digits until the error cannot change the rounding."""
        digits = 70  # u itself has at most 54
        while True:
            with localcontext(Context(digits, ROUND_HALF_EVEN, MIN_EMIN, MAX_EMAX)):
                value = formula()
                slack = (abs(value) + 1) * Decimal(10) ** (10 - digits)
                low, high = self._nearest(value - slack), self._nearest(value + slack)
            if low == high:
                return low
            digits *= 2

    def _nearest(self, value):
        scaled = value * self.one
        if abs(scaled) >= self.top:
            return self.top if scaled > 0 else -self.top
        return int(scaled.to_integral_value(ROUND_HALF_DOWN))


class Tape:
    """The noise of one step: w = 0 for a planner, 1 for any other transformer."""

    def __init__(self, fp, seed, step, w, rows, width):
        from numpy.random import Philox

        self.fp, self.width = fp, width
        self.raw = Philox(key=[seed, 2 * step + w]).random_raw(rows * width).tolist()

    def at(self, position, symbol):
        """Entry `position * width + symbol`."""
        return self.fp.gumbel(self.raw[position * self.width + symbol])


# --------------------------------------------------------------------------------------------- files

INTEGERS = {"I8": "b", "U8": "B", "I16": "h", "U16": "H", "I32": "i", "U32": "I", "I64": "q", "U64": "Q"}


def read_safetensors(path):
    """The tensors of a file: name -> (shape, flat list of ints)."""
    data = Path(path).read_bytes()
    need(len(data) >= 8, f"{path} is too short to be a safetensors file")
    (size,) = struct.unpack_from("<Q", data)
    need(8 + size <= len(data), f"{path} ends inside its header")
    header = json.loads(data[8 : 8 + size].decode("utf-8"))
    body = data[8 + size :]
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        need(entry["dtype"] in INTEGERS, f"{path}: {name} has type {entry['dtype']}, not an integer type")
        code = INTEGERS[entry["dtype"]]
        count = 1
        for extent in entry["shape"]:
            count *= extent
        begin, end = entry["data_offsets"]
        need(0 <= begin <= end <= len(body), f"{path}: {name} lies outside the file")
        need(end - begin == count * struct.calcsize("<" + code), f"{path}: {name} has the wrong size")
        tensors[name] = (entry["shape"], list(struct.unpack(f"<{count}{code}", body[begin:end])))
    return tensors


def read_tensor(tensors, name):
    """A dense or sparse tensor: (shape, [(row, column, value), ...] without zeros); a vector is one row."""
    sparse = [f"{name}.{part}" for part in ("row", "col", "val", "shape")]
    if name in tensors:
        need(not any(part in tensors for part in sparse), f"{name} is stored twice, dense and sparse")
        shape, flat = tensors[name]
        need(len(shape) in (1, 2), f"{name} is neither a vector nor a matrix")
        width = shape[-1]
        return shape, [(i // width, i % width, value) for i, value in enumerate(flat) if value]
    need(all(part in tensors for part in sparse), f"the tensor {name} is missing")
    rows, columns, values, shape = (tensors[part][1] for part in sparse)
    need(len(rows) == len(columns) == len(values), f"{name}: row, col and val differ in length")
    if len(shape) == 1 and not any(columns):  # a vector may count its entries in either of the two
        rows, columns = columns, rows
    need(len(shape) in (1, 2), f"{name} is neither a vector nor a matrix")
    height, width = (1, *shape)[-2:]
    need(all(0 <= row < height for row in rows), f"{name}: a row is out of range")
    need(all(0 <= column < width for column in columns), f"{name}: a column is out of range")
    need(len(set(zip(rows, columns, strict=True))) == len(rows), f"{name} has duplicate entries")
    return shape, [entry for entry in zip(rows, columns, values, strict=True) if entry[2]]


# -------------------------------------------------------------------------------------- transformers


@dataclass
class Head:
    wq: list
    wk: list
    wv: list
    key_width: int


@dataclass
class Layer:
    heads: list
    w1: list
    b1: list
    w2: list
    b2: list


class Transformer:
    """Integer weights, and one forward pass over a string of tokens."""

    def __init__(self, path, fp, attention, tokens, rows, outputs):
        need(attention in ("causal", "unmasked"), f"unknown attention {attention!r}")
        self.fp, self.causal = fp, attention == "causal"
        self.tensors, self.path = read_safetensors(path), path
        (_, self.width), _ = read_tensor(self.tensors, "embed")
        self.embed = self._matrix("embed", tokens, self.width)
        self.pos = self._matrix("pos", rows, self.width)
        self.out = self._matrix("out", outputs, self.width)
        numbers = {int(m[1]) for m in (re.match(r"layers\.(\d+)\.", name) for name in self.tensors) if m}
        need(numbers == set(range(len(numbers))), f"{path}: the layers are not numbered 0, 1, 2, ...")
        self.layers = [self._layer(number) for number in range(len(numbers))]
        del self.tensors

    def _layer(self, number):
        pattern = re.compile(rf"layers\.{number}\.heads\.(\d+)\.")
        heads = {int(m[1]) for m in (pattern.match(name) for name in self.tensors) if m}
        need(heads == set(range(len(heads))), f"{self.path}: the heads of layer {number} have a gap")
        mlp = f"layers.{number}.mlp"
        (_, hidden), _ = read_tensor(self.tensors, f"{mlp}.w1")
        return Layer(
            [self._head(f"layers.{number}.heads.{head}") for head in range(len(heads))],
            self._matrix(f"{mlp}.w1", self.width, hidden),
            self._vector(f"{mlp}.b1", hidden),
            self._matrix(f"{mlp}.w2", hidden, self.width),
            self._vector(f"{mlp}.b2", self.width),
        )

    def _head(self, name):
        (_, key_width), _ = read_tensor(self.tensors, f"{name}.wq")
        return Head(
            self._matrix(f"{name}.wq", self.width, key_width),
            self._matrix(f"{name}.wk", self.width, key_width),
            self._matrix(f"{name}.wv", self.width, self.width),
            key_width,
        )

    def _matrix(self, name, height, width):
        shape, entries = read_tensor(self.tensors, name)
        need(list(shape) == [height, width], f"{self.path}: {name} is {shape}, not {[height, width]}")
        rows = [[] for _ in range(height)]
        for row, column, value in sorted(entries):
            need(abs(value) <= self.fp.top, f"{self.path}: {name} holds {value}, which is not in F_p")
            rows[row].append((column, value))
        return rows

    def _vector(self, name, length):
        shape, entries = read_tensor(self.tensors, name)
        need(list(shape) == [length], f"{self.path}: {name} is {shape}, not {[length]}")
        need(all(abs(value) <= self.fp.top for _, _, value in entries), f"{name} holds a value not in F_p")
        vector = [0] * length
        for _, column, value in entries:
            vector[column] = value
        return vector

    def start(self, tokens):
        """H0 = clip(embed + pos), one row per token."""
        need(tokens, "there is nothing to read: the model needs a begin symbol")
        return [self._embedded(token, position) for position, token in enumerate(tokens)]

    def _embedded(self, token, position):
        row = [0] * self.width
        for column, value in self.embed[token] + self.pos[position]:
            row[column] += value
        return [self.fp.clip(value) for value in row]

    def through(self, state, first, last):
        """Apply the layers first, ..., last - 1."""
        for number in range(first, last):
            state = self._apply(number, state)
        return state

    def forward(self, tokens):
        """The last hidden state of every row."""
        return self.through(self.start(tokens), 0, len(self.layers))

    def logits(self, row):
        """`out . h`, one number per output symbol."""
        return [self._dot(weights, row) for weights in self.out]

    def _apply(self, number, state):
        layer = self.layers[number]
        merged = [[0] * self.width for _ in state]
        for index, head in enumerate(layer.heads):
            attended = self._attend(number, index, head, state)
            merged = [self._plus(a, b) for a, b in zip(merged, attended, strict=True)]
        result = []
        for summed, residual in zip(merged, state, strict=True):
            g = self._plus(summed, residual)
            hidden = relu(self._plus(self._times(g, layer.w1, len(layer.b1)), layer.b1))
            change = relu(self._plus(self._times(hidden, layer.w2, len(layer.b2)), layer.b2))
            result.append(self._plus(g, change))
        return result

    def _attend(self, number, index, head, state):
        fp = self.fp
        queries = [self._times(row, head.wq, head.key_width) for row in state]
        keys = [self._times(row, head.wk, head.key_width) for row in state]
        values = [self._times(row, head.wv, self.width) for row in state]
        products = {}  # weight x value, computed once for all rows that give a key the same weight
        result = []
        for i, query in enumerate(queries):
            query = nonzero(query)
            visible = range(i + 1) if self.causal else range(len(keys))
            exps = [fp.exp(self._dot(query, keys[j])) for j in visible]
            z = 0
            for e in exps:
                z = fp.add(z, e)
            if z == 0:
                raise Undefined(number, index, i)
            row = [0] * self.width
            for j in visible:
                weight = fp.div(exps[j], z)
                if weight == 0:
                    continue
                if (j, weight) not in products:
                    products[j, weight] = nonzero([fp.mul(weight, value) for value in values[j]])
                for column, product in products[j, weight]:
                    row[column] = fp.add(row[column], product)
            result.append(row)
        return result

    def _plus(self, a, b):
        return [self.fp.add(x, y) for x, y in zip(a, b, strict=True)]

    def _times(self, row, matrix, width):
        """row x matrix: every sum runs over the row's index in increasing order."""
        fp, total = self.fp, [0] * width
        for x, weights in zip(row, matrix, strict=True):
            if x:
                for column, weight in weights:
                    total[column] = fp.add(total[column], fp.mul(x, weight))
        return total

    def _dot(self, sparse, dense):
        fp, total = self.fp, 0
        for index, value in sparse:
            if dense[index]:
                total = fp.add(total, fp.mul(value, dense[index]))
        return total


def relu(row):
    return [max(0, value) for value in row]


def nonzero(row):
    return [(index, value) for index, value in enumerate(row) if value]


def argmax(logits, without=None):
    """The lowest index among the largest logits, the index `without` left out."""
    return max((i for i in range(len(logits)) if i != without), key=lambda i: (logits[i], -i))


# ----------------------------------------------------------------------------------------- reasoners


class Model:
    """A model folder, ready to run."""

    def __init__(self, folder):
        folder = Path(folder)
        self.config = config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        need(config["format"] == "unmask-model/1", f"unknown format {config['format']!r}")
        self.kind = config["reasoner"]
        need(self.kind in REASONERS, f"unknown reasoner {self.kind!r}")
        self.fp = Fp(config["precision"])
        self.length, self.steps, self.padding = config["length"], config["steps"], config["padding"]
        self.vocabulary = config["vocabulary"]
        self.ids = {symbol: index for index, symbol in enumerate(self.vocabulary)}
        need(len(self.ids) == len(self.vocabulary), "the vocabulary repeats a symbol")
        special = {config[role] for role in ("mask", "pad", "accept", "reject", "begin")} - {None}
        need(not special & set(config["input_symbols"]), "a special symbol is an input symbol")
        self.begin = [] if config["begin"] is None else [self.ids[config["begin"]]]
        self.rows = len(self.begin) + self.length + self.padding
        self.outputs = 1 if config.get("outputs") is None else config["outputs"]
        need(type(self.outputs) is int and self.outputs >= 1, "outputs is not a positive integer")
        need(self.outputs <= (self.rows if self.kind == "plt" else self.padding), "there are more outputs than symbols")
        names = ("planner", "predictor") if self.kind in ("mdm", "smdm") else ("model",)
        need(set(config["transformers"]) == set(names), f"a {self.kind} has the transformers {names}")
        self.transformers = {name: self._transformer(folder, name) for name in names}

    def _transformer(self, folder, name):
        entry = self.config["transformers"][name]
        causal = entry["attention"] == "causal"
        need(causal or self.kind not in ("cot", "pcot"), f"a {self.kind} must be causal")
        outputs = 2 if name == "planner" else len(self.vocabulary)
        path = folder / entry["file"]
        return Transformer(path, self.fp, entry["attention"], len(self.vocabulary), self.rows, outputs)

    def parse(self, word):
        """The tokens of WORD."""
        symbols = self.config["input_symbols"]
        if self.config.get("characters") is not None:
            tokens = [self._character(character) for character in word]
        else:
            parts = list(word) if all(len(symbol) == 1 for symbol in symbols) else word.split()
            for part in parts:
                need(part in symbols, f"{part!r} is not an input symbol")
            tokens = [self.ids[part] for part in parts]
        need(len(tokens) == self.length, f"the word has {len(tokens)} symbols, the model reads {self.length}")
        return tokens

    def _character(self, character):
        tokens = [token for first, last, token in self.config["characters"] if first <= ord(character) <= last]
        need(len(tokens) == 1, f"{len(tokens)} ranges of characters cover {character!r}")
        symbol = self.vocabulary[tokens[0]] if isinstance(tokens[0], int) else tokens[0]
        need(symbol in self.config["input_symbols"], f"{character!r} leads to {symbol!r}, which is not an input symbol")
        return self.ids[symbol]

    def id(self, role):
        """The token that plays a role (`mask`, `pad`)."""
        need(self.config[role] is not None, f"a {self.kind} needs the symbol {role}")
        return self.ids[self.config[role]]

    def drawn(self, logits, tape, position):
        """The logits with the noise of a row added, or as they are without a tape."""
        if tape is None:
            return logits
        return [self.fp.add(logit, tape.at(position, symbol)) for symbol, logit in enumerate(logits)]

    def run(self, word, sample, seed):
        """The result of a run, as `run --json` prints it."""

        def tape(step, w, width):
            return Tape(self.fp, seed, step, w, self.rows, width) if sample else None

        output, canvas = REASONERS[self.kind](self, self.begin + self.parse(word), tape)
        output = [self.vocabulary[token] for token in output]
        last = output[-1] if output else None
        last = self.config.get("aliases", {}).get(last, last)
        verdicts = {self.config["reject"]: False, self.config["accept"]: True}
        return {
            "accepted": None if last is None else verdicts.get(last),
            "steps": self.steps,
            "length": self.length,
            "padding": self.padding,
            "output": output,
            "canvas": [[self.vocabulary[token] for token in slots] for slots in canvas],
        }


def masked_diffusion(model, prefix, tape):
    """mdm and smdm: the planner selects slots, the predictor fills them."""
    planner, predictor = model.transformers["planner"], model.transformers["predictor"]
    mask, base = model.id("mask"), len(prefix)
    slots, history = [mask] * model.padding, []
    for step in range(model.steps):
        plans, predictions = planner.forward(prefix + slots), predictor.forward(prefix + slots)
        planning, predicting = tape(step, 0, 2), tape(step, 1, len(model.vocabulary))
        after = list(slots)
        for slot in range(model.padding):
            row = base + slot
            if argmax(model.drawn(planner.logits(plans[row]), planning, row)) == 1:
                if model.kind == "smdm" and slots[slot] != mask:
                    raise Reselected(step, slot)
                after[slot] = argmax(model.drawn(predictor.logits(predictions[row]), predicting, row), mask)
        slots = after
        history.append(slots)
    return slots, history


def top_k(model, prefix, tape):
    """topk: the surest slots take their symbol; how sure is read off before noise is added."""
    transformer, mask, base, k = model.transformers["model"], model.id("mask"), len(prefix), model.config["k"]
    slots, history = [mask] * model.padding, []
    for step in range(model.steps):
        state, noise = transformer.forward(prefix + slots), tape(step, 1, len(model.vocabulary))
        logits = [transformer.logits(state[base + slot]) for slot in range(model.padding)]
        surest = [row[argmax(row, mask)] for row in logits]
        if k is None:
            taken = [slot for slot in range(model.padding) if surest[slot] > -model.fp.top]
        else:
            taken = sorted(range(model.padding), key=lambda slot: (-surest[slot], slot))[:k]
        slots = list(slots)
        for slot in taken:
            slots[slot] = argmax(model.drawn(logits[slot], noise, base + slot), mask)
        history.append(slots)
    return slots, history


def padded_loop(model, prefix, tape):
    """plt: layers [0, l1) once, [l1, l2) T times, the rest once; the last `outputs` rows decode to the answers."""
    transformer, entry = model.transformers["model"], model.config["transformers"]["model"]
    first, last = entry["loop"]
    need(0 <= first <= last <= len(transformer.layers), f"the loop {entry['loop']} is not within the layers")
    pads = [model.id("pad")] * model.padding if model.padding else []
    state = transformer.through(transformer.start(prefix + pads), 0, first)
    for step in range(model.steps):
        if entry.get("noise"):
            for name, w, width in (("planner", 0, 2), ("predictor", 1, len(model.vocabulary))):
                columns, noise = entry["noise"].get(name) or [], tape(step, w, width)
                if noise is not None:
                    need(len(columns) <= width, f"noise lists more than {width} columns under {name}")
                    for position, row in enumerate(state):
                        for i, column in enumerate(columns):
                            row[column] = model.fp.add(row[column], noise.at(position, i))
        state = transformer.through(state, first, last)
    state = transformer.through(state, last, len(transformer.layers))
    answers = [argmax(transformer.logits(row)) for row in state[-model.outputs :]]
    return answers, [answers]


def chain_of_thought(model, prefix, tape):
    """cot: every step the last row yields one more symbol."""
    transformer, string, history = model.transformers["model"], list(prefix), []
    need(model.padding == model.steps, "the padding of a cot is its number of steps")
    for step in range(model.steps):
        state, noise = transformer.forward(string), tape(step, 1, len(model.vocabulary))
        string.append(argmax(model.drawn(transformer.logits(state[-1]), noise, len(string) - 1)))
        history.append(string[len(prefix) :])
    return string[len(prefix) :], history


def parallel_chain_of_thought(model, prefix, tape):
    """pcot: every step a block of masks is appended and predicted together."""
    transformer, string, history = model.transformers["model"], list(prefix), []
    block, mask = model.config["block"], model.id("mask")
    need(model.padding == model.steps * block, "the padding of a pcot is its steps times its block")
    for step in range(model.steps):
        state = transformer.forward(string + [mask] * block)
        noise = tape(step, 1, len(model.vocabulary))
        rows = range(len(string), len(string) + block)
        string += [argmax(model.drawn(transformer.logits(state[row]), noise, row)) for row in rows]
        history.append(string[len(prefix) :])
    return string[len(prefix) :], history


REASONERS = {
    "mdm": masked_diffusion,
    "smdm": masked_diffusion,
    "topk": top_k,
    "plt": padded_loop,
    "cot": chain_of_thought,
    "pcot": parallel_chain_of_thought,
}


def run(folder, word, sample=False, seed=0):
    """Run a model folder on a word: accepted, steps, length, padding, output, canvas."""
    return Model(folder).run(word, sample, seed)


def main(arguments=None):
    """Print the JSON of one run; the exit code is 0 accepted, 1 rejected, 2 neither or an error."""
    parser = argparse.ArgumentParser(description="Run a model folder, from its format page alone.")
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("word", metavar="WORD")
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    try:
        result = run(options.folder, options.word, options.sample, options.seed)
    except (OSError, KeyError, ValueError, Undefined, Reselected) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result, ensure_ascii=False))
    return {True: 0, False: 1, None: 2}[result["accepted"]]


if __name__ == "__main__":
    sys.exit(main())
