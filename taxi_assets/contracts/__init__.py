"""What a table must look like and which rows may stand in it: contracts, their rules, and how both are enforced.

Nothing here knows a table or a file. Pandera reads two of its switches from the environment when it is first
imported, so they are set here, before any module of this folder imports it.
"""

import os

os.environ["PANDERA_USE_NARWHALS_BACKEND"] = "True"
os.environ["PANDERA_VALIDATION_DEPTH"] = "SCHEMA_AND_DATA"

from taxi_assets.contracts.contract import (
    Column,
    Contract,
    Cost,
    Rule,
    Table,
    column,
    contract_of,
    quarantine_of,
    rule,
)
from taxi_assets.contracts.judge import RuleResult, Verdict, judge
from taxi_assets.contracts.types import (
    Bool,
    Date,
    Decimal,
    Dtype,
    Float64,
    Frame,
    Int32,
    Int64,
    LocalTime,
    String,
    Strings,
)
from taxi_assets.contracts.validate import duplicated_keys, orphaned_keys, validate

__all__ = [
    "Bool",
    "Column",
    "Contract",
    "Cost",
    "Date",
    "Decimal",
    "Dtype",
    "Float64",
    "Frame",
    "Int32",
    "Int64",
    "LocalTime",
    "Rule",
    "RuleResult",
    "String",
    "Strings",
    "Table",
    "Verdict",
    "column",
    "contract_of",
    "duplicated_keys",
    "judge",
    "orphaned_keys",
    "quarantine_of",
    "rule",
    "validate",
]
