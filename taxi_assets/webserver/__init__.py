"""Dagster's web server behind a guard: what it is asked, and by whose pages. Definitions import nothing of it."""
