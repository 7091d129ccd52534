"""The lake as Dagster sees it: where tables stand, the IO manager, and how a contract becomes an asset with its checks.

Nothing here knows which tables there are, nor which engine runs.
"""

import warnings

import dagster as dg

# Without a partitions_def a check's result isn't that of a partition; Dagster 1.13 calls the parameter a preview.
warnings.filterwarnings(
    "ignore", category=dg.PreviewWarning, message="Specifying a partitions_def on an AssetCheckSpec"
)
