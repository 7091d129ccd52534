"""All that can be set from outside, in one place: environment variables with the prefix TAXI_, or a file ``.env``.

A setting that makes no sense is one UsageError, before any file or table is touched; a variable that looks like one and
sets nothing is an UnknownSettingWarning. The lake's folder is made if need be.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from dagster import Config
from dagster_deltalake import AzureConfig, GcsConfig, LocalConfig, S3Config
from dotenv import dotenv_values
from pydantic import BaseModel, ConfigDict, DirectoryPath, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from taxi_assets.errors import UnknownSettingWarning, UsageError
from taxi_assets.setting_names import PREFIX, near, not_json, problem_in_words, unknown_names, variable

_FILE: Final = ".env"
_PROVIDERS: Final[Mapping[str, type[Config]]] = {
    "local": LocalConfig,
    "s3": S3Config,
    "azure": AzureConfig,
    "gcs": GcsConfig,
}
Storage = Annotated[LocalConfig | S3Config | AzureConfig | GcsConfig, Field(discriminator="provider")]


DAY_IN_SECONDS: Final = 24 * 60 * 60
LEAST_RETENTION_HOURS: Final = 24
"""How long a run or a query may take: a month of the largest service takes minutes, on Spark perhaps an hour."""

_HOST: Final = re.compile(r"([\w.-]+|\[[\da-f:]+\])(:\d+)?", re.ASCII | re.IGNORECASE)


class SparkSettings(BaseModel):
    """Which Spark computes, where `engine` is spark: ``TAXI_SPARK__MASTER`` and so on.

    `conf` is JSON of any settings of Spark's, as ``{"spark.executor.memory": "4g"}``; `jars` a folder of Delta's jars.
    """

    model_config = ConfigDict(extra="forbid")

    master: str = Field(default="local[*]", min_length=1)
    conf: dict[str, str] = Field(default={}, repr=False)
    jars: DirectoryPath | None = None

    @field_validator("master")
    @classmethod
    def _is_no_connect_server(cls, master: str) -> str:
        # Its client has no JVM to ask, and takes packages of its own.
        if master.startswith("sc://"):
            raise ValueError("Spark Connect isn't supported; name a master: local[*], spark://, yarn or k8s://")
        return master

    @field_validator("conf", mode="before")
    @classmethod
    def _as_text(cls, conf: Any) -> Any:
        """Take numbers and booleans as they stand in JSON, and nothing that isn't a setting of Spark's."""
        if not isinstance(conf, dict):
            return conf
        strange = [name for name in conf if not name.startswith("spark.")]
        if strange:
            raise ValueError(f"{', '.join(strange)} is no setting of Spark's; their names begin with 'spark.'")
        return {name: value if isinstance(value, str) else json.dumps(value) for name, value in conf.items()}


class FetchSettings(BaseModel):
    """Where TLC's files are fetched from, how patiently, and how large they may be: ``TAXI_FETCH__ADDRESS`` and so on.

    The largest Parquet file that TLC has published has 0.5 GB; in an hour it takes 140 kB a second.
    """

    model_config = ConfigDict(extra="forbid")

    address: str = "https://d37ci6vzurychx.cloudfront.net"
    timeout: float = Field(default=30, gt=0, le=3600)
    attempts: int = Field(default=5, ge=1, le=20)
    time_limit: float = Field(default=3600, gt=0, le=24 * 3600)
    largest_mb: int = Field(default=2000, ge=1, le=1_000_000)

    @field_validator("address")
    @classmethod
    def _is_of_the_web(cls, address: str) -> str:
        return _web_address(address, "; what a server asks for goes into ~/.netrc")


class RouteSettings(BaseModel):
    """One way that alerts take: ``TAXI_ALERTS__ROUTES__ONCALL__URL`` and so on, where ONCALL is any name.

    `url` is one of Apprise's, and a secret. `groups` are asset groups with commas between them; all, if empty.
    """

    model_config = ConfigDict(extra="forbid")

    url: SecretStr = Field(min_length=1)
    severity: Literal["warning", "error"] = "warning"
    groups: str = ""


class AlertSettings(BaseModel):
    """Who is told what, and where the UI stands that alerts link to."""

    model_config = ConfigDict(extra="forbid")

    routes: dict[str, RouteSettings] = Field(default={}, repr=False)
    ui: str = "http://127.0.0.1:3000"

    @field_validator("ui")
    @classmethod
    def _is_of_the_web(cls, address: str) -> str:
        return _web_address(address)


class MaintenanceSettings(BaseModel):
    """How long replaced files are kept, and which files are small: ``TAXI_MAINTENANCE__RETENTION_HOURS`` and so on."""

    model_config = ConfigDict(extra="forbid")

    retention_hours: int = Field(default=168, le=24 * 365)
    small_file_mb: int = Field(default=64, ge=1, le=1024)

    @field_validator("retention_hours")
    @classmethod
    def _outlasts_readers(cls, hours: int) -> int:
        if hours < LEAST_RETENTION_HOURS:
            raise ValueError(
                f"files that were replaced are kept for at least {LEAST_RETENTION_HOURS} hours, as a query or a run "
                "that began before may still need them"
            )
        return hours


class UiSettings(BaseModel):
    """Under which names the UI is served, besides this machine's: ``TAXI_UI__HOSTS``.

    `hosts` are names with commas between them, each as a browser shows it: with its port, if it shows one.
    """

    model_config = ConfigDict(extra="forbid")

    hosts: str = ""

    @field_validator("hosts")
    @classmethod
    def _are_names(cls, hosts: str) -> str:
        if hosts and not all(_HOST.fullmatch(name.strip()) for name in hosts.split(",")):
            raise ValueError("hosts are names with commas between them, as in lake.example.org,server:8080")
        return hosts

    @property
    def names(self) -> frozenset[str]:
        """The hosts, as browsers write them."""
        return frozenset(name.strip().lower() for name in self.hosts.split(",") if self.hosts)


class Settings(BaseSettings):
    """Where files arrive, where tables stand, and what computes. Relative paths are below the current folder.

    A file that looks cut off is refused until it has stood still for `settle_seconds`: see docs/adr/0014.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", env_file=_FILE, env_file_encoding="utf-8", extra="ignore"
    )

    landing_root: str = Field(default="data/landing", min_length=1)
    landing_storage: Storage = Field(default=LocalConfig(), repr=False)
    settle_seconds: int = Field(default=DAY_IN_SECONDS, ge=0, le=365 * DAY_IN_SECONDS)
    lake_root: str = Field(default="data/lake", min_length=1)
    lake_storage: Storage = Field(default=LocalConfig(), repr=False)
    engine: Literal["polars", "spark"] = "polars"
    spark: SparkSettings = Field(default_factory=SparkSettings)
    fetch: FetchSettings = Field(default_factory=FetchSettings)
    alerts: AlertSettings = Field(default_factory=AlertSettings)
    maintenance: MaintenanceSettings = Field(default_factory=MaintenanceSettings)
    ui: UiSettings = Field(default_factory=UiSettings)
    dagster_home: str = Field(default="data/dagster", min_length=1, validation_alias="DAGSTER_HOME")

    @field_validator("landing_storage", "lake_storage", mode="before")
    @classmethod
    def _has_no_other_fields(cls, storage: Any) -> Any:
        """Take no field that the provider lacks: dagster-deltalake would pass it over in silence."""
        if isinstance(storage, dict) and storage.get("provider") in _PROVIDERS:
            fields = [name for name in _PROVIDERS[storage["provider"]].model_fields if name != "provider"]
            strange = [str(name) for name in storage if name not in {"provider", *fields}]
            for name in strange:
                meant = near(name, fields)
                raise ValueError(
                    f"the provider {storage['provider']} has no {name.upper()}"
                    f"{f' (is it {meant.upper()}?)' if meant else ''}"
                )
        return storage

    @classmethod
    def load(cls, *, to_read: bool = False) -> Settings:
        """Read the settings. Raises UsageError naming each one that makes no sense.

        That includes a lake that can't be written, or, for who only wants `to_read` it, one that isn't there.
        """
        settings = cls.as_set()
        _require_provider(settings.landing_root, settings.landing_storage, "TAXI_LANDING")
        _require_provider(settings.lake_root, settings.lake_storage, "TAXI_LAKE")
        (_require_there if to_read else _require_writable)(settings.lake_root, "TAXI_LAKE_ROOT")
        return settings.model_copy(
            update={
                "landing_root": _absolute(settings.landing_root),
                "lake_root": _absolute(settings.lake_root),
                "dagster_home": _absolute(settings.dagster_home),
            }
        )

    @classmethod
    def as_set(cls) -> Settings:
        """Read the settings for who needs neither landing nor lake. Raises UsageError like `load`."""
        try:
            given = {**_in_file(), **os.environ}
            settings = cls()
        except SettingsError as error:
            # It names the setting, and shows nothing of what is in it.
            named = re.search(r'field "(\w+)"', str(error))
            name = not_json(named[1], given) if named else str(error)
            raise UsageError(f"Invalid settings: {name}: must be JSON.") from None
        except ValidationError as error:
            problems = [
                f"{variable(problem['loc'])}: {problem_in_words(problem, cls)}"
                f"{_shown(problem['loc'], problem['input'])}"
                for problem in error.errors()
            ]
            raise UsageError(f"Invalid settings: {'; '.join(problems)}.") from None
        # Who started this process has been told.
        for says in unknown_names(given, cls) if multiprocessing.parent_process() is None else ():
            warnings.warn(says, UnknownSettingWarning, stacklevel=2)
        return settings


