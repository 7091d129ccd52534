"""`python -m taxi_assets.cli`."""

from taxi_assets.cli import main

main()
