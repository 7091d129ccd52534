"""All that can be set from outside, in one place: environment variables with the prefix TAXI_, or a file ``.env``.

A setting that makes no sense is one UsageError, before anything is read or written.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Literal

from dagster_deltalake import AzureConfig, GcsConfig, LocalConfig, S3Config
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from taxi_assets.errors import UsageError

Storage = Annotated[LocalConfig | S3Config | AzureConfig | GcsConfig, Field(discriminator="provider")]


class Settings(BaseSettings):
    """Where files arrive, where tables stand, and what computes. Relative paths are below the current folder."""

    model_config = SettingsConfigDict(
        env_prefix="TAXI_", env_nested_delimiter="__", env_file=".env", env_file_encoding="utf-8", extra="ignore"
    )

    landing_root: str = "data/landing"
    landing_storage: Storage = LocalConfig()
    lake_root: str = "data/lake"
    lake_storage: Storage = LocalConfig()
    engine: Literal["polars"] = "polars"
    dagster_home: str = Field(default="data/dagster", validation_alias="DAGSTER_HOME")

    @classmethod
    def load(cls) -> Settings:
        """Read the settings. Raises UsageError naming each one that makes no sense."""
        try:
            settings = cls()
        except ValidationError as error:
            problems = [
                f"{_variable(problem['loc'])}: {problem['msg']} (is {problem['input']!r})" for problem in error.errors()
            ]
            raise UsageError(f"Settings make no sense. {'; '.join(problems)}.") from error
        _require_writable(settings.lake_root, "TAXI_LAKE_ROOT")
        return settings.model_copy(
            update={
                "landing_root": _absolute(settings.landing_root),
                "lake_root": _absolute(settings.lake_root),
                "dagster_home": _absolute(settings.dagster_home),
            }
        )


def object_store_options(storage: Storage) -> dict[str, str]:
    """Return a storage configuration as the options that object_store (delta-rs, obstore and Polars) takes."""
    return {name: value for name, value in storage.str_dict().items() if name != "provider"}


def _variable(location: tuple[int | str, ...]) -> str:
    name = str(location[0])
    return (
        name if name.isupper() else "__".join(["TAXI_" + name.upper(), *(str(part).upper() for part in location[1:])])
    )


def _absolute(root: str) -> str:
    return root.rstrip("/") if "://" in root else str(Path(root).expanduser().resolve())


def _require_writable(root: str, variable: str) -> None:
    if "://" in root:
        return
    folder = Path(root).expanduser().resolve()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(
            f"{variable} is {root}, which can't be written: {error.strerror}. Name a folder that can be."
        ) from error