def object_store_options(storage: Storage) -> dict[str, str]:
    """Return a storage configuration as the options that object_store (delta-rs, obstore and Polars) takes."""
    options = {name: value for name, value in storage.str_dict().items() if name != "provider"}
    # Who names an endpoint without TLS means it; object_store wants to be told twice.
    return {**options, "allow_http": "true"} if options.get("endpoint", "").startswith("http://") else options


def _in_file() -> Mapping[str, str]:
    """Return the variables of the file. Raises UsageError if it can't be read."""
    try:
        return {name: value or "" for name, value in dotenv_values(_FILE, encoding="utf-8").items()}
    except (OSError, UnicodeDecodeError) as error:
        why = "it isn't text in UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise UsageError(f"The settings in {Path(_FILE).resolve()} can't be read: {why}.") from None


def _shown(location: tuple[int | str, ...], value: object) -> str:
    # What is wrong within the configuration of a storage, of Spark or of alerts, or in an address, may be a secret.
    secretive = str(location[0]).endswith("_storage") or location[0] == "alerts"
    return "" if secretive or location[:2] in {("spark", "conf"), ("fetch", "address")} else f" (is {value!r})"


def _web_address(address: str, instead: str = "") -> str:
    parts = urlsplit(address)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("an address begins with https:// or http:// and a host")
    # Both may hold a secret, and the address is shown in messages.
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError(f"an address has no user, password or '?'{instead}")
    return address.rstrip("/")


