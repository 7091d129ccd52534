"""Fetching: files from TLC's address into landing, each under its name only when it is whole and what it should be.

files.py knows what TLC publishes and when a file is good, download.py HTTP, place.py how landing is written.
"""

from __future__ import annotations

from taxi_assets.tlc.fetch.download import Server
from taxi_assets.tlc.fetch.files import Fetched, Wanted, fetch

__all__ = ["Fetched", "Server", "Wanted", "fetch"]
