"""A compiled model in plain torch: no norm, no dropout, one file. It needs torch and safetensors, nothing else.

    H⁰ = embed[token] + pos
    layer: G = Σ_heads softmax(H·Wq (H·Wk)ᵀ)·(H·Wv) + H,   H' = G + ReLU(ReLU(G·W1 + b1)·W2 + b2)
    logits = out·h

The same code runs over two arithmetics: `Reals`, floats as everywhere, and in an exact folder `Numbers` of
exact_numbers.py: F_p, bit by bit.

    python model.py WORD          in the folder: prints the canvas after every step
"""

import json
import math
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor


class Reals:
    """Sums, products and attention of torch, in float32."""

    kind = torch.float32

    def matrix(self, dense: Tensor) -> Tensor:
        return dense

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y

    def times(self, x: Tensor, matrix: Tensor) -> Tensor:
        return x @ matrix

    def weights(self, Q: Tensor, K: Tensor, visible: Tensor) -> Tensor:
        return (Q @ K.mT).masked_fill(~visible, -math.inf).softmax(-1)

    def mixed(self, weights: Tensor, V: Tensor) -> Tensor:
        return weights @ V


class TorchTransformer:
    """One forward pass. `watch(name, tensor)`, if given, is called with every intermediate result."""

    def __init__(self, weights: dict, arithmetic, *, causal: bool, loop: "list[int] | None") -> None:
        """`weights` by their names in the folder: tables and vectors as tensors, matrices as the arithmetic's type."""
        self.weights, self.arithmetic, self.causal, self.loop, self.watch = weights, arithmetic, causal, loop, None
        self.depth = 1 + max((int(name.split(".")[1]) for name in weights if "." in name), default=-1)

    @classmethod
    def of(
        cls, tensors: "dict[str, Tensor]", arithmetic, *, causal: bool, loop: "list[int] | None"
    ) -> "TorchTransformer":
        """Build the transformer from dense tensors; `out` is stored by symbol."""
        matrices = {name: tensor for name, tensor in tensors.items() if name[-2:] in ("wq", "wk", "wv", "w1", "w2")}
        matrices["out"] = tensors["out"].T
        weights = {**tensors, **{name: arithmetic.matrix(dense) for name, dense in matrices.items()}}
        return cls(weights, arithmetic, causal=causal, loop=loop)

    def embed(self, tokens: Tensor) -> Tensor:
        return self.arithmetic.add(self.weights["embed"][tokens], self.weights["pos"][: tokens.shape[1]])

    def layers(self, H: Tensor, first: int, last: int) -> Tensor:
        a, rows = self.arithmetic, H.shape[1]
        visible = torch.ones(rows, rows, dtype=torch.bool, device=H.device)
        visible = visible.tril() if self.causal else visible
        for i in range(first, last):
            G, j = torch.zeros_like(H), 0
            while f"layers.{i}.heads.{j}.wq" in self.weights:
                wq, wk, wv = (self.weights[f"layers.{i}.heads.{j}.{field}"] for field in ("wq", "wk", "wv"))
                try:
                    weights = a.weights(a.times(H, wq), a.times(H, wk), visible)
                except ArithmeticError as error:
                    raise type(error)(*error.args, i, j) from None
                self._report(f"layers.{i}.heads.{j}.weights", weights)
                G, j = a.add(G, a.mixed(weights, a.times(H, wv))), j + 1
            G = a.add(G, H)
            w1, b1, w2, b2 = (self.weights[f"layers.{i}.mlp.{field}"] for field in ("w1", "b1", "w2", "b2"))
            hidden = a.add(a.times(G, w1), b1).relu()
            H = a.add(G, a.add(a.times(hidden, w2), b2).relu())
            self._report(f"layers.{i}.residual", H)
        return H

    def logits(self, H: Tensor) -> Tensor:
        return self.arithmetic.times(H, self.weights["out"])

    def __call__(self, tokens: Tensor, loops: int = 1) -> Tensor:
        """The logits of every row; the layers of a loop run `loops` times."""
        first, last = self.loop or (0, 0)
        H = self.layers(self.embed(tokens), 0, first)
        for _ in range(loops):
            H = self.layers(H, first, last)
        return self.logits(self.layers(H, last, self.depth))

    def _report(self, name: str, value: Tensor) -> None:
        if self.watch is not None:
            self.watch(name, value)


