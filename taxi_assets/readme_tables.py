"""The catalogue of tables and rules, as Markdown from the contracts: what stands between the markers in the README.

``python -m taxi_assets.readme_tables README.md`` writes it anew; a test holds the README to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from taxi_assets.catalogs import contracts
from taxi_assets.contracts import Contract, Rule

BEGIN: Final = "<!-- catalogue: written by python -m taxi_assets.readme_tables -->"
END: Final = "<!-- end of catalogue -->"


def render() -> str:
    """Write the catalogue."""
    return "\n".join([BEGIN, "", *_tables(), "", *_rules(), "", END])


def written_into(readme: str) -> str:
    """Put the catalogue between the markers of a text."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{render()}{after}"


def _tables() -> Iterator[str]:
    yield "| table | one row is | replaced by | columns |"
    yield "|---|---|---|---|"
    for contract in contracts():
        table = contract.stored_as()
        period = table.calendar.kind.word if table.calendar else "partition"
        replaced = f"one {period} at a time" if table.replaced_by else f"upsert by {', '.join(table.keys)}"
        yield f"| `{table.sql_name}` | {' '.join(contract.story().split())} | {replaced} | {len(contract.columns())} |"


def _rules() -> Iterator[str]:
    yield "| rule | holds when | broken rows are | tolerance | why | source |"
    yield "|---|---|---|---|---|---|"
    owners = [contract for contract in contracts() if contract.rules()]
    names = list(dict.fromkeys(rule.name for contract in owners for rule in contract.rules()))
    for name in names:
        found = {contract: rule for contract in owners for rule in contract.rules() if rule.name == name}
        # A table may have a rule of its own under a name that others have, too.
        alike: dict[tuple[object, ...], dict[type[Contract], Rule]] = {}
        for contract, rule in found.items():
            alike.setdefault((rule.says, rule.cost, rule.why, rule.source), {})[contract] = rule
        for (says, cost, why, source), group in alike.items():
            tables = ", ".join(contract.stored_as().path[1] for contract in group)
            named = f"`{name}`" if len(group) == len(owners) else f"`{name}` ({tables})"
            yield f"| {named} | {says} | {cost} | {_tolerances(group)} | {why} | {source} |"


def _tolerances(found: dict[type[Contract], Rule]) -> str:
    tolerances = {contract.stored_as().path[1]: f"{rule.tolerance:.2%}" for contract, rule in found.items()}
    if len(set(tolerances.values())) == 1:
        return next(iter(tolerances.values()))
    return ", ".join(f"{share} ({table})" for table, share in tolerances.items())


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(written_into(path.read_text(encoding="utf-8")), encoding="utf-8")
