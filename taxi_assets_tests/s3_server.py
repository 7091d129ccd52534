"""An S3 server on this machine: SeaweedFS, which checks signatures and honours conditional puts, also in a race.

Started on a folder and free ports of its own, and ended by force. Nothing of the project is in it.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Self

import obstore
from obstore.store import S3Store

KEY: Final = "AKIATAXITEST"
SECRET: Final = "s3cret-of-the-taxi-tests"
REGION: Final = "us-east-1"
_PATIENCE: Final = 60.0
_PORTS: Final = ("master", "volume", "filer", "s3")


@dataclass
class S3Server:
    """A running server; a context, which ends it."""

    folder: Path
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def __enter__(self) -> Self:
        ports = _free_ports(2 * len(_PORTS))
        self.port = ports[2 * _PORTS.index("s3")]
        identity = {"credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"], "name": "tests"}
        identities = self.folder / "identities.json"
        identities.write_text(json.dumps({"identities": [identity]}))
        data = self.folder / "data"
        data.mkdir()
        numbered = [
            f"-{part}.port{kind}={ports[2 * place + offset]}"
            for place, part in enumerate(_PORTS)
            for offset, kind in enumerate(("", ".grpc"))
        ]
        options = [
            f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.telemetry=false", "-filer", "-s3",
            "-master.volumeSizeLimitMB=256", "-volume.max=64", f"-filer.localSocket={self.folder / 'filer.sock'}",
            f"-s3.localSocket={self.folder / 's3.sock'}", f"-s3.config={identities}", "-s3.autoCreateBucket=false",
            "-s3.iam=false", "-s3.port.iceberg=0", "-s3.port.lance=0",
        ]  # fmt: skip
        with (self.folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                [str(Path(sys.executable).parent / "weed"), "server", *options, *numbered],
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self._make("ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def storage(self, **changes: str) -> dict[str, str]:
        """Return the fields of the project's storage configuration that reach this server."""
        fields = {"endpoint": self.endpoint, "region": REGION, "access_key_id": KEY, "secret_access_key": SECRET}
        return {"provider": "s3", **fields, **changes}

    def bucket(self, name: str) -> S3Store:
        """Make a bucket, and open it."""
        self._make(name)
        return self._store(name)

    def _store(self, bucket: str, **options: Any) -> S3Store:
        where = {"endpoint": self.endpoint, "region": REGION}
        who = {"access_key_id": KEY, "secret_access_key": SECRET}
        return S3Store(bucket, **where, **who, client_options={"allow_http": True}, **options)

    def _make(self, bucket: str) -> None:
        """Ask for a bucket until there is one: the parts of the server find each other after it listens."""
        made = obstore.sign(self._store(bucket), "PUT", "", timedelta(minutes=5))
        probe = S3Store.__name__.lower()
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with urllib.request.urlopen(urllib.request.Request(made, method="PUT"), timeout=10):
                    pass
                obstore.put(self._store(bucket, retry_config={"max_retries": 0}), probe, b"")
                obstore.delete(self._store(bucket), probe)
            except (OSError, urllib.error.URLError, obstore.exceptions.BaseError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in found]
