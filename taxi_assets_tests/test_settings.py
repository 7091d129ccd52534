"""Settings: read from the environment, made absolute, one line about each that makes no sense. Secrets stay secret."""

from __future__ import annotations

import json
import warnings
from datetime import timedelta
from pathlib import Path

import pytest

from taxi_assets.alerts.routes import alerts_of
from taxi_assets.errors import UnknownSettingWarning, UsageError
from taxi_assets.lake.maintenance import MaintenancePolicy
from taxi_assets.places import lake_of, landing_of, maintenance_of
from taxi_assets.settings import Settings, object_store_options
from taxi_assets.tlc.bronze.zones import Zones

pytestmark = pytest.mark.fast

SECRET = "wJalrXUtnFEMI"


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that sets nothing but the current folder."""
    for name in ("TAXI_LANDING_ROOT", "TAXI_LAKE_ROOT", "DAGSTER_HOME", "TAXI_ENGINE", "TAXI_SPARK__MASTER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return monkeypatch


PYDANTICS_WORDS = ("Input", "Value error", "field", "tag", "dictionary", "instance", "parse", "permitted", "Source")


def complaint() -> str:
    with pytest.raises(UsageError) as caught:
        Settings.load()
    assert "\n" not in str(caught.value)
    assert [word for word in PYDANTICS_WORDS if word in str(caught.value)] == []
    return str(caught.value)


def warned_of() -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Settings.load()
    return [str(one.message) for one in caught if issubclass(one.category, UnknownSettingWarning)]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("TAXI_LANDING_ROT", "TAXI_LANDING_ROOT"),
        ("taxi_lake_rot", "TAXI_LAKE_ROOT"),
        ("TAXI_LAKE_STORAGE_PROVIDER", "TAXI_LAKE_STORAGE__PROVIDER"),
        ("TAXI_LANDING_STORAG__REGION", "TAXI_LANDING_STORAGE__REGION"),
        ("TAXI_FETCHING__TIMEOUT", "TAXI_FETCH__TIMEOUT"),
        ("TAXI_DAGSTER_HOME", "DAGSTER_HOME"),
    ],
)
def test_a_variable_that_sets_nothing_is_named_with_the_one_that_is_meant(
    environment: pytest.MonkeyPatch, tmp_path: Path, name: str, meant: str
) -> None:
    says = f"{name.upper()} is no setting, and has no effect (is it {meant}?)."
    environment.setenv(name, "s3://elsewhere")
    assert warned_of() == [says]
    environment.delenv(name)
    (tmp_path / ".env").write_text(f"{name}=s3://elsewhere\n")
    assert warned_of() == [says]


def test_a_variable_that_is_like_no_setting_is_named_too_and_keeps_nothing_from_running(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("TAXI_FOO", "1")
    environment.setenv("TAXI_ENGINE__X", "1")
    assert warned_of() == [
        "TAXI_FOO is no setting, and has no effect.",
        "TAXI_ENGINE__X is no setting, and has no effect (is it TAXI_ENGINE?).",
    ]


def test_variables_of_settings_tests_and_containers_are_named_by_nobody(environment: pytest.MonkeyPatch) -> None:
    for name in ("TAXI_REAL_DATA", "TAXI_REQUIRE", "TAXI_SCREENSHOTS", "TAXI_LANDING", "TAXI_LAKE", "TAXIS", "TAXI"):
        environment.setenv(name, "a")
    environment.setenv("TAXI_FETCH", '{"timeout": 3}')
    environment.setenv("taxi_fetch__attempts", "3")
    environment.setenv("TAXI_SPARK__CONF", '{"spark.a": "b"}')
    environment.setenv("TAXI_ALERTS__ROUTES__ANY_NAME__URL", "json://there")
    environment.setenv("TAXI_LAKE_ROOT", "lake")
    assert warned_of() == []
    assert Settings.load().fetch.attempts == 3


def test_a_field_that_a_storages_provider_lacks_is_named_with_the_one_that_is_meant(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("TAXI_LAKE_STORAGE__PROVIDER", "s3")
    environment.setenv("TAXI_LAKE_STORAGE__REGIO", SECRET)
    assert complaint() == "Invalid settings: TAXI_LAKE_STORAGE: the provider s3 has no REGIO (is it REGION?)."
    environment.setenv("TAXI_LAKE_STORAGE__PROVIDER", "local")
    assert complaint() == "Invalid settings: TAXI_LAKE_STORAGE: the provider local has no REGIO."


def test_a_file_of_settings_that_isnt_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"TAXI_ENGINE=\xff\n")
    assert complaint() == f"The settings in {tmp_path / '.env'} can't be read: it isn't text in UTF-8."


def test_without_any_setting_everything_stands_below_the_current_folder(tmp_path: Path) -> None:
    settings = Settings.load()
    assert settings.landing_root == str(tmp_path / "data/landing")
    assert settings.lake_root == str(tmp_path / "data/lake")
    assert settings.dagster_home == str(tmp_path / "data/dagster")
    assert settings.engine == "polars"


def test_relative_roots_are_made_absolute(tmp_path: Path, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_LAKE_ROOT", "here/../lake/")
    environment.setenv("TAXI_LANDING_ROOT", "~/trips")
    environment.setenv("HOME", str(tmp_path / "home"))
    settings = Settings.load()
    assert settings.lake_root == str(tmp_path / "lake")
    assert settings.landing_root == str(tmp_path / "home/trips")


def test_a_url_stays_as_it_is_but_for_a_slash_at_its_end(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_LAKE_ROOT", "s3://bucket/lake/")
    environment.setenv("TAXI_LAKE_STORAGE__PROVIDER", "s3")
    assert Settings.load().lake_root == "s3://bucket/lake"


@pytest.mark.parametrize(
    ("root", "problem"), [("s3://bucket/lake", "TAXI_LAKE_STORAGE__PROVIDER must be s3"), ("s4://bucket", "no s4://")]
)
def test_a_url_that_the_storage_doesnt_fit_is_told(environment: pytest.MonkeyPatch, root: str, problem: str) -> None:
    environment.setenv("TAXI_LAKE_ROOT", root)
    with pytest.raises(UsageError, match=problem):
        Settings.load()


def test_settings_stand_in_a_dotenv_file_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TAXI_LANDING_ROOT=elsewhere\nOTHER=1\n")
    assert Settings.load().landing_root == str(tmp_path / "elsewhere")


def test_an_unknown_engine_is_one_line_that_names_the_variable_and_the_engines(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_ENGINE", "duck")
    message = complaint()
    assert "TAXI_ENGINE" in message
    assert "'polars'" in message
    assert "'duck'" in message


@pytest.mark.parametrize("root", ["a_file", "a_file/lake", "/proc/lake"])
def test_a_lake_root_that_cant_be_written_is_one_line_that_names_it(
    tmp_path: Path, environment: pytest.MonkeyPatch, root: str
) -> None:
    (tmp_path / "a_file").write_text("in the way")
    environment.setenv("TAXI_LAKE_ROOT", root)
    message = complaint()
    assert message.startswith(f"TAXI_LAKE_ROOT is {root}, which can't be written: ")
    assert message.endswith("Name a folder that can be.")


def test_trying_whether_a_lake_can_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    Settings.load()
    assert list(tmp_path.iterdir()) == []


def test_an_s3_configuration_reaches_lake_and_landing_as_object_stores_options(environment: pytest.MonkeyPatch) -> None:
    for place in ("LAKE", "LANDING"):
        environment.setenv(f"TAXI_{place}_ROOT", "s3://bucket/here")
        environment.setenv(
            f"TAXI_{place}_STORAGE",
            json.dumps({"provider": "s3", "access_key_id": "AKIA", "secret_access_key": SECRET, "region": "us-east-1"}),
        )
    settings = Settings.load()
    expected = {"access_key_id": "AKIA", "secret_access_key": SECRET, "region": "us-east-1"}
    for options in (lake_of(settings).storage_options, landing_of(settings).storage_options):
        assert expected.items() <= options.items()
        assert "provider" not in options
        assert all(isinstance(value, str) for value in options.values())


AZURE = {"provider": "azure", "account_name": "taxis", "client_id": "me", "client_secret": SECRET, "tenant_id": "us"}
S3 = {"provider": "s3", "region": "eu-north-1", "access_key_id": "AK", "secret_access_key": SECRET}
EACH_STORE = {
    "s3": ("s3://bucket/here", S3),
    "azure": ("az://bucket/here", AZURE),
    "azure in Hadoop's words": ("abfss://bucket@taxis.dfs.core.windows.net/here", AZURE),
    "azure by key": ("az://bucket/here", {"provider": "azure", "account_name": "taxis", "account_key": "d2p1Zw=="}),
    "gcs": ("gs://bucket/here", {"provider": "gcs", "application_credentials": "credentials.json"}),
}


@pytest.mark.parametrize("store", EACH_STORE)
def test_a_storage_configuration_reaches_the_clients_of_landing_and_lake(
    environment: pytest.MonkeyPatch, store: str
) -> None:
    root, fields = EACH_STORE[store]
    who = {"type": "authorized_user", "client_id": "me", "client_secret": SECRET, "refresh_token": "x"}
    Path("credentials.json").write_text(json.dumps(who))
    for place in ("LAKE", "LANDING"):
        environment.setenv(f"TAXI_{place}_ROOT", root)
        for name, value in fields.items():
            environment.setenv(f"TAXI_{place}_STORAGE__{name.upper()}", value)
    settings = Settings.load()
    given = {name: value for name, value in fields.items() if name != "provider"}
    assert given.items() <= lake_of(settings).location(Zones).storage_options.items()
    opened = landing_of(settings).store
    known = {str(name).lower(): value for name, value in opened.config.items()}  # type: ignore[union-attr]
    assert {name: known.get(name) for name in given} == given
    assert opened.prefix == "here"  # type: ignore[union-attr]


def test_an_endpoint_without_tls_is_taken_as_meant_and_no_other(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_LANDING_ROOT", "s3://bucket/landing")
    environment.setenv("TAXI_LANDING_STORAGE__PROVIDER", "s3")
    for endpoint, allowed in (("http://127.0.0.1:9000", {"allow_http": "true"}), ("https://127.0.0.1:9000", {})):
        environment.setenv("TAXI_LANDING_STORAGE__ENDPOINT", endpoint)
        landing = landing_of(Settings.load())
        assert {name: value for name, value in landing.storage_options.items() if name == "allow_http"} == allowed
        assert landing.store.client_options == allowed or not allowed  # type: ignore[union-attr]


@pytest.mark.parametrize("field", ["BUCKET", "ALLOW_UNSAFE_RENAME"])
def test_a_field_that_obstore_doesnt_take_keeps_no_landing_from_being_opened(
    environment: pytest.MonkeyPatch, field: str
) -> None:
    environment.setenv("TAXI_LANDING_ROOT", "s3://bucket/landing")
    environment.setenv("TAXI_LANDING_STORAGE__PROVIDER", "s3")
    environment.setenv(f"TAXI_LANDING_STORAGE__{field}", {"BUCKET": "bucket"}.get(field, "true"))
    assert landing_of(Settings.load()).store.prefix == "landing"  # type: ignore[union-attr]


def test_single_storage_options_can_be_set_one_variable_each(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_LAKE_ROOT", "s3://bucket/lake")
    environment.setenv("TAXI_LAKE_STORAGE__PROVIDER", "s3")
    environment.setenv("TAXI_LAKE_STORAGE__ENDPOINT", "http://minio:9000")
    assert object_store_options(Settings.load().lake_storage)["endpoint"] == "http://minio:9000"


def test_a_local_lake_needs_no_storage_options() -> None:
    assert object_store_options(Settings.load().lake_storage) == {}


def test_an_unknown_storage_provider_is_one_line_that_names_the_known_ones(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_LAKE_STORAGE__PROVIDER", "s4")
    message = complaint()
    assert "TAXI_LAKE_STORAGE" in message
    assert all(provider in message for provider in ("'local'", "'s3'", "'azure'", "'gcs'"))


def test_a_storage_option_of_a_wrong_type_is_named_as_its_variable_is(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_LAKE_STORAGE", json.dumps({"provider": "s3", "allow_unsafe_rename": "perhaps"}))
    assert "TAXI_LAKE_STORAGE__ALLOW_UNSAFE_RENAME: " in complaint()


@pytest.mark.parametrize(
    "storage",
    [
        json.dumps({"provider": "s3", "secret_access_key": SECRET})[:-1],
        json.dumps({"provider": "s4", "secret_access_key": SECRET}),
        json.dumps({"secret_access_key": SECRET}),
        json.dumps({"provider": "s3", "secret_access_key": [SECRET]}),
    ],
    ids=["malformed", "unknown provider", "no provider", "wrong type"],
)
def test_no_error_about_settings_shows_a_secret(environment: pytest.MonkeyPatch, storage: str) -> None:
    environment.setenv("TAXI_LAKE_STORAGE", storage)
    assert SECRET not in complaint()


def test_no_object_shows_a_secret_when_it_is_printed(environment: pytest.MonkeyPatch) -> None:
    for place in ("LAKE", "LANDING"):
        environment.setenv(f"TAXI_{place}_ROOT", "s3://bucket/here")
        environment.setenv(f"TAXI_{place}_STORAGE", json.dumps({"provider": "s3", "secret_access_key": SECRET}))
    settings = Settings.load()
    lake = lake_of(settings)
    for shown in (settings, lake, lake.location(Zones), landing_of(settings)):
        assert SECRET not in f"{shown!r} {shown}", type(shown).__name__


def test_sparks_own_settings_are_taken_as_json_numbers_and_truths_among_them(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_SPARK__MASTER", "spark://there:7077")
    environment.setenv("TAXI_SPARK__CONF", '{"spark.executor.cores": 2, "spark.ui.enabled": true, "spark.x.y": "z"}')

    spark = Settings.load().spark

    assert spark.master == "spark://there:7077"
    assert spark.conf == {"spark.executor.cores": "2", "spark.ui.enabled": "true", "spark.x.y": "z"}


@pytest.mark.parametrize(
    ("variable", "value", "problem"),
    [
        ("TAXI_SPARK__CONF", '{"executor.memory": "4g"}', "executor.memory is no setting of Spark's"),
        ("TAXI_SPARK__CONF", '["spark.executor.memory"]', "TAXI_SPARK__CONF"),
        ("TAXI_SPARK__JARS", "no/such/folder", "TAXI_SPARK__JARS"),
        ("TAXI_SPARK__MASTER", "", "TAXI_SPARK__MASTER"),
        ("TAXI_SPARK__MASTER", "sc://there:15002", "TAXI_SPARK__MASTER: Spark Connect isn't supported"),
        ("TAXI_SPARK__MEMORY", "4g", "TAXI_SPARK__MEMORY"),
        ("TAXI_FETCH__ADDRESS", "ftp://there", "TAXI_FETCH__ADDRESS: an address begins with https://"),
        ("TAXI_FETCH__ADDRESS", "https://", "TAXI_FETCH__ADDRESS"),
        ("TAXI_FETCH__ADDRESS", "/a/folder", "TAXI_FETCH__ADDRESS"),
        ("TAXI_FETCH__TIMEOUT", "0", "TAXI_FETCH__TIMEOUT"),
        ("TAXI_FETCH__ATTEMPTS", "0", "TAXI_FETCH__ATTEMPTS"),
        ("TAXI_FETCH__TIME_LIMIT", "0", "TAXI_FETCH__TIME_LIMIT"),
        ("TAXI_FETCH__LARGEST_MB", "0", "TAXI_FETCH__LARGEST_MB"),
        ("TAXI_FETCH__JOBS", "4", "TAXI_FETCH__JOBS"),
        ("TAXI_ALERTS__ROUTES__ONCALL__SEVERITY", "error", "TAXI_ALERTS__ROUTES__ONCALL__URL: is needed"),
        ("TAXI_ALERTS__ROUTES__ONCALL__URL", "", "TAXI_ALERTS__ROUTES__ONCALL__URL"),
        ("TAXI_ALERTS", "slack://a/b/c", "TAXI_ALERTS: must be JSON"),
        ("TAXI_ALERTS__ROUTE", "slack://a/b/c", "TAXI_ALERTS__ROUTE: "),
        ("TAXI_ALERTS__UI", "lake.example.org", "TAXI_ALERTS__UI: an address begins with https://"),
        ("TAXI_ENGINE", "duckdb", "TAXI_ENGINE: must be 'polars' or 'spark' (is 'duckdb')."),
        ("TAXI_ALERTS__ROUTES", '{"oncall": ', "TAXI_ALERTS__ROUTES: must be JSON."),
        ("TAXI_SPARK__MASTR", "local", "TAXI_SPARK__MASTR: is no setting (is it TAXI_SPARK__MASTER?)"),
        ("TAXI_FETCH__ATTEMPTS", "1.5", "TAXI_FETCH__ATTEMPTS: must be a whole number (is '1.5')."),
        ("TAXI_FETCH__TIMEOUT", "0", "TAXI_FETCH__TIMEOUT: must be greater than 0 (is '0')."),
        ("TAXI_FETCH", "3", "TAXI_FETCH: must be JSON of names and values, as "),
        ("TAXI_LANDING_ROOT", "", "TAXI_LANDING_ROOT: must not be empty"),
        ("TAXI_LAKE_STORAGE__PROVIDER", "azure", "TAXI_LAKE_STORAGE__ACCOUNT_NAME: is needed."),
        ("TAXI_LAKE_STORAGE", '{"region": "x"}', "TAXI_LAKE_STORAGE: its provider is needed."),
        ("TAXI_UI__HOSTS", "https://lake.example.org", "TAXI_UI__HOSTS: hosts are names with commas"),
        ("TAXI_UI__HOSTS", "lake.example.org,", "TAXI_UI__HOSTS"),
        ("TAXI_UI__HOSTS", "*", "TAXI_UI__HOSTS"),
    ],
)
def test_a_setting_of_a_group_that_makes_no_sense_is_named(
    environment: pytest.MonkeyPatch, variable: str, value: str, problem: str
) -> None:
    environment.setenv(variable, value)
    assert problem in complaint()


def test_the_address_to_fetch_from_is_tlcs_unless_it_is_set(environment: pytest.MonkeyPatch) -> None:
    assert Settings.load().fetch.address == "https://d37ci6vzurychx.cloudfront.net"
    environment.setenv("TAXI_FETCH__ADDRESS", "http://mirror:8080/tlc/")
    assert Settings.load().fetch.address == "http://mirror:8080/tlc"


def test_a_route_is_set_by_one_variable_for_each_part_of_it(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_ALERTS__ROUTES__ONCALL__URL", f"slack://{SECRET}/b/c")
    environment.setenv("TAXI_ALERTS__ROUTES__ONCALL__GROUPS", "tlc_gold, tlc_silver")
    environment.setenv("TAXI_ALERTS__ROUTES__TEAM__URL", "json://there")
    environment.setenv("TAXI_ALERTS__ROUTES__TEAM__SEVERITY", "error")
    oncall, team = alerts_of(Settings.load().alerts).routes
    assert (oncall.name, oncall.url, oncall.severity, oncall.groups) == (
        "oncall", f"slack://{SECRET}/b/c", "warning", {"tlc_gold", "tlc_silver"},
    )  # fmt: skip
    assert (team.name, team.url, team.severity, team.groups) == ("team", "json://there", "error", set())


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TAXI_ALERTS__ROUTES__ONCALL__TOKEN", SECRET),
        ("TAXI_ALERTS__ROUTES__ONCALL", json.dumps([f"slack://{SECRET}"])),
        ("TAXI_ALERTS__ROUTES", f'{{"oncall": {{"url": "slack://{SECRET}"'),
        ("TAXI_ALERTS", f"slack://{SECRET}"),
        ("TAXI_ALERTS__UI", f"http://me:{SECRET}@ui"),
    ],
)
def test_no_error_about_alerts_shows_a_routes_url(environment: pytest.MonkeyPatch, variable: str, value: str) -> None:
    environment.setenv("TAXI_ALERTS__ROUTES__ONCALL__URL", f"slack://{SECRET}/b/c")
    environment.setenv("TAXI_ALERTS__ROUTES__ONCALL__SEVERITY", "fatal")
    environment.setenv(variable, value)
    assert SECRET not in complaint()


def test_no_object_of_alerts_shows_a_routes_url_when_it_is_printed(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_ALERTS__ROUTES__ONCALL__URL", f"slack://{SECRET}/b/c")
    settings = Settings.load()
    for shown in (settings, settings.alerts, settings.alerts.routes, alerts_of(settings.alerts)):
        assert SECRET not in f"{shown!r} {shown}", type(shown).__name__


@pytest.mark.parametrize("address", [f"https://me:{SECRET}@mirror", f"https://mirror?token={SECRET}", f"//{SECRET}@x"])
def test_an_address_with_a_secret_is_refused_without_showing_it(environment: pytest.MonkeyPatch, address: str) -> None:
    environment.setenv("TAXI_FETCH__ADDRESS", address)
    message = complaint()
    assert message.startswith("Invalid settings: TAXI_FETCH__ADDRESS: ")
    assert SECRET not in message


def test_what_sparks_settings_hold_is_not_shown(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("TAXI_SPARK__CONF", json.dumps({"spark.hadoop.fs.s3a.secret.key": SECRET}))
    assert SECRET not in repr(Settings.load())
    environment.setenv("TAXI_SPARK__CONF", json.dumps({"fs.s3a.secret.key": SECRET}))
    assert SECRET not in complaint()


@pytest.mark.parametrize("hours", ["23", "0", "-1"])
def test_replaced_files_are_kept_as_long_as_readers_may_take_whatever_is_set(
    environment: pytest.MonkeyPatch, hours: str
) -> None:
    environment.setenv("TAXI_MAINTENANCE__RETENTION_HOURS", hours)
    message = complaint()
    assert "TAXI_MAINTENANCE__RETENTION_HOURS: " in message
    assert "at least 24 hours" in message


def test_maintenance_is_as_the_settings_say(environment: pytest.MonkeyPatch) -> None:
    assert maintenance_of(Settings.load()) == MaintenancePolicy(timedelta(days=7), 64 * 1024 * 1024)
    environment.setenv("TAXI_MAINTENANCE__RETENTION_HOURS", "24")
    environment.setenv("TAXI_MAINTENANCE__SMALL_FILE_MB", "1")
    assert maintenance_of(Settings.load()) == MaintenancePolicy(timedelta(days=1), 1024 * 1024)


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        ("", set()),
        ("Lake.example.org", {"lake.example.org"}),
        ("lake:8443, [fe80::1]:3000,lake", {"lake", "lake:8443", "[fe80::1]:3000"}),
    ],
)
def test_the_uis_names_are_as_browsers_write_them(environment: pytest.MonkeyPatch, hosts: str, names: set[str]) -> None:
    environment.setenv("TAXI_UI__HOSTS", hosts)

    assert Settings.as_set().ui.names == names
