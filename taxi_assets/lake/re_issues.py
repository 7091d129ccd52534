"""What a re-issued file changed in its partition, as metadata of the materialization."""

from __future__ import annotations

from typing import Final

from taxi_assets.contracts import Contract
from taxi_assets.engines import Written, changed_rows
from taxi_assets.engines.typed_rows import RESCUED, Provenance

SOURCE_FINGERPRINT: Final = "source_fingerprint"
"""The fingerprint of the file that an output's rows come from: its metadata, and a column of its contract."""


def what_changed(contract: type[Contract], written: Written, fingerprint: str) -> dict[str, int]:
    """Count the rows that were added to a partition, are gone from it and are the same; nothing if it is new.

    Rows are compared by what the file says, not by where it stands there or when it was read. The same bytes hold the
    same rows, and are not looked at again.
    """
    if written.before is None or written.after is None:
        return {}
    if written.before.select(SOURCE_FINGERPRINT).head(1).collect().rows() == [(fingerprint,)]:
        return _as_metadata(0, 0, written.rows)
    of_reading = {*Provenance.column_names(), *contract.stored_as().replaced_by} - {RESCUED}
    of_file = [name for name in contract.column_names() if name not in of_reading]
    changed = changed_rows(written.before, written.after, of_file)
    return _as_metadata(changed.added, changed.gone, changed.same)


def _as_metadata(added: int, gone: int, same: int) -> dict[str, int]:
    return {"rows_added": added, "rows_gone": gone, "rows_same": same}
