"""A Dagster code location that turns the monthly files of New York's TLC into a Delta lake in three layers.

Importing this package opens nothing and imports nothing heavy: `taxi_assets.definitions` is where it all comes
together.
"""
