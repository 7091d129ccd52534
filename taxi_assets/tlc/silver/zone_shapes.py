"""Which taxi zone a place lies in, by TLC's shapefile of the zones, taxi_zones.zip beside this file.

What a zone is called is the lookup's to say (bronze/zones.py). The shapefile has 56 twice and 103 three times: the ids
57, 104 and 105 of the lookup bear the same names and have no shape, so places in them are found under 56 and 103. 264
and 265 are no places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_SHAPEFILE: Final = Path(__file__).parent / "taxi_zones.zip"
_NEW_YORKS_PLANE: Final = "EPSG:2263"
_WGS_84: Final = "EPSG:4326"
# About a street block. Of real pickups six in ten lie in a cell that lies in one zone, and need no look at its shape.
_CELL_DEGREES: Final = 0.001
_NOWHERE: Final = 0
# Polars asks from several threads, and each would read the shapefile for itself.
_LOCK: Final = Lock()
_SHARED: Final = -1

_Ids = npt.NDArray[np.int32]
_Degrees = npt.NDArray[np.float64]


def zone_at(longitude: _Degrees, latitude: _Degrees) -> np.ma.MaskedArray[Any, Any]:
    """Return the LocationID of each place (WGS 84, degrees), masked where it lies in no zone or is no number."""
    if np.isnan(longitude).all():
        found = np.full(len(longitude), _NOWHERE, dtype=np.int32)
    else:
        with _LOCK:
            zones = _zones()
        found = zones.at(longitude, latitude)
    return np.ma.MaskedArray(found, found == _NOWHERE)


@dataclass(frozen=True)
class _Zones:
    """The shapes in degrees, and a grid over them: a cell's zone, `_NOWHERE`, or `_SHARED` if a border crosses it."""

    shapes: Any
    ids: _Ids
    west: float
    south: float
    grid: _Ids

    def at(self, x: _Degrees, y: _Degrees) -> _Ids:
        import shapely

        columns, rows = self.grid.shape
        with np.errstate(invalid="ignore"):
            column, row = (x - self.west) // _CELL_DEGREES, (y - self.south) // _CELL_DEGREES
            # False for what is no number, too.
            within = (column >= 0) & (column < columns) & (row >= 0) & (row < rows)
        found = np.full(len(x), _NOWHERE, dtype=np.int32)
        found[within] = self.grid[column[within].astype(np.intp), row[within].astype(np.intp)]
        shared = np.flatnonzero(found == _SHARED)
        found[shared] = _zone_of(self.shapes, self.ids, shapely.points(x[shared], y[shared]), "intersects")
        return found


@cache
def _zones() -> _Zones:
    """Read the shapefile, once a process: it takes two seconds and is needed for months until 2016-06 only."""
    import shapefile
    import shapely
    from pyproj import Transformer

    with shapefile.Reader(str(_SHAPEFILE)) as reader:
        records = list(reader.iterShapeRecords())
    to_degrees = Transformer.from_crs(_NEW_YORKS_PLANE, _WGS_84, always_xy=True)
    shapes = shapely.transform(
        np.array([shapely.geometry.shape(record.shape.__geo_interface__) for record in records], dtype=object),
        lambda places: np.column_stack(to_degrees.transform(places[:, 0], places[:, 1])),
    )
    ids = np.array([record.record["LocationID"] for record in records], dtype=np.int32)
    tree = shapely.STRtree(shapes)
    west, south, east, north = shapely.total_bounds(shapes)
    columns, rows = (int((high - low) / _CELL_DEGREES) + 1 for low, high in ((west, east), (south, north)))
    lefts = np.repeat(west + np.arange(columns) * _CELL_DEGREES, rows)
    bottoms = np.tile(south + np.arange(rows) * _CELL_DEGREES, columns)
    cells = shapely.box(lefts, bottoms, lefts + _CELL_DEGREES, bottoms + _CELL_DEGREES)
    touched = _zone_of(tree, ids, cells, "intersects") != _NOWHERE
    whole = _zone_of(tree, ids, cells, "within")
    grid = np.where(whole != _NOWHERE, whole, np.where(touched, _SHARED, _NOWHERE)).astype(np.int32)
    return _Zones(tree, ids, west, south, grid.reshape(columns, rows))


def _zone_of(tree: Any, ids: _Ids, places: Any, relation: str) -> _Ids:
    """Return the id of the zone to which each geometry has a relation; of several, at a border, the lowest."""
    which, shape = tree.query(places, predicate=relation)
    highest = np.iinfo(np.int32).max
    found = np.full(len(places), highest, dtype=np.int32)
    np.minimum.at(found, which, ids[shape])
    found[found == highest] = _NOWHERE
    return found