def _absolute(root: str) -> str:
    return root.rstrip("/") if "://" in root else str(Path(root).expanduser().resolve())


def _require_provider(root: str, storage: Storage, variable: str) -> None:
    scheme = root.partition("://")[0] if "://" in root else "a folder"
    providers = {
        "a folder": "local",
        "s3": "s3",
        "s3a": "s3",
        "az": "azure",
        "abfs": "azure",
        "abfss": "azure",
        "gs": "gcs",
    }
    needed = providers.get(scheme)
    if needed is None:
        raise UsageError(
            f"{variable}_ROOT is {root}; there is no {scheme}://. Name a folder, or s3://, az:// or gs://."
        )
    if storage.provider != needed:
        raise UsageError(
            f"{variable}_ROOT is {root}; with it {variable}_STORAGE__PROVIDER must be {needed}, not {storage.provider}."
        )


def _require_there(root: str, variable: str) -> None:
    if "://" not in root and not Path(root).expanduser().is_dir():
        raise UsageError(
            f"There is no lake at {Path(root).expanduser().resolve()}. Materialize a month, or set {variable}."
        )


def _require_writable(root: str, variable: str) -> None:
    if "://" in root:
        return
    folder = Path(root).expanduser().resolve()
    if "%" in str(folder):
        raise UsageError(
            f"{variable} is {root}; a path with a % can't hold Delta tables (delta-rs). Name another folder."
        )
    try:
        # It is made when its first table is: whoever only looks, or is in the wrong folder, leaves nothing behind.
        there = next(place for place in (folder, *folder.parents) if place.exists())
        with TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise UsageError(
            f"{variable} is {root}, which can't be written: {error.strerror}. Name a folder that can be."
        ) from error


if __name__ == "__main__":
    # Before something is started that would show a stack.
    warnings.formatwarning = lambda message, *_, **__: f"{message}\n"
    try:
        Settings.load()
    except UsageError as error:
        sys.exit(str(error))
