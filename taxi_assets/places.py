"""The landing and the lake that the settings name, and how the lake is maintained."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from taxi_assets.engines import Engine, PolarsEngine, make_spark_engine
from taxi_assets.lake.lake import Lake
from taxi_assets.lake.maintenance import MaintenancePolicy
from taxi_assets.landing import Landing
from taxi_assets.settings import Settings, object_store_options


def lake_of(settings: Settings) -> Lake:
    """Return the lake that the settings name."""
    return Lake(settings.lake_root, object_store_options(settings.lake_storage), _engine_of(settings))


def landing_of(settings: Settings) -> Landing:
    """Return the landing that the settings name."""
    return Landing(
        settings.landing_root, object_store_options(settings.landing_storage), settle_seconds=settings.settle_seconds
    )


def maintenance_of(settings: Settings) -> MaintenancePolicy:
    """Return how the settings want tables maintained."""
    wanted = settings.maintenance
    return MaintenancePolicy(timedelta(hours=wanted.retention_hours), wanted.small_file_mb * 1024 * 1024)


def _engine_of(settings: Settings) -> Engine:
    if settings.engine == "polars":
        return PolarsEngine()
    spark = settings.spark
    conf = {"spark.app.name": "taxi-assets", **spark.conf}
    return make_spark_engine(spark.master, conf, spark.jars, Path(settings.dagster_home) / "spark.log")
