"""Add table look-ups four rows at a time.

A compiler does not vectorize ``target[r] += table[place[r]]``: each look-up costs about five instructions. The same
columns of four rows are a four by four matrix, whose rows are contiguous in the table and whose columns are contiguous
in the targets. It is read row by row, transposed in registers and added column by column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_config: Any = numba.config
_Function = Callable[..., Any]
_FOUR = ir.VectorType(ir.DoubleType(), 4)


def _vector(builder: Any, data: Any, index: Any) -> Any:
    """Return a pointer to the four numbers that begin at ``data[index]``."""
    return builder.bitcast(builder.gep(data, [index]), _FOUR.as_pointer())


def _load(builder: Any, pointer: Any) -> Any:
    loaded = builder.load(pointer)
    loaded.align = 8
    return loaded


def _mixed(builder: Any, one: Any, other: Any, lanes: list[int]) -> Any:
    """Return four lanes of two vectors, of which the second has the lanes 4 to 7."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), 4), lanes))


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of a four by four matrix."""
    even = [_mixed(builder, rows[i], rows[i + 1], [0, 4, 2, 6]) for i in (0, 2)]
    odd = [_mixed(builder, rows[i], rows[i + 1], [1, 5, 3, 7]) for i in (0, 2)]
    return [
        _mixed(builder, upper, lower, lanes)
        for lanes in ([0, 1, 4, 5], [2, 3, 6, 7])
        for upper, lower in (even, odd)
    ]


def _add_columns(width: int) -> _Function:
    """Return a function that adds ``width`` columns of a table at four places.

    The function adds ``table[place[first + i] + k]`` to ``targets[k][first + i]`` for ``i < 4`` and ``k < width``. It
    reads the table four numbers at a time, beyond the last column.
    """

    def plain(table: Any, place: Any, first: Any, targets: Any) -> None:
        for k in range(width):
            for i in range(first, first + 4):
                targets[k][i] += table[int(place[i]) + k]

    if _config.DISABLE_JIT:
        return plain

    def typed(context: Any, table: Any, place: Any, first: Any, targets: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            arrays = [context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 1)]
            of_target = context.make_array(signature.args[3].dtype)
            rows = []
            for i in range(4):
                at = builder.add(args[2], ir.Constant(args[2].type, i))
                at = builder.zext(builder.load(builder.gep(arrays[1].data, [at])), args[2].type)
                rows.append(_load(builder, _vector(builder, arrays[0].data, at)))
            for k, column in enumerate(_transposed(builder, rows)[:width]):
                target = of_target(context, builder, builder.extract_value(args[3], k))
                pointer = _vector(builder, target.data, args[2])
                builder.store(builder.fadd(_load(builder, pointer), column), pointer).align = 8
            return context.get_dummy_value()

        return types.void(table, place, types.int64, targets), generate

    compiled: _Function = intrinsic(typed)
    return compiled


add_two, add_three, add_four = map(_add_columns, (2, 3, 4))
