"""The resources of the code location, and what the UI shows of each: which lake and landing one is on, and no secret.

What a resource is made of stands in places.py and the mechanisms' own files.
"""

from __future__ import annotations

from typing import Any, Final

import dagster as dg
from pydantic import Field

from taxi_assets.alerts.routes import alerts_of
from taxi_assets.lake.assets import IO_MANAGER
from taxi_assets.lake.io_manager import DeltaLakeIOManager
from taxi_assets.lake.passed_by import PASSED_BY, PassedBy
from taxi_assets.places import lake_of, landing_of, maintenance_of
from taxi_assets.settings import Settings

_NONE: Final = "(none)"


class LakeResource(dg.ConfigurableResource[Any]):
    """The lake: all tables below one root, and what computes them."""

    root: str = Field(description="Folder or URL that the tables stand below: TAXI_LAKE_ROOT.")
    storage: str = Field(description="Kind of storage that this is in: local, s3, azure or gcs.")
    engine: str = Field(description="What computes silver and gold: TAXI_ENGINE.")
    spark_master: str = Field(description="Which Spark, where that is the engine: TAXI_SPARK__MASTER.")


class LandingResource(dg.ConfigurableResource[Any]):
    """Landing: the folder or bucket where files arrive."""

    root: str = Field(description="Folder or URL that files are looked for in: TAXI_LANDING_ROOT.")
    storage: str = Field(description="Kind of storage that this is in: local, s3, azure or gcs.")


class AlertsResource(dg.ConfigurableResource[Any]):
    """Who is told what goes wrong, once the sensor `alerts` is on. Addresses are secrets, and not shown."""

    routes: list[str] = Field(description="Each route, the least that it is sent, and of which asset groups.")
    ui: str = Field(description="Where links in alerts lead: TAXI_ALERTS__UI.")


class MaintenanceResource(dg.ConfigurableResource[Any]):
    """How the job `lake_maintenance` keeps tables."""

    retention_hours: int = Field(description="How long files that were replaced are kept.")
    small_file_mb: int = Field(description="Files of fewer megabytes on average are made one.")


class PassedByResource(dg.ConfigurableResource[Any]):
    """A run's notes of tables of which it stores nothing, or nothing that can be trusted. Nothing can be set."""


class LakeIOManager(dg.ConfigurableIOManagerFactory[Any]):
    """Reads and publishes partitions of the lake's tables, each in one commit."""

    root: str = Field(description="Folder or URL that the tables stand below: TAXI_LAKE_ROOT.")


def resources_of(settings: Settings) -> dict[str, Any]:
    """Return the resources, by key, on the landing and the lake that the settings name."""
    lake, passed_by, alerts = lake_of(settings), PassedBy(), alerts_of(settings.alerts)
    routes = [f"{one.name}: {one.severity}, {' '.join(sorted(one.groups)) or 'all groups'}" for one in alerts.routes]
    return {
        IO_MANAGER: _standing_for(DeltaLakeIOManager(lake, passed_by), LakeIOManager, root=settings.lake_root),
        PASSED_BY: _standing_for(passed_by, PassedByResource),
        "lake": _standing_for(
            lake,
            LakeResource,
            root=settings.lake_root,
            storage=settings.lake_storage.provider,
            engine=settings.engine,
            spark_master=settings.spark.master if settings.engine == "spark" else _NONE,
        ),
        "landing": _standing_for(
            landing_of(settings),
            LandingResource,
            root=settings.landing_root,
            storage=settings.landing_storage.provider,
        ),
        "alerts": _standing_for(alerts, AlertsResource, routes=routes or [_NONE], ui=alerts.ui),
        "maintenance": _standing_for(
            maintenance_of(settings), MaintenanceResource, **settings.maintenance.model_dump()
        ),
    }


def _standing_for(value: object, shows: type, **shown: Any) -> Any:
    """Return a resource that shows some fields, and is `value` to whoever uses it.

    Dagster makes a resource anew for each run from what it shows, and so by its class alone: the value, which may hold
    secrets, is the class's. Raises Failure, when the run begins, if the Launchpad has been given other fields.
    """

    def hand_out(self: Any, _context: dg.InitResourceContext) -> object:
        other = [name for name, wanted in shown.items() if getattr(self, name) != wanted]
        if other:
            raise dg.Failure(
                f"{shows.__name__} can't be set for one run ({', '.join(other)}): its description names the setting. "
                "Nothing was run.",
                allow_retries=False,
            )
        return value

    hands_out = "create_io_manager" if issubclass(shows, dg.ConfigurableIOManagerFactory) else "create_resource"
    body = {"__doc__": shows.__doc__, "__module__": shows.__module__, hands_out: hand_out}
    return type(shows.__name__, (shows,), body)(**shown)
