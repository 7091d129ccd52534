"""The bench: a month of ours, landing to gold with all checks, on either engine, beside scripts that make its tables.

Everything is made in a temporary folder, and every run is a fresh process. Ends with 1 if a target isn't met, and times
nothing if the tables differ. How a process is measured stands in measure.py, the plain scripts in by_hand*.py.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from measure import Command, Figures, median, run

HERE: Final = Path(__file__).resolve().parent
PYTHON: Final = Path(sys.executable)
TAXI_ASSETS: Final = PYTHON.with_name("taxi-assets")
ZONE_LOOKUP: Final = HERE.parent / "taxi_assets/tlc/bronze/taxi_zone_lookup.csv"
MONTH: Final = "2024-01"
SMALL: Final = 50_000
GROWN: Final = 4
GB: Final = 1e9

OURS, BY_HAND, SINK_DELTA = "taxi-assets materialize", "by hand, sink_parquet and a transaction", "by hand, sink_delta"
OURS_ON_SPARK, BY_HAND_ON_SPARK = "taxi-assets materialize on Spark", "by hand, PySpark and delta-spark"


@dataclass(frozen=True, slots=True)
class Target:
    """A figure that has a limit; `unit` stands behind both when they are printed."""

    what: str
    value: float
    limit: float
    unit: str
    below: bool = True
    """Whether the limit itself is too much."""

    @property
    def met(self) -> bool:
        return self.value < self.limit if self.below else self.value <= self.limit

    def __str__(self) -> str:
        sign = "under" if self.below else "at most"
        verdict = "ok" if self.met else "NOT MET"
        return f"{self.what:<58} {self.value:8.2f} {self.unit:<2}  {sign} {self.limit:g} {self.unit:<2}  {verdict}"


@dataclass(frozen=True, slots=True)
class Bench:
    """The folder that everything is made in, and the three ways to make a lake of a landed month."""

    folder: Path

    def landing(self, rows: int, service: str = "yellow") -> Path:
        """Make a landing with one month of a service."""
        landing = self.folder / f"landing_{service}_{rows}"
        if not landing.exists():
            print(f"Making a month of {rows:,} rows", file=sys.stderr)
            sample: Command = [
                TAXI_ASSETS,
                "sample",
                MONTH,
                "--service",
                service,
                "--rows",
                str(rows),
                "--landing",
                landing,
            ]
            run(sample, self.environment(landing, self.folder / "unused"))
        return landing

    def environment(self, landing: Path, lake: Path) -> dict[str, str]:
        return {
            "TAXI_LANDING_ROOT": str(landing),
            "TAXI_LAKE_ROOT": str(lake),
            "DAGSTER_HOME": str(lake.with_name(f"{lake.name}_dagster")),
        }

    def lake(self, name: str) -> Path:
        """Give an empty place for a lake."""
        lake = self.folder / name
        for folder in (lake, lake.with_name(f"{lake.name}_dagster")):
            shutil.rmtree(folder, ignore_errors=True)
        return lake

    def ours(self, landing: Path, lake: Path, service: str = "yellow") -> Figures:
        return run([TAXI_ASSETS, "materialize", "--service", service, MONTH], self.environment(landing, lake))[0]

    def ours_and_its_run(self, landing: Path, lake: Path) -> tuple[Figures, float]:
        """Run ours; returns what the process took, and the seconds of the run in it, without its start."""
        command: Command = [TAXI_ASSETS, "materialize", "--service", "yellow", MONTH, "--json"]
        figures, output = run(command, self.environment(landing, lake))
        return figures, float(json.loads(output[output.index("[") :])[0]["seconds"])

    def ours_on_spark(self, landing: Path, lake: Path) -> Figures:
        command: Command = [TAXI_ASSETS, "materialize", "--service", "yellow", MONTH]
        return run(command, {**self.environment(landing, lake), "TAXI_ENGINE": "spark"})[0]

    def by_hand_on_spark(self, landing: Path, lake: Path) -> Figures:
        file = landing / f"yellow_tripdata_{MONTH}.parquet"
        return run([PYTHON, HERE / "by_hand_spark.py", file, lake, "--month", MONTH, "--zones", ZONE_LOOKUP])[0]

    def by_hand(self, landing: Path, lake: Path, writer: str = "transaction") -> Figures:
        return self._script(landing, lake, writer)[0]

    def by_hand_with_sink_delta(self, landing: Path, lake: Path) -> Figures:
        return self._script(landing, lake, "sink_delta")[0]

    def rule_counts(self, landing: Path) -> tuple[dict[str, int], dict[str, int]]:
        """Return how many rows break each rule, by our checks (as the run before recorded them) and by the script."""
        listed = run([TAXI_ASSETS, "checks", MONTH, "--json"], self.environment(landing, self.folder / "ours"))[1]
        checks = {c["check"]: c["rows_failing"] for c in json.loads(listed) if c["table"] == "tlc_silver.yellow_trips"}
        by_hand = json.loads(self._script(landing, self.lake("by_hand"), "transaction")[1])
        return {rule: checks[rule] for rule in by_hand}, by_hand

    def _script(self, landing: Path, lake: Path, writer: str) -> tuple[Figures, str]:
        file = landing / f"yellow_tripdata_{MONTH}.parquet"
        options: Command = ["--month", MONTH, "--zones", ZONE_LOOKUP, "--writer", writer]
        return run([PYTHON, HERE / "by_hand.py", file, lake, *options])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000, help="rows of the month that all three make")
    parser.add_argument("--rounds", type=int, default=3, help="times that each makes it, in turn")
    parser.add_argument(
        "--large", action=argparse.BooleanOptionalAction, default=True, help="ours on larger months, once each"
    )
    parser.add_argument("--large-rows", type=int, default=20_000_000)
    parser.add_argument(
        "--spark", action=argparse.BooleanOptionalAction, default=True, help="both engines side by side"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="taxi_bench_") as folder:
        bench = Bench(Path(folder))
        refuse_to_time_other_tables(bench, on_spark=options.spark)
        targets = three_ways(bench, options.rows, options.rounds)
        if options.spark:
            targets += both_engines(bench, options.rows)
        if options.large:
            targets += larger_months(bench, options.large_rows)
        targets += metric_views(bench)
        targets += waiting_times(bench)
    print("\n" + "\n".join(map(str, targets)))
    missed = [target.what for target in targets if not target.met]
    if missed:
        sys.exit(f"\nNot met: {'; '.join(missed)}.")


def refuse_to_time_other_tables(bench: Bench, *, on_spark: bool) -> None:
    """Make a small month every way (which warms up, too) and end here unless the tables are equal."""
    landing = bench.landing(SMALL)
    bench.ours(landing, bench.lake("ours"))
    bench.by_hand(landing, bench.lake("by_hand"))
    bench.by_hand_with_sink_delta(landing, bench.lake("sink_delta"))
    ours, theirs = bench.rule_counts(landing)
    odd = [f"{rule}: {ours[rule]} rows by ours, {theirs[rule]} by hand" for rule in ours if ours[rule] != theirs[rule]]
    others = ["by_hand", "sink_delta"]
    if on_spark:
        bench.ours_on_spark(landing, bench.lake("on_spark"))
        bench.by_hand_on_spark(landing, bench.lake("by_hand_on_spark"))
        others += ["on_spark", "by_hand_on_spark"]
    for name in others:
        try:
            run([PYTHON, HERE / "equality.py", bench.folder / "ours", bench.folder / name])
        except RuntimeError as error:
            odd.append(f"ours and {name}: {error}")
    if odd:
        sys.exit("Nothing was timed, because the tables or rules differ.\n" + "\n".join(odd))
    print(f"All ways make the same tables of {SMALL:,} rows, and the same rules' counts.")


def three_ways(bench: Bench, rows: int, rounds: int) -> list[Target]:
    """Time the three ways in turn, and print what each takes."""
    landing = bench.landing(rows)
    runs_alone: list[float] = []

    def ours(landing: Path, lake: Path) -> Figures:
        figures, alone = bench.ours_and_its_run(landing, lake)
        runs_alone.append(alone)
        return figures

    ways: dict[str, Callable[[Path, Path], Figures]] = {
        OURS: ours,
        BY_HAND: bench.by_hand,
        SINK_DELTA: bench.by_hand_with_sink_delta,
    }
    found: dict[str, list[Figures]] = {way: [] for way in ways}
    for number in range(1, rounds + 1):
        for way, make in ways.items():
            print(f"Round {number} of {rounds}: {way}", file=sys.stderr)
            found[way].append(make(landing, bench.lake("timed")))
    shutil.rmtree(landing)
    medians = {way: median(figures) for way, figures in found.items()}
    print(f"\n{rows:,} rows, medians of {rounds}:")
    print(f"{'':<42} {'seconds':>8} {'(runs)':<20} {'cpu s':>7} {'rows/s':>10} {'peak GB':>8} {'ours is':>9}")
    for way, one in medians.items():
        runs = " ".join(f"{figures.seconds:.1f}" for figures in found[way])
        times = f"{medians[OURS].seconds / one.seconds:.2f} x"
        print(
            f"{way:<42} {one.seconds:8.2f} {f'({runs})':<20} {one.cpu_seconds:7.2f} {rows / one.seconds:10,.0f} "
            f"{one.peak_bytes / GB:8.2f} {times:>9}"
        )
    ours, fastest, slower = (medians[way] for way in (OURS, BY_HAND, SINK_DELTA))
    alone = statistics.median(runs_alone)
    print(
        f"Our run without the start of Python and Dagster: {alone:.2f} s, "
        f"{alone / fastest.seconds:.2f} x by hand with a transaction, {alone / slower.seconds:.2f} x with sink_delta."
    )
    return [
        Target("ours to by hand with a transaction", ours.seconds / fastest.seconds, 1.5, "x", below=False),
        Target("ours to by hand with sink_delta", ours.seconds / slower.seconds, 1, "x"),
        Target(f"peak memory of {rows:,} rows", ours.peak_bytes / GB, 1.5, "GB"),
    ]


def both_engines(bench: Bench, rows: int) -> list[Target]:
    """Time a month, and one four times as large, on both engines and by hand on Spark: once each, as they are long."""
    ways: dict[str, Callable[[Path, Path], Figures]] = {
        OURS: bench.ours,
        OURS_ON_SPARK: bench.ours_on_spark,
        BY_HAND_ON_SPARK: bench.by_hand_on_spark,
    }
    found: dict[str, list[Figures]] = {way: [] for way in ways}
    sizes = (rows, GROWN * rows)
    print(
        f"\n{'both engines':<42} {'rows':>10} {'seconds':>8} {'cpu s':>7} {'peak GB':>8} {'JVM GB':>7} {'x Polars':>9}"
    )
    for size in sizes:
        landing = bench.landing(size)
        for way, make in ways.items():
            print(f"{size:,} rows: {way}", file=sys.stderr)
            one = make(landing, bench.lake("timed"))
            found[way].append(one)
            print(
                f"{way:<42} {size:10,} {one.seconds:8.2f} {one.cpu_seconds:7.2f} {one.peak_bytes / GB:8.2f} "
                f"{one.jvm_peak_bytes / GB:7.2f} {one.seconds / found[OURS][-1].seconds:9.2f}"
            )
        shutil.rmtree(landing)
    for way, (one, grown) in found.items():
        print(f"{way:<42} takes {grown.seconds / one.seconds:.2f} times as long for {GROWN} times the rows")
    return [
        Target(f"on Spark to by hand on Spark, {size:,} rows", ours.seconds / theirs.seconds, 1.3, "x", below=False)
        for size, ours, theirs in zip(sizes, found[OURS_ON_SPARK], found[BY_HAND_ON_SPARK], strict=True)
    ]


def larger_months(bench: Bench, rows: int) -> list[Target]:
    """Run ours once on a month as large as a high-volume company's, and on one of taxis that is larger than any."""
    targets = []
    for service in ("yellow", "fhvhv"):
        landing = bench.landing(rows, service)
        print(f"{rows:,} rows of {service}, once", file=sys.stderr)
        found = bench.ours(landing, bench.lake("timed"), service)
        shutil.rmtree(landing)
        print(
            f"\n{rows:,} rows of {service}, ours, once: {found.seconds:.1f} s ({found.cpu_seconds:.1f} s cpu), "
            f"{rows / found.seconds:,.0f} rows/s, peak {found.peak_bytes / GB:.2f} GB"
        )
        targets.append(Target(f"peak memory of {rows:,} rows of {service}", found.peak_bytes / GB, 2.5, "GB"))
    return targets


