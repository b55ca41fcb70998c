"""The torch engine: the exact form of `export/torch_model.py` as a third engine, `--engine torch`.

The same integers as the reference for any weights; it needs the extra `torch`.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np

from unmask.engines.engine import Footprint, Watch
from unmask.engines.footprint import dense_footprint
from unmask.errors import AttendsToNothing, UnmaskError
from unmask.numerics.array_types import Int
from unmask.weights.matrices import Matrix
from unmask.weights.transformer import Transformer


class TorchEngine:
    """Integers of torch, sums as trees of clipped additions."""

    name = "torch"

    def __init__(self) -> None:
        if find_spec("torch") is None:
            raise UnmaskError(
                "the torch engine needs torch; install it with `pip install 'unmask[torch]'`, or use --engine fast"
            )

    def footprint(self, transformer: Transformer, batch: int, *, watched: bool = False) -> Footprint:
        from unmask.export.torch_exact_numbers import TERMS_AT_ONCE

        return dense_footprint(transformer, batch, terms=2 * TERMS_AT_ONCE, watched=watched)

    def session(self, transformer: Transformer, *, name: str = "model") -> "TorchSession":
        return TorchSession(transformer, name)


class TorchSession:
    """One transformer; arrays of NumPy go in and come out."""

    def __init__(self, transformer: Transformer, name: str) -> None:
        from unmask.export.torch_exact_numbers import Numbers
        from unmask.export.torch_model import TorchTransformer

        self._name = name
        numbers = Numbers(transformer.precision.p)
        weights = {
            name: _torch_weights(numbers, tensor if isinstance(tensor, Matrix) else np.asarray(tensor))
            for name, tensor in transformer.tensors(positions=True)
        }
        weights["embed"] = _torch_weights(numbers, transformer.embed.dense())
        weights["out"] = _torch_weights(numbers, transformer.out.transposed())
        self._passes = TorchTransformer(weights, numbers, causal=transformer.attention == "causal", loop=None)

    def read(
        self, tokens: Int[np.ndarray, "batch seq"], rows: tuple[int, int], *, watch: Watch | None = None
    ) -> np.ndarray:
        residual = self.layers(self.embed(tokens, watch=watch), 0, self._passes.depth, watch=watch)
        return self.logits(residual[:, rows[0] : rows[1]])

    def embed(self, tokens: Int[np.ndarray, "batch seq"], *, watch: Watch | None = None) -> np.ndarray:
        residual = _array(self._passes.embed(self._in(tokens, wide=True)))
        if watch:
            watch("embed", residual)
        return residual

    def layers(
        self, residual: Int[np.ndarray, "batch seq width"], first: int, last: int, *, watch: Watch | None = None
    ) -> np.ndarray:
        self._passes.watch = None if watch is None else lambda name, value: watch(name, _array(value))
        try:
            return _array(self._passes.layers(self._in(residual), first, last))
        except ArithmeticError as error:
            word, row, layer, head = error.args
            raise AttendsToNothing(layer=layer, head=head, row=row, word=word, transformer=self._name) from None

    def logits(self, residual: Int[np.ndarray, "batch rows width"]) -> np.ndarray:
        return _array(self._passes.logits(self._in(residual)))

    def _in(self, array: np.ndarray, *, wide: bool = False) -> Any:
        import torch

        kind = torch.int64 if wide else self._passes.arithmetic.kind
        return torch.from_numpy(np.array(array, dtype=np.int64)).to(kind)


def _array(tensor: Any) -> np.ndarray:
    return tensor.numpy().astype(np.int64)


def _torch_weights(numbers: Any, tensor: Matrix | np.ndarray) -> Any:
    """Return a vector or a table as a dense tensor, a matrix as `Sparse`, with entries sorted by column, then row."""
    import torch

    from unmask.export.torch_exact_numbers import Sparse

    if isinstance(tensor, np.ndarray):
        return torch.from_numpy(tensor.astype(np.int64)).to(numbers.kind)
    order = np.lexsort((tensor.row, tensor.column))
    row, column, value = (
        torch.from_numpy(a[order].astype(np.int64)) for a in (tensor.row, tensor.column, tensor.value)
    )
    return Sparse(row, column, value.to(numbers.kind), tensor.shape[1])
