"""Functions of numpy arrays as functions of Arrow arrays, in which every engine hands its columns to Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

ArrayFunction = Callable[..., "np.ma.MaskedArray[Any, Any]"]
"""From arrays of doubles (NaN where there is none) to a masked array of 32-bit whole numbers, of equal length."""


def over_arrow(compute: ArrayFunction) -> Callable[..., pa.Array]:
    """Return the same function of Arrow's arrays; what is masked is null."""

    def over(*columns: pa.Array) -> pa.Array:
        values = (np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64) for column in columns)
        found = compute(*values)
        return pa.array(found.data, pa.int32(), mask=np.ma.getmaskarray(found))

    return over
