"""Every layout of TLC's CSV years up to 2016-06, by the first hundred lines of real files, from the file to gold.

Values are read by hand from the first line of each file. Later layouts are in test_real_csvs.py.
"""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from taxi_assets.calendars import Month
from taxi_assets.tlc.vocabulary import Service
from taxi_assets_tests.scenario import Workspace

pytestmark = pytest.mark.full


def ride(pickup: str, dropoff: str, **rest: Any) -> dict[str, Any]:
    """Return a trip's columns as bronze has them; those that no file of these years has are null."""
    times = {"pickup_datetime": datetime.fromisoformat(pickup), "dropoff_datetime": datetime.fromisoformat(dropoff)}
    absent = dict.fromkeys(("pickup_location_id", "dropoff_location_id", "congestion_surcharge", "_rescued_data"))
    return absent | times | rest


def between(*degrees: float) -> dict[str, float]:
    """Return coordinates: of the pickup longitude and latitude, then of the dropoff."""
    names = ("pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude")
    return dict(zip(names, degrees, strict=True))


FIRST_ROWS: dict[tuple[Service, str], dict[str, Any]] = {
    (Service.YELLOW, "2009-01"): ride(
        "2009-01-04 02:52:00", "2009-01-04 03:02:00", vendor_id=2, passenger_count=1, trip_distance=2.63,
        **between(-73.991957, 40.721567, -73.993803, 40.695922), rate_code_id=None, store_and_fwd_flag=None,
        payment_type=2, fare_amount=8.9, extra=0.5, mta_tax=None, tip_amount=0.0, tolls_amount=0.0, total_amount=9.4,
    ),
    (Service.YELLOW, "2009-07"): ride(
        "2009-07-15 17:39:00", "2009-07-15 17:46:00", vendor_id=2, passenger_count=1, trip_distance=1.32,
        **between(-73.999132, 40.726542, -73.984907, 40.736347), rate_code_id=None, store_and_fwd_flag=None,
        payment_type=1, fare_amount=6.1, extra=1.0, mta_tax=None, tip_amount=1.0, tolls_amount=0.0, total_amount=8.1,
    ),
    (Service.YELLOW, "2010-01"): ride(
        "2010-01-26 07:41:00", "2010-01-26 07:45:00", vendor_id=2, passenger_count=1, trip_distance=0.75,
        **between(-73.956778, 40.76775, -73.965957, 40.765232), rate_code_id=1, store_and_fwd_flag=None,
        payment_type=2, fare_amount=4.5, extra=0.0, mta_tax=0.5, tip_amount=0.0, tolls_amount=0.0, total_amount=5.0,
    ),
    (Service.YELLOW, "2010-03"): ride(
        "2010-03-22 17:05:03", "2010-03-22 17:22:51", vendor_id=1, passenger_count=1, trip_distance=3.3,
        **between(-74.007549, 40.743325, -73.967719, 40.760955), rate_code_id=1, store_and_fwd_flag="N",
        payment_type=2, fare_amount=12.1, extra=1.0, mta_tax=0.5, tip_amount=0.0, tolls_amount=0.0, total_amount=13.6,
    ),
    (Service.YELLOW, "2011-06"): ride(
        "2011-06-15 17:50:28", "2011-06-15 18:11:32", vendor_id=1, passenger_count=1, trip_distance=1.1,
        **between(-73.967978, 40.753256, -73.983118, 40.756233), rate_code_id=1, store_and_fwd_flag="N",
        payment_type=2, fare_amount=10.9, extra=1.0, mta_tax=0.5, tip_amount=0.0, tolls_amount=0.0, total_amount=12.4,
    ),
    (Service.YELLOW, "2012-10"): ride(
        "2012-10-01 07:57:00", "2012-10-01 08:09:00", vendor_id=2, passenger_count=1, trip_distance=3.01,
        **between(-73.994532, 40.755887, -74.00999, 40.721495), rate_code_id=1, store_and_fwd_flag=None,
        payment_type=1, fare_amount=12.5, extra=0.0, mta_tax=0.5, tip_amount=2.0, tolls_amount=0.0, total_amount=15.0,
    ),
    (Service.YELLOW, "2013-01"): ride(
        "2013-01-01 15:11:48", "2013-01-01 15:18:10", vendor_id=1, passenger_count=4, trip_distance=1.0,
        **between(-73.978165, 40.757977, -73.98984, 40.751173), rate_code_id=1, store_and_fwd_flag="N",
        payment_type=2, fare_amount=6.5, extra=0.0, mta_tax=0.5, tip_amount=0.0, tolls_amount=0.0, total_amount=7.0,
    ),
    (Service.YELLOW, "2014-05"): ride(
        "2014-05-31 17:17:00", "2014-05-31 17:17:00", vendor_id=2, passenger_count=2, trip_distance=0.0,
        **between(0.0, 0.0, 0.0, 0.0), rate_code_id=1, store_and_fwd_flag=None,
        payment_type=2, fare_amount=2.5, extra=0.0, mta_tax=0.5, tip_amount=0.0, tolls_amount=0.0, total_amount=3.0,
    ),
    (Service.YELLOW, "2015-01"): ride(
        "2015-01-15 19:05:39", "2015-01-15 19:23:42", vendor_id=2, passenger_count=1, trip_distance=1.59,
        **between(-73.993896484375, 40.750110626220703, -73.974784851074219, 40.750617980957031), rate_code_id=1,
        store_and_fwd_flag="N", payment_type=1, fare_amount=12.0, extra=1.0, mta_tax=0.5, tip_amount=3.25,
        tolls_amount=0.0, improvement_surcharge=0.3, total_amount=17.05,
    ),
    (Service.YELLOW, "2015-08"): ride(
        "2015-08-01 00:00:15", "2015-08-01 00:36:21", vendor_id=2, passenger_count=1, trip_distance=7.22,
        **between(-73.999809265136719, 40.743339538574219, -73.942848205566406, 40.806621551513672), rate_code_id=1,
        store_and_fwd_flag="N", payment_type=2, fare_amount=29.5, extra=0.5, mta_tax=0.5, tip_amount=0.0,
        tolls_amount=0.0, improvement_surcharge=0.3, total_amount=30.8,
    ),
    (Service.YELLOW, "2016-03"): ride(
        "2016-03-01 00:00:00", "2016-03-01 00:07:55", vendor_id=1, passenger_count=1, trip_distance=2.5,
        **between(-73.97674560546875, 40.765151977539062, -74.004264831542969, 40.746128082275391), rate_code_id=1,
        store_and_fwd_flag="N", payment_type=1, fare_amount=9.0, extra=0.5, mta_tax=0.5, tip_amount=2.05,
        tolls_amount=0.0, improvement_surcharge=0.3, total_amount=12.35,
    ),
    (Service.GREEN, "2013-09"): ride(
        "2013-09-01 00:02:00", "2013-09-01 00:54:51", vendor_id=2, passenger_count=5, trip_distance=14.35,
        **between(-73.952407836914062, 40.810726165771484, -73.983940124511719, 40.676284790039063), rate_code_id=1,
        store_and_fwd_flag="N", payment_type=1, fare_amount=50.5, extra=0.5, mta_tax=0.5, tip_amount=10.3,
        tolls_amount=0.0, ehail_fee=None, total_amount=61.8, trip_type=None,
    ),
    (Service.GREEN, "2014-06"): ride(
        "2014-06-01 00:00:00", "2014-06-01 07:40:36", vendor_id=2, passenger_count=1, trip_distance=8.0,
        **between(0.0, 0.0, -73.865570068359375, 40.770862579345703), rate_code_id=1,
        store_and_fwd_flag="N", payment_type=1, fare_amount=24.5, extra=0.0, mta_tax=0.5, tip_amount=0.0,
        tolls_amount=7.5, ehail_fee=None, total_amount=32.5, trip_type=1,
    ),
    (Service.GREEN, "2015-03"): ride(
        "2015-03-01 00:02:05", "2015-03-01 00:08:01", vendor_id=1, passenger_count=1, trip_distance=2.1,
        **between(-73.961479187011719, 40.801872253417969, -73.980720520019531, 40.775054931640625), rate_code_id=1,
        store_and_fwd_flag="N", payment_type=1, fare_amount=8.0, extra=0.5, mta_tax=0.5, tip_amount=0.0,
        tolls_amount=0.0, ehail_fee=None, improvement_surcharge=0.3, total_amount=9.3, trip_type=1,
    ),
    (Service.GREEN, "2015-08"): ride(
        "2015-08-01 00:00:03", "2015-08-01 00:00:07", vendor_id=2, passenger_count=1, trip_distance=0.0,
        **between(-73.865013122558594, 40.826099395751953, -73.864990234375, 40.826099395751953), rate_code_id=5,
        store_and_fwd_flag="N", payment_type=1, fare_amount=7.0, extra=0.0, mta_tax=0.0, tip_amount=0.0,
        tolls_amount=0.0, ehail_fee=None, improvement_surcharge=0.0, total_amount=7.0, trip_type=2,
    ),
    (Service.GREEN, "2016-03"): ride(
        "2016-03-01 00:00:00", "2016-03-01 00:01:39", vendor_id=2, passenger_count=1, trip_distance=0.49,
        **between(-73.944755554199219, 40.819049835205078, -73.949485778808594, 40.812614440917969), rate_code_id=1,
        store_and_fwd_flag="N", payment_type=2, fare_amount=3.5, extra=0.5, mta_tax=0.5, tip_amount=0.0,
        tolls_amount=0.0, ehail_fee=None, improvement_surcharge=0.3, total_amount=4.8, trip_type=1,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("service", "month"), list(FIRST_ROWS))
def test_a_file_with_coordinates_lands_whole_with_each_value_in_its_column_and_its_zones_are_found(
    service: Service, month: str, workspace: Workspace, real_data: Path
) -> None:
    path = shutil.copy(real_data / "tlc/csv_head100" / f"{service}_tripdata_{month}.csv", workspace.landing)
    lines = [line for line in Path(path).read_bytes().split(b"\n") if line.strip()]

    result = workspace.run(service, month=Month.parse(month))

    assert result.success, workspace.failures(result)
    bronze = stored(workspace, f"tlc_bronze/{service}_trips")
    expected = FIRST_ROWS[service, month]
    assert bronze["source_row"].to_list() == list(range(1, len(lines)))
    assert bronze.select(list(expected)).row(0, named=True) == expected
    assert bronze["_rescued_data"].is_null().all()
    kept, bad = (stored(workspace, f"tlc_silver/{service}_trips{which}") for which in ("", "_quarantine"))
    assert kept.height + bad.height == bronze.height
    places = bronze.select("source_row", pl.col("^.*(longitude|latitude)$"))
    for end in ("pickup", "dropoff"):
        rows = kept.join(places, on="source_row")
        found = rows.select(f"{end}_longitude", f"{end}_latitude", f"{end}_location_id").rows()
        assert [zone for _, _, zone in found] == [zone_on_the_map(real_data, x, y) for x, y, _ in found]


def zone_on_the_map(real_data: Path, longitude: float, latitude: float) -> int | None:
    """Find a place's zone as on paper: the place put onto TLC's map, and each shape asked in turn."""
    import shapefile
    import shapely
    from pyproj import Transformer

    place = shapely.Point(*Transformer.from_crs(4326, 2263, always_xy=True).transform(longitude, latitude))
    with shapefile.Reader(str(real_data / "zones/taxi_zones.zip")) as reader:
        for index, (west, south, east, north) in enumerate(box.bbox for box in reader.iterShapes()):
            if west <= place.x <= east and south <= place.y <= north:
                found = reader.shapeRecord(index)
                if shapely.geometry.shape(found.shape.__geo_interface__).contains(place):
                    return int(found.record["LocationID"])
    return None


def stored(workspace: Workspace, key: str) -> pl.DataFrame:
    return pl.read_delta(f"{workspace.settings.lake_root}/{key}").sort("source_row")
