"""Claims about contracts: what a class says about its table, in which order its columns stand, and what is refused.

The contracts here are made up for the tests. The real ones are claimed about in tlc/.
"""

from __future__ import annotations

from typing import Annotated

import narwhals.stable.v1 as nw
import pandera.errors
import polars as pl
import pytest

from taxi_assets.contracts import (
    Bool,
    Column,
    Contract,
    Cost,
    Date,
    Decimal,
    Dtype,
    Float64,
    Int32,
    Int64,
    LocalTime,
    String,
    Strings,
    column,
    contract_of,
    rule,
)
from taxi_assets.contracts.types import dtype_of
from taxi_assets.errors import ContractError

pytestmark = pytest.mark.fast


class Delivered(Contract, table="test_bronze/parcels", replaced_by=("day",)):
    """One row per parcel as the carrier reports it."""

    parcel: Int64 = column("Number of the parcel.", required=True)
    weight: Float64 = column("Weight on the carrier's scale.", unit="kg")
    day: Date = column("Day of the report.", required=True)


class Weighed(Contract):
    """What all tables of weighed parcels have: a part, no table."""

    parcel: Int64 = column(required=True)
    weight: Annotated[Decimal, 8, 3] = column(unit="kg", required=True)
    day: Date = column(required=True)

    _heaviest = 1_000

    @rule("weight", why="A parcel weighs something.", source="Physics.", tolerance=0.25)
    def weighs_something(cls, weight: nw.Expr) -> nw.Expr:
        return weight > 0

    @rule("weight", why="No van carries more.", source="The vans.", cost=Cost.KEPT)
    def can_be_carried(cls, weight: nw.Expr) -> nw.Expr:
        return weight <= cls._heaviest


class Parcels(
    Weighed,
    table="test_silver/parcels",
    replaced_by=("day",),
    keys=("parcel",),
    publish_limit=0.5,
    upstream=Delivered,
    tolerances={"can_be_carried": 0.01},
):
    """One row per parcel.

    Weighed again by us.
    """

    _heaviest = 50

    label: String = column("What is written on it.", after="parcel")
    fragile: Bool = column("Whether it can break.", after="label")

    @rule("label", "weight", why="A label weighs, too.", source="The scale.")
    def label_is_no_essay(cls, label: nw.Expr, weight: nw.Expr) -> nw.Expr:
        return label.str.len_chars().cast(nw.Float64) < 1_000 * weight.cast(nw.Float64)


def test_a_rule_that_a_newcomer_adds_is_one_method_and_nothing_else() -> None:
    class Letters(Contract, table="test_silver/letters", replaced_by=("day",)):
        """One row per letter."""

        grams: Int32 = column("Weight.", unit="g", required=True)
        day: Date = column("Day.", required=True)

        @rule("grams", why="More is a parcel.", source="The tariff.", tolerance=0.02)
        def light_enough(cls, grams: nw.Expr) -> nw.Expr:
            return grams <= 50

    (added,) = Letters.rules()

    assert (added.name, added.columns, added.tolerance, added.quarantines) == ("light_enough", ("grams",), 0.02, True)
    assert (added.why, added.source) == ("More is a parcel.", "The tariff.")
    breaks = nw.from_native(pl.DataFrame({"grams": [50, 51, None]})).select(added.breaks.alias("breaks"))
    assert breaks.to_native()["breaks"].to_list() == [False, True, False]


def test_columns_stand_in_the_order_of_their_declaration_and_behind_the_one_that_after_names() -> None:
    assert Parcels.column_names() == ("parcel", "label", "fragile", "weight", "day")


def test_a_column_knows_its_type_description_unit_and_whether_it_is_required() -> None:
    columns = {column.name: column for column in Parcels.columns()}

    weight_on_scale = "Weight on the carrier's scale."
    assert columns["weight"] == Column(
        "weight", Dtype(nw.Decimal(8, 3), "decimal(8,3)"), weight_on_scale, unit="kg", required=True
    )
    assert columns["label"] == Column(
        "label", Dtype(nw.String(), "string"), "What is written on it.", unit="", required=False
    )


def test_a_description_of_its_own_goes_before_upstreams() -> None:
    class Repacked(Contract, table="test_silver/repacked", upstream=Delivered):
        """One row per parcel packed again."""

        weight: Float64 = column("Weight with the new box.")

    assert [column.description for column in Repacked.columns()] == ["Weight with the new box."]


