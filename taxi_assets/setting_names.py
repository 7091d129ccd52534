"""What settings are called in the environment, and what is said of one that makes no sense: its name, in plain words.

Which settings there are is settings.py's to say: here they are a Pydantic model like any other.
"""

from __future__ import annotations

import difflib
import json
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

PREFIX: Final = "TAXI_"
_BETWEEN: Final = "__"
# Variables of the tests, and of the compose file, which no command of ours reads.
_OF_OTHERS: Final = {"TAXI_REAL_DATA", "TAXI_REQUIRE", "TAXI_SCREENSHOTS", "TAXI_LANDING", "TAXI_LAKE", "TAXI_ENV_FILE"}
_JSON_OBJECT: Final = 'must be JSON of names and values, as {"name": "value"}'
_WORDS: Final = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": _JSON_OBJECT,
    "float_parsing": "must be a number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "missing": "is needed",
    "model_attributes_type": _JSON_OBJECT,
    "model_type": _JSON_OBJECT,
    "path_not_directory": "there is no such folder",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "union_tag_not_found": "its provider is needed",
}


def problem_in_words(problem: Mapping[str, Any], model: type[BaseModel]) -> str:
    """Return what is wrong with a setting, from one of Pydantic's errors, without Pydantic's words."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    if kind == "extra_forbidden":
        return f"is no setting{_or_is_it(variable(problem['loc']), names_of(model))}"
    if kind == "literal_error":
        return f"must be {context['expected']}"
    if kind == "union_tag_invalid":
        return f"its provider must be one of {context['expected_tags']}, and not '{context['tag']}'"
    if kind == "string_type":
        return "is needed" if problem["input"] is None else "must be a text"
    return _WORDS.get(kind) or str(problem["msg"]).replace("Input should be", "must be")


def variable(location: tuple[int | str, ...]) -> str:
    """Return the name of the variable that sets what stands at a place of the model."""
    name, *parts = (str(part) for part in location)
    # Where the provider is known, pydantic puts it between a storage's name and the field's.
    fields = [part.upper() for part in parts if part not in {"local", "s3", "azure", "gcs"}]
    return name if name.isupper() else _BETWEEN.join([f"{PREFIX}{name.upper()}", *fields])


def unknown_names(given: Iterable[str], model: type[BaseModel]) -> list[str]:
    """Say of each variable that looks like a setting, and sets none, that it has no effect."""
    # Beyond a setting's own name its values are the model's to judge.
    known = {_own_name(name, field): field.annotation for name, field in model.model_fields.items()}
    unknown = [
        name
        for name in map(str.upper, given)
        if name.startswith(PREFIX)
        and name not in known.keys() | _OF_OTHERS
        and not any(name.startswith(f"{group}{_BETWEEN}") and _has_parts(known[group]) for group in known)
    ]
    return [f"{name} is no setting, and has no effect{_or_is_it(name, names_of(model))}." for name in unknown]


def not_json(name: str, given: Mapping[str, str]) -> str:
    """Return which variable of a setting, called as in the model, holds what isn't JSON and must be."""
    whole = f"{PREFIX}{name.upper()}"
    of_setting = {key.upper(): value for key, value in given.items() if key.upper().startswith(whole)}
    wrong = [key for key, value in of_setting.items() if value.lstrip()[:1] in {"{", "["} and not _is_json(value)]
    return next(iter(sorted(wrong)), whole)


def near(name: str, known: Iterable[str]) -> str:
    """Return the known name that another is most like; nothing if it is like none."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.8)), "")


def names_of(model: type[BaseModel]) -> list[str]:
    """List the variables that a model is set by, but for those of names that a user gives."""
    names = []
    for name, field in model.model_fields.items():
        own = _own_name(name, field)
        names += [own, *(f"{own}{_BETWEEN}{part}" for part in _parts(field.annotation))]
    return names


def _own_name(name: str, field: FieldInfo) -> str:
    return field.validation_alias if isinstance(field.validation_alias, str) else f"{PREFIX}{name.upper()}"


def _parts(annotation: Any) -> list[str]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [name.upper() for name in annotation.model_fields]
    return sorted({part for one in typing.get_args(annotation) for part in _parts(one)})


def _has_parts(annotation: Any) -> bool:
    return bool(_parts(annotation))


def _or_is_it(name: str, known: Iterable[str]) -> str:
    found = near(name, known)
    return f" (is it {found}?)" if found else ""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
