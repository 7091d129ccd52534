"""The sensor of a catalog's files: what is new or was written again in landing becomes runs of just that."""

# Without postponed annotations, which Dagster doesn't resolve for `context`.

import dagster as dg

from taxi_assets.catalog import FEEDS, Catalog
from taxi_assets.deliveries.plan import dump, load, plan
from taxi_assets.deliveries.records import sources_of
from taxi_assets.deliveries.status import InLanding
from taxi_assets.deliveries.status_asset import news, status_key
from taxi_assets.errors import TaxiAssetsError
from taxi_assets.lake.lake import Lake
from taxi_assets.landing import Landing


def landing_sensor(catalog: Catalog) -> dg.SensorDefinition:
    """Make the sensor of a catalog's files."""
    word, contents = catalog.calendar.kind.word, catalog.load()
    status = status_key(catalog).to_user_string()

    @dg.sensor(
        name=catalog.sensor,
        job_name=catalog.period_job,
        minimum_interval_seconds=30,
        description=(
            f"Requests a run of each {word} of which a file has landed or was written again, for just its "
            f"{catalog.feed_word}s. Keeps the picture in {status} up to date."
        ),
    )
    def sensor(
        context: dg.SensorEvaluationContext, landing: dg.ResourceParam[Landing], lake: dg.ResourceParam[Lake]
    ) -> dg.SensorResult:
        found, seen = InLanding.of(catalog, landing, context.instance), load(catalog, context.cursor)
        files, blocked = found.landed.files, found.blocked
        unknown = [one for one in files if one in blocked or one not in seen or not seen[one].identity]
        done = sources_of(context.instance, catalog, unknown)
        planned = plan(catalog, found.landed, seen, done, blocked)
        for message in planned.messages:
            context.log.warning(message)
        requests = [
            dg.RunRequest(
                run_key=request.run_key,
                partition_key=str(request.period),
                asset_selection=contents.keys_for(request.feeds),
                tags={FEEDS: ",".join(request.feeds)},
            )
            for request in planned.requests
        ]
        count = len({one.file.path for of_delivery in files.values() for one in of_delivery})
        nothing_new = f"Nothing new among {count} files. " + " ".join(planned.messages)
        return dg.SensorResult(
            run_requests=requests,
            skip_reason=None if requests else dg.SkipReason(nothing_new.strip()),
            cursor=dump(planned.seen),
            asset_events=_news(context, found, lake),
        )

    return sensor


def _news(
    context: dg.SensorEvaluationContext, found: InLanding, lake: Lake
) -> list[dg.AssetObservation | dg.AssetCheckEvaluation]:
    try:
        return news(context.instance, found, lake)
    except TaxiAssetsError as error:
        # A picture that can't be drawn is no reason to leave files waiting.
        context.log.warning("%s isn't up to date: %s", status_key(found.catalog).to_user_string(), error)
        return []
