"""What `make ui` starts: ``dagster dev``, whose options it takes, with the guarded web server instead of its own."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from subprocess import Popen
from typing import Any, Final

from dagster._cli import dev
from dagster_shared.ipc import open_ipc_subprocess

# The modules that it starts, and what is started instead. One that isn't listed would be started without a guard.
_MODULES: Final = {"dagster_webserver": "taxi_assets.webserver", "dagster._daemon": "dagster._daemon"}


def main() -> None:
    """Run the daemon, the code and the web server until they are interrupted."""

    def start_guarded(parts: Sequence[str], **kwargs: Any) -> Popen[Any]:
        python, module_follows, module, *options = parts
        return open_ipc_subprocess([python, module_follows, _MODULES[module], *options], **kwargs)

    with dev.dev_command.make_context("taxi_assets.webserver.dev", sys.argv[1:]) as context:
        _require_free(context.params["host"] or "127.0.0.1", context.params["port"] or "3000")
        # Which module serves is no option of its command.
        dev.open_ipc_subprocess = start_guarded  # type: ignore[attr-defined]
        dev.dev_command.invoke(context)


def _require_free(host: str, port: str) -> None:
    """End with one line if the web server can't listen where it shall: told by it, that is the end of a stack."""
    try:
        with socket.create_server((host, int(port))):
            return
    except (ValueError, OverflowError):
        sys.exit(f"PORT is {port}, which is no port. Name one: make ui PORT=3001.")
    except OSError as error:
        sys.exit(
            f"PORT is {port}, where the UI can't listen: {os.strerror(error.errno or 0)}. Name another: "
            f"make ui PORT={int(port) + 1}."
        )


if __name__ == "__main__":
    main()
