"""What bronze holds of a file's values is what each engine finds in its table."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import narwhals.stable.v1 as nw
import polars as pl

from taxi_assets.engines import DeltaLocation, Engine
from taxi_assets.engines.source_files import Format
from taxi_assets.engines.typed_rows import RESCUED
from taxi_assets_tests.engines.all_types import NOON, OURS, TEXTS, Ride, rows_of
from taxi_assets_tests.engines.made_up import read
from taxi_assets_tests.scenario import POLARS


def test_what_is_held_is_stored_and_read_as_it_is_by_each_engine(
    tmp_path: Path, at: DeltaLocation, engine: Engine
) -> None:
    held = {name: next(iter(values)) for name, values in TEXTS.items()}
    lines = [",".join(line) for line in (held, held.values(), ["x"] * len(held))]
    (tmp_path / "rides.csv").write_text("\n".join(lines) + "\n")
    month = date(2024, 1, 1)
    rows = rows_of(tmp_path, "rides.csv", Format.CSV).with_columns(
        source_file=pl.lit("rides.csv"), source_fingerprint=pl.lit("1"), ingested_at=NOON, source_month=month
    )

    POLARS.replace(Ride, at, nw.from_native(rows.lazy()), {"source_month": month})

    stored = read(Ride, at, by=engine).sort("source_row")
    assert stored.schema == {name: rows.schema[name] for name in stored.columns}
    assert stored.select(OURS).rows() == [
        tuple(next(iter(TEXTS[name].values())) if name in TEXTS else None for name in OURS),
        tuple("x" if name == "note" else None for name in OURS),
    ]
    (kept,) = stored[RESCUED].drop_nulls()
    assert json.loads(kept) == {name: "x" for name in held if name != "note"}