def test_a_column_that_nobody_describes_is_an_error_that_names_it() -> None:
    class Undescribed(Contract, table="test_silver/undescribed", upstream=Delivered):
        """Something."""

        colour: String = column()

    with pytest.raises(ContractError, match=r"Undescribed\.colour has no description"):
        Undescribed.columns()


def test_each_type_has_one_name_for_narwhals_and_one_for_delta() -> None:
    class Everything(Contract, table="test_silver/everything"):
        """One column of each type."""

        flag: Bool = column("x")
        day: Date = column("x")
        at: LocalTime = column("x")
        share: Float64 = column("x")
        small: Int32 = column("x")
        large: Int64 = column("x")
        text: String = column("x")
        texts: Strings = column("x")
        exact: Annotated[Decimal, 18, 2] = column("x")

    assert [(column.name, column.dtype.narwhals, column.dtype.delta) for column in Everything.columns()] == [
        ("flag", nw.Boolean(), "boolean"),
        ("day", nw.Date(), "date"),
        ("at", nw.Datetime("us"), "timestamp_ntz"),
        ("share", nw.Float64(), "double"),
        ("small", nw.Int32(), "integer"),
        ("large", nw.Int64(), "long"),
        ("text", nw.String(), "string"),
        ("texts", nw.List(nw.String), "array<string>"),
        ("exact", nw.Decimal(18, 2), "decimal(18,2)"),
    ]
    assert [column.dtype.decimal for column in Everything.columns()][-2:] == [None, (18, 2)]


def test_a_type_that_writers_have_tripped_over_is_refused() -> None:
    with pytest.raises(ContractError, match="is no type of a contract"):
        dtype_of(pandera.dtypes.UInt32())


def test_inherited_rules_come_first_and_keep_their_order() -> None:
    assert [rule.name for rule in Parcels.rules()] == ["weighs_something", "can_be_carried", "label_is_no_essay"]


def test_a_contract_can_set_another_tolerance_for_a_rule_that_it_inherits() -> None:
    assert {rule.name: rule.tolerance for rule in Parcels.rules()} == {
        "weighs_something": 0.25,
        "can_be_carried": 0.01,
        "label_is_no_essay": 0.0,
    }
    assert {rule.name: rule.tolerance for rule in Weighed.rules()}["can_be_carried"] == 0.0


def test_a_constant_of_the_contract_serves_a_rule_that_it_inherits() -> None:
    weights = nw.from_native(pl.DataFrame({"weight": [50, 51]}))
    own, parents = (
        next(rule for rule in contract.rules() if rule.name == "can_be_carried") for contract in (Parcels, Weighed)
    )

    assert weights.select(own.breaks.alias("breaks")).to_native()["breaks"].to_list() == [False, True]
    assert weights.select(parents.breaks.alias("breaks")).to_native()["breaks"].to_list() == [False, False]


def test_a_rule_can_be_overridden_under_its_name() -> None:
    class Feathers(Weighed, table="test_silver/feathers", upstream=Delivered):
        """One row per feather."""

        @rule("weight", why="Feathers may weigh nothing.", source="The scale.")
        def weighs_something(cls, weight: nw.Expr) -> nw.Expr:
            return weight >= 0

    overridden = Feathers.rules()[0]
    breaks = nw.from_native(pl.DataFrame({"weight": [0]})).select(overridden.breaks.alias("breaks"))

    assert (overridden.name, overridden.why) == ("weighs_something", "Feathers may weigh nothing.")
    assert breaks.to_native()["breaks"].to_list() == [False]


def test_a_tolerance_for_a_rule_that_does_not_exist_is_an_error_that_names_it() -> None:
    class Mistyped(Weighed, table="test_silver/mistyped", tolerances={"weighs_somthing": 0.1}):
        """One row per parcel."""

    with pytest.raises(ContractError, match=r"Mistyped .*weighs_somthing"):
        Mistyped.rules()


@pytest.mark.parametrize("tolerance", [-0.01, 1.01, float("nan")])
def test_a_tolerance_that_is_no_share_is_refused(tolerance: float) -> None:
    with pytest.raises(ContractError, match="share between 0 and 1"):
        rule("weight", why="x", source="x", tolerance=tolerance)


