"""An S3 server on this machine: SeaweedFS, which checks signatures and honours conditional puts, also in a race.

Started on a folder and free ports of its own, and ended by force. Nothing of the project is in it.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
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
    _ports: list[int] = field(default_factory=list, repr=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _pause: threading.Event = field(default_factory=threading.Event, repr=False)

    def __enter__(self) -> Self:
        ports = self._ports = _free_ports(2 * len(_PORTS))
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
        # Its parts speak by these as well, and nothing tells it to have them elsewhere.
        for part, port in zip(_PORTS, self._ports[1::2], strict=False):
            Path(f"/tmp/seaweedfs-{part}-grpc-{port}.sock").unlink(missing_ok=True)

    @property
    def fields(self) -> dict[str, str]:
        """What a client has to be told."""
        return {
            "endpoint": f"http://127.0.0.1:{self.port}",
            "region": REGION,
            "access_key_id": KEY,
            "secret_access_key": SECRET,
        }

    def bucket(self, name: str) -> S3Store:
        """Make a bucket, and open it."""
        self._make(name)
        return self._store(name)

    def _store(self, bucket: str, **options: Any) -> S3Store:
        named: dict[str, Any] = {**self.fields, **options}
        return S3Store(bucket, client_options={"allow_http": True}, **named)

    def _make(self, bucket: str) -> None:
        """Ask for a bucket, and to write to it, until it can be: the server's parts find each other as it runs."""
        impatient = self._store(bucket, retry_config={"max_retries": 0})
        made = obstore.sign(impatient, "PUT", "", timedelta(minutes=5))
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                with suppress(urllib.error.HTTPError), urllib.request.urlopen(_put(made), timeout=10):
                    pass
                obstore.put(impatient, "probe", b"")
                obstore.delete(impatient, "probe")
            except (OSError, obstore.exceptions.BaseError):
                if time.monotonic() > deadline:
                    raise
                self._pause.wait(0.1)
            else:
                return


def _put(url: str) -> urllib.request.Request:
    return urllib.request.Request(url, method="PUT")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in found:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in found]