def metric_views(bench: Bench) -> list[Target]:
    """Time a question to the star, by month and time of day, as large as Databricks' sample and far larger."""
    targets = []
    for rows, limit in ((22_000, 100), (10_000_000, 500)):
        print(f"A star of {rows:,} trips", file=sys.stderr)
        star = bench.lake("star")
        star.mkdir()
        _, output = run([PYTHON, HERE / "metrics.py", star, str(rows)])
        found = json.loads(output.splitlines()[-1])
        compiling, asking = (1000 * found[name] for name in ("compile", "all"))
        print(f"\n{rows:,} trips by month and time of day: {asking:.0f} ms in all, {compiling:.0f} ms to compile alone")
        targets.append(Target(f"a metric view's answer on {rows:,} trips", asking, limit, "ms"))
    return targets


def waiting_times(bench: Bench) -> list[Target]:
    """Time what everyone waits for each time: the command line's help, and the code location."""
    environment = bench.environment(bench.folder, bench.lake("unused"))
    commands: dict[str, tuple[Command, float]] = {
        "taxi-assets --help": ([TAXI_ASSETS, "--help"], 0.3),
        "loading the code location": ([PYTHON, "-c", "import taxi_assets.definitions"], 3),
    }
    return [
        Target(what, median([run(command, environment)[0] for _ in range(5)]).seconds, limit, "s")
        for what, (command, limit) in commands.items()
    ]


if __name__ == "__main__":
    main()
