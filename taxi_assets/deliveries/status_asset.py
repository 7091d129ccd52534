"""The picture of a catalog in the UI: an asset that is observed, and a check that tells what is late."""

# Without postponed annotations, which Dagster doesn't resolve for `context`.

import hashlib
import warnings
from typing import Any, Final

import dagster as dg

from taxi_assets.catalog import Catalog
from taxi_assets.deliveries.lateness import Late, late_in
from taxi_assets.deliveries.status import InLanding, as_markdown, draw, stored_deliveries
from taxi_assets.lake.failures import one_clear_failure
from taxi_assets.lake.lake import Lake
from taxi_assets.landing import Landing

NOTHING_LATE: Final = "nothing_late"
"""The check's name."""

_MOST_NAMED: Final = 12


def status_key(catalog: Catalog) -> dg.AssetKey:
    """Return the asset whose last observation shows the picture in the UI."""
    return dg.AssetKey([f"{catalog.name}_landing", "status"])


warnings.filterwarnings("ignore", category=dg.BetaWarning, message="Function `observable_source_asset`")


def status_asset(catalog: Catalog) -> dg.SourceAsset:
    """Make the asset of a catalog's picture."""
    key, word = status_key(catalog), catalog.calendar.kind.word

    @dg.observable_source_asset(
        key=key,
        group_name=key.path[0],
        description=(
            f"{catalog.calendar.kind.span.capitalize()} in one picture: which {word}s of which {catalog.feed_word} "
            "have landed, are sound, have checks that warn or failed, or aren't there. Observe it to draw it anew; the "
            f"sensor {catalog.sensor} does so when something has changed. No table is made of it: were it upstream of "
            f"any, each change of a {word} would show all {word}s as out of date."
        ),
        tags={"catalog": catalog.name, "layer": "landing"},
    )
    def status(
        context: dg.OpExecutionContext, landing: dg.ResourceParam[Landing], lake: dg.ResourceParam[Lake]
    ) -> dg.ObserveResult:
        with one_clear_failure("/".join(key.path)):
            text = as_markdown(draw(InLanding.of(catalog, landing, context.instance), lake, context.instance))
        version = hashlib.sha256(text.encode()).hexdigest()
        return dg.ObserveResult(data_version=dg.DataVersion(version), metadata=_picture(catalog, text))

    return status


def nothing_late(catalog: Catalog) -> dg.AssetChecksDefinition:
    """Make the check that a catalog's feeds have stored what should be there by now."""
    key, word = status_key(catalog), catalog.calendar.kind.word

    @dg.asset_check(
        asset=key,
        name=NOTHING_LATE,
        description=(
            f"After each {catalog.feed_word}'s newest stored {word}, no {word} is missing that should be there. "
            "What is blocked isn't waited for."
        ),
    )
    def check(
        context: dg.AssetCheckExecutionContext, landing: dg.ResourceParam[Landing], lake: dg.ResourceParam[Lake]
    ) -> dg.AssetCheckResult:
        with one_clear_failure("/".join(key.path)):
            late = _late(InLanding.of(catalog, landing, context.instance), lake)
        return dg.AssetCheckResult(**_says(late))

    return check


def news(
    instance: dg.DagsterInstance, found: InLanding, lake: Lake
) -> list[dg.AssetObservation | dg.AssetCheckEvaluation]:
    """Return an observation that shows the picture, and what is late, as far as the last ones don't show the same."""
    catalog, key = found.catalog, status_key(found.catalog)
    text, says = as_markdown(draw(found, lake, instance)), _says(_late(found, lake))
    fresh: list[dg.AssetObservation | dg.AssetCheckEvaluation] = []
    if text != _last_shown(instance, catalog):
        fresh.append(dg.AssetObservation(key, metadata=_picture(catalog, text)))
    if says["description"] != _last_said(instance, catalog):
        fresh.append(dg.AssetCheckEvaluation(asset_key=key, check_name=NOTHING_LATE, **says))
    return fresh


def _picture(catalog: Catalog, text: str) -> dict[str, dg.MetadataValue[Any]]:
    return {f"{catalog.calendar.kind.word}s": dg.MetadataValue.md(text)}


def _late(found: InLanding, lake: Lake) -> list[Late]:
    catalog = found.catalog
    return late_in(catalog, stored_deliveries(catalog, lake), found.landed, found.blocked, catalog.calendar.now())


def _says(late: list[Late]) -> dict[str, Any]:
    """Return what an evaluation of the check says."""
    lacking = []
    for one in late:
        more = len(one.periods) - _MOST_NAMED
        named = ", ".join(map(str, one.periods[:_MOST_NAMED])) + (f" and {more:,} more" if more > 0 else "")
        lacking.append(f"{one.table} lacks {named}")
    return {
        "passed": not late,
        "severity": dg.AssetCheckSeverity.WARN,
        "description": "; ".join(lacking) + "." if late else "All that should be stored by now is stored.",
        "metadata": {"late": sum(len(one.periods) for one in late)},
    }


def _last_shown(instance: dg.DagsterInstance, catalog: Catalog) -> Any:
    for record in instance.fetch_observations(status_key(catalog), limit=1).records:
        for shown in (record.asset_observation.metadata if record.asset_observation else {}).values():
            if isinstance(shown, dg.MarkdownMetadataValue):
                return shown.value
    return None


def _last_said(instance: dg.DagsterInstance, catalog: Catalog) -> str | None:
    # No public counterpart to this question; test_upstream.py pins the answer.
    key = dg.AssetCheckKey(status_key(catalog), NOTHING_LATE)
    record = instance.event_log_storage.get_latest_asset_check_execution_by_key([key]).get(key)
    evaluation = record.evaluation if record else None
    return evaluation.description if evaluation else None
