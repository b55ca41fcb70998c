"""A .safetensors file ↔ the tensors of a Transformer, dense or sparse, integers only."""

import json
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from unmask.errors import FolderError, WeightsError, shortened
from unmask.files import check_file, distinct_keys
from unmask.limits import check, check_memory, stage
from unmask.numerics.arithmetic import Precision
from unmask.weights import size_limits
from unmask.weights.config_json import TransformerEntry
from unmask.weights.matrices import Matrix, Positions, PositionTable, as_positions
from unmask.weights.size_limits import check_activations, check_cells
from unmask.weights.transformer import Head, Layer, Mlp, Registers, Transformer

SPARSE_FIELDS = ("row", "col", "val", "shape")
INTEGERS = {
    "I8": np.int8,
    "U8": np.uint8,
    "I16": np.int16,
    "U16": np.uint16,
    "I32": np.int32,
    "U32": np.int32,
    "I64": np.int32,
    "U64": np.int32,
}
"""The types that a tensor may have, and the type of a large tensor in memory: every number of a model fits 32 bits."""
READ_AT_ONCE = 1 << 22
"""Numbers of a large tensor that are read between two checks of the time limit."""
DENSE_ENTRY, SPARSE_ENTRY = 24, 80
"""Bytes per number during the conversion of a dense or a sparse tensor into a Matrix."""
POSITIONS = "pos"
"""The only table whose stored size may reach the limit of a pass: most of its columns may be 0 everywhere."""


def tensor_bytes(transformer: Transformer) -> bytes:
    """The content of the file; it is the same for the same transformer."""
    stored: dict[str, np.ndarray] = {}
    for name, tensor in transformer.tensors(positions=True):
        stored.update(_smallest_form(name, tensor))
    return save(stored)


def in_folder(path: Path) -> str:
    """Return the name of a file as error messages give it: “model.safetensors of models/abb”."""
    return f"{path.name} of {path.parent}"


def read_transformer(path: Path, entry: TransformerEntry, precision: Precision, registers: object) -> Transformer:
    """Read the transformer of a file with arbitrary content."""
    tensors = Tensors(path)
    try:
        embed = tensors.matrix("embed")
        transformer = Transformer(
            precision=precision,
            embed=embed,
            positions=tensors.positions(POSITIONS),
            layers=tuple(_layer(tensors, i) for i in range(tensors.count("layers."))),
            out=tensors.matrix("out"),
            attention=entry.attention,
            loop=entry.loop,
            noise=entry.noise_columns,
            registers=Registers.from_json(registers, width=embed.shape[1]),
        )
    except WeightsError as error:
        raise FolderError(f"{in_folder(path)}: {error}") from None
    extra = sorted(set(tensors.names) - tensors.used)
    if extra:
        raise FolderError(f"{in_folder(path)} holds the tensor {shortened(extra[0])!r}, which no model has; remove it")
    _check_activations(transformer, path)
    return transformer


def check_distinct_names(path: Path) -> None:
    """Refuse a safetensors file whose header names a tensor, or a field of one, twice: readers may differ.

    Call this after the library has opened the file: it checks everything else.
    """
    with path.open("rb") as file:
        header = file.read(int.from_bytes(file.read(8), "little"))
    try:
        json.loads(header, object_pairs_hook=distinct_keys(FolderError, f" in the header of {in_folder(path)}"))
    except RecursionError:
        raise FolderError(f"the header of {in_folder(path)} is nested too deeply; write the file again") from None


