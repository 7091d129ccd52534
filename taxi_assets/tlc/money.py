"""The types of a trip's amounts: exact, so that sums depend neither on order nor on the engine."""

from __future__ import annotations

from typing import Annotated

from taxi_assets.contracts import Decimal

Money = Annotated[Decimal, 10, 2]
"""US dollars and cents."""

Miles = Annotated[Decimal, 10, 2]
"""Miles by the taximeter, which counts hundredths."""

MilesToThousandths = Annotated[Decimal, 10, 3]
"""Miles by a company's app, which TLC publishes with three decimals."""

Minutes = Annotated[Decimal, 12, 2]
"""Minutes; wide enough for a dropoff in the year 9999."""

MoneyPerMile = Annotated[Decimal, 10, 4]
"""US dollars per mile."""

MoneySum = Annotated[Decimal, 18, 2]
"""Sums of US dollars and cents."""
