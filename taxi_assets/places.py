"""The landing and the lake that the settings name."""

from __future__ import annotations

from pathlib import Path

from taxi_assets.engines import Engine, PolarsEngine, make_spark_engine
from taxi_assets.lake.lake import Lake
from taxi_assets.landing import Landing
from taxi_assets.settings import Settings, object_store_options


def lake_of(settings: Settings) -> Lake:
    """Return the lake that the settings name."""
    return Lake(settings.lake_root, object_store_options(settings.lake_storage), _engine_of(settings))


def landing_of(settings: Settings) -> Landing:
    """Return the landing that the settings name."""
    return Landing(settings.landing_root, object_store_options(settings.landing_storage))


def _engine_of(settings: Settings) -> Engine:
    if settings.engine == "polars":
        return PolarsEngine()
    spark = settings.spark
    conf = {"spark.app.name": "taxi-assets", **spark.conf}
    return make_spark_engine(spark.master, conf, spark.jars, Path(settings.dagster_home) / "spark.log")