class Tensors:
    """The named tensors of one file, each checked when it is taken."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.used: set[str] = set()
        if not path.exists():
            raise FolderError(f"{path.parent} lacks the file {path.name}")
        check_file(path, in_folder(path), most=size_limits.LARGEST_FILE, error=FolderError)
        try:
            with safe_open(path, framework="numpy") as file:
                check_distinct_names(path)
                self.names: list[str] = list(file.keys())
                for name in self.names:
                    self._check(name, file.get_slice(name))
                check_memory(2 * path.stat().st_size, f"reading {path.name}")  # the mapped file, and its tensors
                self._arrays = {name: self._read(file, name) for name in stage("reading", self.names)}
        except OSError as error:
            raise FolderError(f"{in_folder(path)} cannot be read: {error.strerror or error}") from None
        except (SafetensorError, ValueError) as error:  # NumPy refuses some shapes of empty tensors
            raise FolderError(
                f"{in_folder(path)} is not a whole safetensors file: {shortened(str(error), most=200)}"
            ) from None

    def _check(self, name: str, promised) -> None:
        """Refuse a tensor that no model has, by its declared type and shape."""
        kind, shape = promised.get_dtype(), promised.get_shape()
        if kind not in INTEGERS:
            raise FolderError(
                f"{in_folder(self.path)}: tensor {shortened(name)!r} has the type {kind}; it must hold integers"
            )
        check_size = check_activations if name == POSITIONS else check_cells
        check_size(prod(shape), 1, f"{in_folder(self.path)}: tensor {shortened(name)!r}")

    def _read(self, file, name: str) -> np.ndarray:
        promised = file.get_slice(name)
        kind, shape = promised.get_dtype(), promised.get_shape()
        if prod(shape) > READ_AT_ONCE:
            return self._read_in_blocks(promised, name, shape, INTEGERS[kind])
        np.empty(2 * prod(shape), dtype=np.int64)  # if memory is short, safetensors panics, but NumPy raises an error
        return file.get_tensor(name)

    def _read_in_blocks(self, promised, name: str, shape: list[int], kind: type) -> np.ndarray:
        """Read a large tensor in blocks, and check time and memory before each block."""
        if len(shape) > 2:
            raise FolderError(
                f"{in_folder(self.path)}: tensor {shortened(name)!r} must have at most 2 axes, "
                f"but its shape is {shape[:8]}"
            )
        array = np.empty(shape, dtype=kind)
        for block in _blocks(shape):
            check()
            values = promised[block]
            try:
                _check_fits(shortened(name), values)
            except WeightsError as error:
                raise FolderError(f"{in_folder(self.path)}: {error}") from None
            array[block] = values
        return array

    def count(self, prefix: str) -> int:
        """Return the number of indices i in the names prefix{i}.…; they must run from 0 without a gap."""
        numbers = {name[len(prefix) :].split(".")[0] for name in self.names if name.startswith(prefix)}
        expected = {str(i) for i in range(len(numbers))}
        if numbers != expected:
            unexpected = shortened(min(numbers - expected))
            raise FolderError(
                f"{in_folder(self.path)}: {prefix}{unexpected} is not expected; number {prefix}* from 0 without gaps"
            )
        return len(numbers)

    def positions(self, name: str) -> Positions:
        """Return a table in the smallest integer type for its values, without columns that are 0 everywhere."""
        if name not in self._arrays and f"{name}.shape" in self._arrays:
            matrix = self._sparse(name)
            columns = np.unique(matrix.column)
            check_activations(*matrix.shape, f"{in_folder(self.path)}: tensor {name}")
            check_cells(matrix.shape[0], columns.size, f"{in_folder(self.path)}: tensor {name}")
            table = np.zeros((matrix.shape[0], columns.size), dtype=_smallest_type(matrix.value))
            table[matrix.row, np.searchsorted(columns, matrix.column)] = matrix.value
            return as_positions(matrix.shape[1], columns, table)
        array = self._dense(name, axes=2)
        kind = _smallest_type(array)
        columns = np.flatnonzero(array.any(axis=0))
        return as_positions(array.shape[1], columns, array[:, columns].astype(kind, copy=False))

    def vector(self, name: str) -> np.ndarray:
        if name not in self._arrays and f"{name}.shape" in self._arrays:
            return self._sparse(name, axes=1).dense()[0]
        return self._dense(name, axes=1).astype(np.int64)

    def matrix(self, name: str) -> Matrix:
        if name not in self._arrays and f"{name}.shape" in self._arrays:
            return self._sparse(name)
        array = self._dense(name, axes=2)
        check_memory(DENSE_ENTRY * int(np.count_nonzero(array)), f"tensor {name} of {self.path.name}")
        return Matrix.of(array)

    def _dense(self, name: str, *, axes: int) -> np.ndarray:
        array = self._take(name)
        _check_fits(name, array)
        if array.ndim != axes:
            raise WeightsError(f"tensor {name} must have {axes} axes, but its shape is {list(array.shape)}")
        return array

    def _sparse(self, name: str, *, axes: int = 2) -> Matrix:
        """Return a sparse matrix, or a sparse vector as a matrix of one row, indexed by `row` or by `col`."""
        row, column, value, shape = (self._take(f"{name}.{field}") for field in SPARSE_FIELDS)
        for field, array in zip(SPARSE_FIELDS, (row, column, value, shape), strict=True):
            if array.ndim != 1:
                raise WeightsError(f"tensor {name}.{field} must have one axis, but its shape is {list(array.shape)}")
            _check_fits(f"{name}.{field}", array)
        if shape.size != axes or min(shape.tolist()) < 0:
            raise WeightsError(f"tensor {name}.shape must hold {axes} sizes from 0, not {shape.tolist()[:8]}")
        if max(shape.tolist()) > size_limits.LARGEST_TABLE:
            raise WeightsError(
                f"tensor {name} claims the shape {shape.tolist()}, beyond the limit {size_limits.LARGEST_TABLE}"
            )
        check_memory(SPARSE_ENTRY * value.size, f"tensor {name} of {self.path.name}")
        if axes == 1 and not column.any():
            row, column = column, row
        height, width = (1, *shape.tolist())[-2:]
        try:
            return Matrix.from_entries((height, width), row, column, value)
        except WeightsError as error:
            raise WeightsError(f"tensor {name}: {error}") from None

    def _take(self, name: str) -> np.ndarray:
        if name not in self._arrays:
            raise FolderError(f"{in_folder(self.path)} lacks the tensor {name!r}")
        self.used.add(name)
        return self._arrays[name]


def _blocks(shape: list[int]) -> Iterator[tuple[slice, ...]]:
    """Yield slices of at most READ_AT_ONCE numbers that cover a list or a matrix: some rows, or a part of one row."""
    width = prod(shape[1:])
    for rows in _slices(shape[0], max(1, READ_AT_ONCE // width)):
        yield from ((rows, columns) for columns in _slices(width, READ_AT_ONCE)) if len(shape) == 2 else [(rows,)]


def _slices(size: int, most: int) -> Iterator[slice]:
    """Yield 0 … size - 1 in slices of limited length."""
    yield from (slice(i, min(i + most, size)) for i in range(0, size, most))


def _layer(tensors: Tensors, i: int) -> Layer:
    heads = tuple(
        Head(*(tensors.matrix(f"layers.{i}.heads.{j}.{field}") for field in ("wq", "wk", "wv")))
        for j in range(tensors.count(f"layers.{i}.heads."))
    )
    name = f"layers.{i}.mlp"
    mlp = Mlp(
        tensors.matrix(f"{name}.w1"),
        tensors.vector(f"{name}.b1"),
        tensors.matrix(f"{name}.w2"),
        tensors.vector(f"{name}.b2"),
    )
    return Layer(heads, mlp)


def _check_activations(transformer: Transformer, path: Path) -> None:
    """Check the size of a pass: rows times the residual and query widths, and the hidden units of one row at a time."""
    rows = len(transformer.positions)
    check_activations(rows, transformer.width, f"{in_folder(path)}: embed with {rows} rows")
    widths = []
    for i, layer in enumerate(transformer.layers):
        widths += [(f"layers.{i}.heads.{j}.wq", head.wq.shape[1]) for j, head in enumerate(layer.heads)]
        check_cells(1, layer.mlp.w1.shape[1], f"{in_folder(path)}: layers.{i}.mlp.w1")
    for name, width in widths:
        check_cells(rows, width, f"{in_folder(path)}: {name} with {rows} rows")


def _check_fits(name: str, array: np.ndarray) -> None:
    """Check that values fit a signed 32-bit integer before they are narrowed: an unsigned 64-bit value could wrap."""
    if array.size and (int(array.max()) >= 1 << 31 or int(array.min()) < -(1 << 31)):
        raise WeightsError(f"tensor {name} holds a number beyond 32 bits")


def _smallest_type(array: np.ndarray) -> np.dtype:
    """Return the smallest signed type that can represent the values."""
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    for kind in (np.int8, np.int16, np.int32, np.int64):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.dtype(kind)
    raise WeightsError(f"a tensor holds the number {high}, which no F_p has")


def _smallest_form(name: str, tensor: Matrix | Positions) -> Mapping[str, np.ndarray]:
    """Return the dense form, or the sparse form if it takes fewer bytes or if `load` refuses the dense one."""
    if isinstance(tensor, PositionTable):
        return _position_form(name, tensor)
    if isinstance(tensor, np.ndarray):
        if tensor.ndim == 2:
            nonzeros = int(np.count_nonzero(tensor))
            if _sparse_is_smaller(tensor.shape, nonzeros, _smallest_type(tensor).itemsize):
                return _smallest_form(name, Matrix.of(tensor))
        return {name: np.ascontiguousarray(tensor, dtype=_smallest_type(tensor))}
    value = tensor.value.astype(_smallest_type(tensor.value))
    may_be_dense = prod(tensor.shape) <= size_limits.LARGEST_TABLE
    if may_be_dense and not _sparse_is_smaller(tensor.shape, tensor.nonzeros, value.itemsize):
        return {name: tensor.dense().astype(value.dtype)}
    return _sparse_form(name, tensor.shape, tensor.row, tensor.column, value)


def _position_form(name: str, positions: PositionTable) -> Mapping[str, np.ndarray]:
    table = positions.table.astype(_smallest_type(positions.table), copy=False)
    if not _sparse_is_smaller(positions.shape, int(np.count_nonzero(table)), table.itemsize):
        return {name: positions[:].astype(table.dtype, copy=False)}
    row, index = np.nonzero(table)
    return _sparse_form(name, positions.shape, row, positions.columns[index], table[row, index])


def _sparse_form(
    name: str, shape: tuple[int, ...], row: np.ndarray, column: np.ndarray, value: np.ndarray
) -> Mapping[str, np.ndarray]:
    index = [a.astype(_index_type(size)) for a, size in zip((row, column), shape, strict=True)]
    arrays: Iterable[np.ndarray] = (*index, value, np.array(shape, dtype=np.int64))
    return {f"{name}.{field}": values for field, values in zip(SPARSE_FIELDS, arrays, strict=True)}


def _sparse_is_smaller(shape: tuple[int, ...], nonzeros: int, itemsize: int) -> bool:
    index = sum(_index_type(size).itemsize for size in shape)
    return nonzeros * (index + itemsize) + 300 < shape[0] * shape[1] * itemsize


def _index_type(size: int) -> np.dtype:
    return np.dtype(np.uint8 if size <= 256 else np.uint16 if size <= 65536 else np.int32)
