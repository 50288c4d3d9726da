"""``claw demo``: the tour, run as a scheduled notebook by a real Jupyter server."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from claw_nb.core.errors import ClawError, NotFound

GRANT = ("run_python",)
NEEDED = ("pandas", "matplotlib")
"""What the tour's own cells import, and a plain install of claw-nb leaves out."""
START_SECONDS = 60
RUN_SECONDS = 600


@click.command()
@click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    help="The data home to make (default: a new folder under ./claw-demo).",
)
def demo(home: Path | None) -> None:
    """Run the tour notebook as a scheduled task, in an empty data home.

    Starts a Jupyter server with the extension, schedules the notebook over REST for the next
    second, waits for papermill to run it, and says where the results are. Needs no key and no
    network.
    """
    tour = tour_notebook()
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise NotFound(
            f"the tour needs {' and '.join(missing)}", hint="pip install 'claw-nb[demo,recall]'"
        )
    home = (home or _fresh_home()).absolute()
    if home.exists() and any(home.iterdir()):
        raise ClawError(f"{home} is not empty", hint="The demo wants a new folder: --home PATH.")
    home.mkdir(parents=True, exist_ok=True)
    click.echo(f"data home   {home}")
    with server(home) as call:
        task = call("POST", "/claw/v1/agents/main/tasks", _task(tour))
        click.echo(f"scheduled   {task['name']} at {task['next_run']}")
        run = _wait(call, task["id"])
    if run["status"] != "success":
        raise ClawError(
            f"the tour failed: {run['error']}", hint=f"See {run.get('notebook') or home / 'runs'}."
        )
    click.echo(f"finished    in {run['duration_ms'] / 1000:.1f} s")
    click.echo(f"notebook    {run['notebook']}")
    click.echo(f"report      {run['report']}")
    shown = f"CLAW_HOME={home} claw"
    click.echo("\nLook further:")
    click.echo(f"  {shown} sessions list")
    click.echo(f"  {shown} task logs tour")
    click.echo(f'  {shown} sql "SELECT kind, count(*) FROM events GROUP BY 1 ORDER BY 2 DESC"')


def tour_notebook() -> Path:
    """The tour, from the wheel or from the checkout."""
    package = Path(str(files("claw_nb")))
    for path in (package / "demo", package.parent / "notebooks"):
        if (path / "00_tour.ipynb").is_file():
            return path / "00_tour.ipynb"
    raise NotFound("the tour notebook is missing", hint="Install claw-nb again.")


def _fresh_home() -> Path:
    return Path("claw-demo") / datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")


def _task(tour: Path) -> dict[str, Any]:
    soon = datetime.now().astimezone() + timedelta(seconds=1)
    return {
        "name": "tour",
        "notebook": str(tour),
        "parameters": {"data": str(tour.parent / "data" / "penguins.csv")},
        "schedule_type": "once",
        "schedule_value": soon.isoformat(),
        "grant": list(GRANT),
    }


def _wait(call: Call, task_id: str) -> dict[str, Any]:
    """The task's run when it has ended; shows that time passes."""
    path = f"/claw/v1/agents/main/tasks/{task_id}/logs"
    begun = time.monotonic()
    shown = ""
    while time.monotonic() - begun < RUN_SECONDS:
        runs = call("GET", path)["data"]
        if runs and runs[0]["status"] not in ("queued", "running"):
            run: dict[str, Any] = runs[0]
            return run
        state = runs[0]["status"] if runs else "waiting"
        if state != shown:
            click.echo(f"{state:<12}papermill runs the notebook in a process of its own")
            shown = state
        time.sleep(0.5)
    raise ClawError("the tour did not end in time", hint="See the server's log in the data home.")


class Call:
    """JSON requests to one server."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's JSON; ClawError with the server's words when it refuses."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"token {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            self._url + path, data=data, method=method, headers=headers
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")
            raise ClawError(f"the server answered {error.code}: {text[:500]}") from error


@contextmanager
def server(home: Path) -> Iterator[Call]:
    """A Jupyter server with the extension on ``home``, on a free port of this machine."""
    runtime = home / "jupyter"
    log = home / "server.log"
    env = os.environ | {
        "CLAW_HOME": str(home),
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "JUPYTER_PREFER_ENV_PATH": "1",
    }
    command = [
        sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root",
        "--ip=127.0.0.1", "--port=0", f"--ServerApp.root_dir={home}",
        "--ServerApp.jpserver_extensions=claw_nb_server=True",
    ]  # fmt: skip
    with log.open("wb") as sink:
        process = subprocess.Popen(command, env=env, stdout=sink, stderr=subprocess.STDOUT)
    try:
        yield _connect(process, runtime, log)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _connect(process: subprocess.Popen[bytes], runtime: Path, log: Path) -> Call:
    """Wait until the server answers."""
    begun = time.monotonic()
    while time.monotonic() - begun < START_SECONDS and process.poll() is None:
        for found in runtime.glob(f"jpserver-{process.pid}.json"):
            try:
                facts = json.loads(found.read_text(encoding="utf-8"))
                call = Call(facts["url"], facts["token"])
                call("GET", "/claw/v1/status")
            except (ValueError, urllib.error.URLError, ConnectionError):
                continue
            return call
        time.sleep(0.1)
    tail = log.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise ClawError(f"the Jupyter server did not start:\n{tail}", hint=f"The whole log is {log}.")
