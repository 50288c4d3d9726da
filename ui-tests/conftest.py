"""A real JupyterLab and a real Chromium: `pytest ui-tests`, apart from `tests/`.

pytest-jupyter's event loops and Playwright's don't live in one process. `CLAW_SHOTS=DIR` keeps a
picture of each test; `CHROMIUM=PATH` names the browser.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Locator, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
KERNEL_READY = """() => {
  const kernel = window.jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel;
  return kernel && kernel.connectionStatus === 'connected' && kernel.status === 'idle';
}"""


@dataclass
class Lab:
    """A running server; notebooks are files in its root, and the scripted model reads `script`."""

    url: str
    token: str
    root: Path
    script: Path

    def answers(self, *turns):
        self.script.write_text(yaml.safe_dump({"turns": list(turns)}), encoding="utf-8")

    def write(self, name, *cells):
        sources = [
            {
                "cell_type": "code",
                "id": f"cell-{n}",
                "execution_count": None,
                "metadata": {},
                "outputs": [],
                "source": cell,
            }
            for n, cell in enumerate(cells)
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        book = {"cells": sources, "metadata": {"kernelspec": kernel}, "nbformat": 4,
                "nbformat_minor": 5}  # fmt: skip
        (self.root / name).write_text(json.dumps(book), encoding="utf-8")

    def read(self, name):
        return json.loads((self.root / name).read_text(encoding="utf-8"))

    def end_sessions(self):
        for session in self._api("GET", "sessions"):
            self._api("DELETE", f"sessions/{session['id']}")

    def _api(self, method, path):
        request = urllib.request.Request(f"{self.url}/api/{path}", method=method)
        request.add_header("Authorization", f"token {self.token}")
        with urllib.request.urlopen(request, timeout=30) as answer:
            body = answer.read()
        return json.loads(body) if body else None


@dataclass
class Notebook:
    """An open notebook: run its cells as a user does, look at their outputs."""

    page: Page

    def command(self, name, **arguments):
        given = {"name": name, "arguments": arguments}
        script = "({name, arguments}) => window.jupyterapp.commands.execute(name, arguments)"
        self.page.evaluate(f"async (given) => {{ await ({script})(given); }}", given)

    def start(self, cell):
        """Select a cell and run it, without waiting for its end."""
        self.page.evaluate(
            """(index) => {
                 const notebook = window.jupyterapp.shell.currentWidget.content;
                 notebook.activeCellIndex = index;
                 notebook.deselectAll();
                 window.jupyterapp.commands.execute('notebook:run-cell');
               }""",
            cell,
        )

    def run(self, cell):
        """Run a cell to its end."""
        self.start(cell)
        self.ended(cell)

    def ended(self, cell, timeout=60_000):
        self.page.wait_for_function(
            """(index) => {
                 const cell = window.jupyterapp.shell.currentWidget.content.widgets[index];
                 const prompt = cell.node.querySelector('.jp-InputPrompt').textContent;
                 return /\\[\\d+\\]/.test(prompt);
               }""",
            arg=cell,
            timeout=timeout,
        )

    def output(self, cell) -> Locator:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-Cell-outputArea")

    def stop(self):
        self.page.locator('[data-command="notebook:interrupt-kernel"]').first.click()

    def save(self):
        self.command("docmanager:save")

    def theme(self, name):
        self.command("apputils:change-theme", theme=name)
        light = "true" if name == "JupyterLab Light" else "false"
        self.page.wait_for_selector(f'body[data-jp-theme-light="{light}"]', state="attached")
        self.page.wait_for_timeout(500)  # the new sheet is still being applied


def _chromium():
    names = ("chromium", "chromium-headless-shell", "google-chrome", "chrome")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("CI has no Chromium: apt-get install chromium fonts-dejavu-core")
    if found is None:
        pytest.skip("no Chromium: apt-get install chromium fonts-dejavu-core")
    return found


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_chromium(), args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    _chromium()
    home = tmp_path_factory.mktemp("lab")
    root = home / "notebooks"
    settings = home / "settings"
    quiet = settings / "@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    quiet.parent.mkdir(parents=True)
    quiet.write_text('{"fetchNews": "false", "checkForUpdates": false}')
    root.mkdir()
    port, token = _free_port(), "claw-ui-tests"
    script = home / "script.yaml"
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "extension")]),
        "CLAW_HOME": str(home / "claw"),
        "CLAW_PROVIDER": "scripted",
        "CLAW_SCRIPT": str(script),
        "CLAW_EMBEDDER": "none",
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IPYTHONDIR": os.environ.get("IPYTHONDIR", str(home / "ipython")),
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={root}", "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    with (home / "server.log").open("wb") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd=root)
        try:
            lab = Lab(url=f"http://127.0.0.1:{port}", token=token, root=root, script=script)
            _wait_for(lab, server, home / "server.log")
            yield lab
        finally:
            server.terminate()
            server.wait(30)


def _wait_for(lab, server, log):
    for _ in range(240):
        if server.poll() is not None:
            break
        try:
            lab._api("GET", "status")
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"JupyterLab does not answer:\n{log.read_text()[-4000:]}")


@pytest.fixture
def open_notebook(lab, browser: Browser, request):
    """Opens a notebook of the lab in a page of its own and waits for its kernel."""
    pages = []

    def open_(name, *, height=900):
        page = browser.new_page(
            viewport={"width": 1180, "height": height}, device_scale_factor=2, color_scheme="light"
        )
        pages.append(page)
        space = f"auto-{request.node.name[:40]}-{len(pages)}"
        page.goto(f"{lab.url}/lab/workspaces/{space}/tree/{name}?token={lab.token}&reset")
        page.wait_for_selector("#jupyterlab-splash", state="detached", timeout=90_000)
        page.wait_for_function(KERNEL_READY, timeout=90_000)
        notebook = Notebook(page)
        notebook.command("application:toggle-left-area") if page.locator(
            "#jp-left-stack:visible"
        ).count() else None
        return notebook

    yield open_
    shots = os.environ.get("CLAW_SHOTS")
    for number, page in enumerate(pages):
        if shots and not page.is_closed():
            Path(shots).mkdir(parents=True, exist_ok=True)
            page.screenshot(path=f"{shots}/{request.node.name}-{number}.png")
        page.close()
    lab.end_sessions()
