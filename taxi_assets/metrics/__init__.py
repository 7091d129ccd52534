"""Metric views: measures and dimensions defined once, in Databricks' metric view YAML, and asked in any combination.

A view (``*.yaml``) is data, which Databricks takes as it is; here view.py reads it, expressions.py what its SQL means,
and compile.py makes of a question the SQL for DuckDB or Spark, and answer.py asks a lake. The modules know no table.
"""

from taxi_assets.metrics.answer import answer
from taxi_assets.metrics.compile import compile_checks, compile_query
from taxi_assets.metrics.view import MetricView, load_view, shipped_views

__all__ = ["MetricView", "answer", "compile_checks", "compile_query", "load_view", "shipped_views"]