class Model:
    """A model of a folder: its transformers and the loop that runs them."""

    def __init__(self, folder: "str | Path" = ".", device: str = "cpu") -> None:
        self.config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        if self.config["exact"]:
            from exact_numbers import Numbers  # ty: ignore  # a file of the same folder

            arithmetic = Numbers(self.config["precision"])
        else:
            arithmetic = Reals()
        self.token = {symbol: i for i, symbol in enumerate(self.config["vocabulary"])}
        self.device, self.transformers = device, {}
        for name, entry in self.config["transformers"].items():
            tensors = load_file(Path(folder) / f"{name}.safetensors", device=device)
            tensors = {key: tensor.to(arithmetic.kind) for key, tensor in tensors.items()}
            causal = entry["attention"] == "causal"
            self.transformers[name] = TorchTransformer.of(tensors, arithmetic, causal=causal, loop=entry["loop"])

    def encode(self, word: "str | list[str]") -> Tensor:
        """A word → [1, N]: a string through the folder's character ranges, or one letter each, or split at blanks."""
        ranges, letters = self.config["characters"], self.config["input_symbols"]
        if isinstance(word, str) and ranges is not None:
            word = [next(s for first, last, s in ranges if first <= ord(c) <= last) for c in word]
        elif isinstance(word, str):
            word = list(word) if all(len(s) == 1 for s in letters) else word.split()
        if len(word) != self.config["length"] or not set(word) <= set(letters):
            raise ValueError(f"a word has {self.config['length']} letters among {' '.join(letters)}, not {word}")
        return torch.tensor([[self.token[s] for s in word]], device=self.device)

    def run(self, words: Tensor) -> "list[Tensor]":
        """Token ids [batch, N] → the slots after every step (the answers alone, for a loop)."""
        kind = self.config["reasoner"]
        return (
            self.loop(words) if kind == "plt" else self.chain(words) if kind in ("cot", "pcot") else self.denoise(words)
        )

    def denoise(self, words: Tensor) -> "list[Tensor]":
        """A canvas of masks; each step the chosen slots take the predictor's symbol."""
        mask, P = self.token[self.config["mask"]], self.config["padding"]
        canvas, canvases = self._copies(words, mask, P), []
        for _ in range(self.config["steps"]):
            tokens = self._before(words, canvas)
            if "planner" in self.transformers:
                chosen, predictor = self.transformers["planner"](tokens)[:, -P:].argmax(-1) == 1, "predictor"
            else:
                chosen, predictor = None, "model"
            logits = self.transformers[predictor](tokens)[:, -P:].clone()
            logits[..., mask] = -math.inf if logits.is_floating_point() else torch.iinfo(logits.dtype).min
            chosen = self._surest(logits.amax(-1)) if chosen is None else chosen
            if self.config["reasoner"] == "smdm" and (chosen & (canvas != mask)).any():
                raise ValueError("the planner of an smdm may choose masked slots only")
            canvas = torch.where(chosen, logits.argmax(-1), canvas)
            canvases.append(canvas)
        return canvases

    def loop(self, words: Tensor) -> "list[Tensor]":
        """The input and P pads through the loop; the last rows are the answers."""
        pads = self._copies(words, self.token.get(self.config["pad"], 0), self.config["padding"])
        logits = self.transformers["model"](self._before(words, pads), self.config["steps"])
        return [logits[:, -(self.config.get("outputs") or 1) :].argmax(-1)]

    def chain(self, words: Tensor) -> "list[Tensor]":
        """One symbol per step from the last row, or a block of masks at once."""
        block = self.config["block"] or 0
        masks = self._copies(words, self.token.get(self.config["mask"], 0), block)
        generated, canvases = self._copies(words, 0, 0), []
        for _ in range(self.config["steps"]):
            logits = self.transformers["model"](self._before(words, torch.cat([generated, masks], dim=1)))
            generated = torch.cat([generated, logits[:, -max(1, block) :].argmax(-1)], dim=1)
            canvases.append(generated)
        return canvases

    def _surest(self, confidence: Tensor) -> Tensor:
        """The choice of a topk model: the k surest slots, the lowest in a tie; without k, those above a level."""
        if self.config["k"] is None:
            return confidence > self.config["chosen_above"]
        order = (-confidence).argsort(dim=-1, stable=True)[:, : self.config["k"]]
        return torch.zeros_like(confidence, dtype=torch.bool).scatter(1, order, True)

    def _before(self, words: Tensor, rest: Tensor) -> Tensor:
        begin = [] if self.config["begin"] is None else [self._copies(words, self.token[self.config["begin"]], 1)]
        return torch.cat([*begin, words, rest], dim=1)

    def _copies(self, words: Tensor, token: int, count: int) -> Tensor:
        return torch.full((len(words), count), token, dtype=torch.long, device=words.device)


if __name__ == "__main__":
    model = Model(Path(__file__).parent)
    try:
        tokens = model.encode(" ".join(sys.argv[1:]))
    except ValueError as error:
        sys.exit(str(error))
    for canvas in model.run(tokens):
        print(" ".join(model.config["vocabulary"][t] for t in canvas[0].tolist()))