@pytest.mark.parametrize("tolerance", [0.0, 1.0])
def test_a_tolerance_may_be_nothing_and_all(tolerance: float) -> None:
    class Tolerant(Contract, table="test_silver/tolerant"):
        """Anything."""

        weight: Int32 = column("x")

        @rule("weight", why="x", source="x", tolerance=tolerance)
        def weighs(cls, weight: nw.Expr) -> nw.Expr:
            return weight > 0

    assert Tolerant.rules()[0].tolerance == tolerance


def test_a_part_of_contracts_has_no_table() -> None:
    with pytest.raises(ContractError, match=r"Weighed is no table's contract.*table='<catalog>_<layer>/<name>'"):
        Weighed.stored_as()


def test_a_subclass_of_a_tables_contract_is_not_that_table() -> None:
    class Variant(Parcels):
        """Parcels, varied."""

    assert contract_of("test_silver/parcels") is Parcels
    with pytest.raises(ContractError, match="Variant is no table's contract"):
        Variant.stored_as()


def test_a_table_is_found_by_its_key_and_named_for_paths_and_for_sql() -> None:
    stored_as = contract_of("test_silver/parcels").stored_as()

    assert stored_as.path == ("test_silver", "parcels")
    assert stored_as.sql_name == "test_silver.parcels"
    assert (stored_as.replaced_by, stored_as.keys, stored_as.publish_limit) == (("day",), ("parcel",), 0.5)


def test_an_unknown_table_is_an_error_that_names_it() -> None:
    with pytest.raises(ContractError, match="No contract says what test_silver/unheard_of holds"):
        contract_of("test_silver/unheard_of")


def test_the_docstring_is_the_tables_description() -> None:
    assert Parcels.story() == "One row per parcel.\n\nWeighed again by us."


# --- Pandera's own validate works on a contract, decimals and lists included


class Packed(Contract, table="test_silver/packed"):
    """One row per box."""

    weight: Annotated[Decimal, 8, 3] = column("Weight.", required=True)
    marks: Strings = column("What is written on it.")
    at: LocalTime = column("When.")

    @rule("weight", why="A box weighs something.", source="Physics.")
    def weighs_something(cls, weight: nw.Expr) -> nw.Expr:
        return weight > 0

    @rule("weight", why="Heavy boxes are worth a look.", source="The porters.", cost=Cost.KEPT)
    def liftable(cls, weight: nw.Expr) -> nw.Expr:
        return weight < 50


PACKED = {"weight": pl.Decimal(8, 3), "marks": pl.List(pl.String), "at": pl.Datetime("us")}


def packed(*weights: str | None) -> pl.DataFrame:
    return pl.DataFrame({"weight": weights}).select(
        pl.col("weight").cast(pl.Decimal(8, 3)),
        pl.lit(["fragile"]).cast(pl.List(pl.String)).alias("marks"),
        pl.lit(None).cast(pl.Datetime("us")).alias("at"),
    )


def test_pandera_accepts_a_frame_that_keeps_the_contract() -> None:
    frame = packed("1.500", "2.000")

    assert Packed.validate(frame).equals(frame)
    assert Packed.validate(frame.lazy()).collect().equals(frame)


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        (packed("0.000"), "weighs_something"),
        (packed(None), "weight"),
        (packed("1.000").with_columns(pl.col("weight").cast(pl.Decimal(10, 3))), "weight"),
        (packed("1.000").with_columns(pl.lit([1]).alias("marks")), "marks"),
        (packed("1.000").with_columns(pl.lit(1).alias("more")), "more"),
        (packed("1.000").drop("at"), "at"),
    ],
    ids=["a broken rule", "a null", "other digits", "a list of numbers", "an extra column", "a missing column"],
)
@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_pandera_refuses_a_frame_that_departs_from_the_contract(
    frame: pl.DataFrame, complaint: str, *, lazy: bool
) -> None:
    with pytest.raises((pandera.errors.SchemaError, pandera.errors.SchemaErrors), match=complaint):
        Packed.validate(frame.lazy() if lazy else frame)


def test_pandera_only_warns_of_a_rule_that_does_not_quarantine() -> None:
    frame = packed("60.000")

    with pytest.warns(pandera.errors.SchemaWarning, match="liftable"):
        assert Packed.validate(frame).equals(frame)
