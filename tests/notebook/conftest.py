"""A real kernel, driven by messages as a front end does it, and a plain IPython shell."""

import json
import os
import queue
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from IPython.core.interactiveshell import InteractiveShell
from jupyter_client.manager import KernelManager
from traitlets.config import Config

ROOT = Path(__file__).resolve().parents[2]
# What stands before us in PYTHONPATH may hold another ipykernel or IPython to test against.
PATHS = [*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT), str(ROOT / "extension")]
DEADLINE = 60.0


@dataclass
class Cell:
    """What became of one execution: the outputs as a notebook would hold them."""

    status: str = ""
    outputs: list = field(default_factory=list)
    updates: int = 0
    prompts: list = field(default_factory=list)
    error: dict = field(default_factory=dict)

    @property
    def text(self):
        """Everything that can be read, in order, as plain text."""
        return "\n".join(filter(None, map(_plain, self.outputs)))

    def mime(self, kind):
        return [output["data"][kind] for output in self.outputs if kind in output.get("data", {})]


def _plain(output):
    match output["type"]:
        case "stream":
            return output["text"].rstrip("\n")
        case "error":
            return "\n".join(output["traceback"])
    return output["data"].get("text/plain", "")


class FrontEnd:
    """One kernel and its client."""

    def __init__(self, home, **env):
        self.script = home / "script.yaml"
        self.home = home / "claw"
        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(
            cwd=str(home),
            env=os.environ | {
                "PYTHONPATH": os.pathsep.join(PATHS),
                "CLAW_HOME": str(self.home),
                "CLAW_PROVIDER": "scripted",
                "CLAW_SCRIPT": str(self.script),
                "CLAW_EMBEDDER": "none",
                "IPYTHONDIR": os.environ.get("IPYTHONDIR", str(home / "ipython")),
                **env,
            },
        )  # fmt: skip
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=DEADLINE)
        assert self.run("%load_ext claw_nb") == Cell(status="ok")
        version = self.run("import ipykernel; ipykernel.version_info[:2] >= (7, 4)")
        self.hears_clicks = version.text == "True"

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def answers(self, *turns):
        """Give the model a new script, and forget where it stood in the old one."""
        self.script.write_text(yaml.safe_dump({"turns": list(turns)}), encoding="utf-8")
        assert self.run("%reload_ext claw_nb") == Cell(status="ok")

    def start(self, code, *, stdin=True):
        return self.client.execute(code, allow_stdin=stdin, stop_on_error=True)

    def run(self, code, *, stdin=True, reply="", click="", when="", then=None):
        """Execute to the end. ``reply`` answers input(), ``click`` presses the button so named,
        ``then`` is called once the outputs hold the text ``when``."""
        return self.finish(
            self.start(code, stdin=stdin), reply=reply, click=click, when=when, then=then
        )

    def finish(self, ident, *, reply="", click="", when="", then=None):
        cell, displays, buttons = Cell(), {}, {}
        end = time.monotonic() + DEADLINE
        idle = False
        while not idle:
            assert time.monotonic() < end, f"no end in {DEADLINE} s, so far: {cell}"
            self._answer_stdin(cell, reply)
            if then and when in cell.text + "".join(cell.prompts):
                then()
                then = None
            try:
                message = self.client.get_iopub_msg(timeout=0.05)
            except queue.Empty:
                continue
            content, kind = message["content"], message["msg_type"]
            if kind == "comm_open" and content["data"].get("state", {}).get("description"):
                buttons[content["data"]["state"]["description"]] = content["comm_id"]
            if message["parent_header"].get("msg_id") != ident:
                continue
            idle = kind == "status" and content["execution_state"] == "idle"
            self._show(cell, displays, kind, content)
            if click in buttons and "application/vnd.jupyter.widget-view+json" in str(content):
                self._press(buttons.pop(click))
        while not cell.status:
            reply_message = self.client.get_shell_msg(timeout=DEADLINE)
            if reply_message["parent_header"].get("msg_id") == ident:
                cell.status = reply_message["content"]["status"]
        return cell

    def _answer_stdin(self, cell, reply):
        try:
            asked = self.client.get_stdin_msg(timeout=0)
        except queue.Empty:
            return
        cell.prompts.append(asked["content"]["prompt"])
        if reply is not None:
            self.client.input(reply)

    def _press(self, comm_id):
        data = {"method": "custom", "content": {"event": "click"}}
        message = self.client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
        self.client.shell_channel.send(message)

    def _show(self, cell, displays, kind, content):
        match kind:
            case "stream":
                last = cell.outputs[-1] if cell.outputs else {}
                if last.get("name") == content["name"]:
                    last["text"] += content["text"]
                else:
                    cell.outputs.append({"type": "stream", **content})
            case "display_data" | "execute_result":
                output = {"type": kind, "data": content["data"]}
                cell.outputs.append(output)
                displays[content.get("transient", {}).get("display_id")] = output
            case "update_display_data":
                cell.updates += 1
                displays[content["transient"]["display_id"]]["data"] = content["data"]
            case "error":
                cell.error = content
                cell.outputs.append({"type": "error", **content})


@pytest.fixture(scope="session")
def kernel_session(tmp_path_factory):
    front = FrontEnd(tmp_path_factory.mktemp("kernel"))
    yield front
    front.close()


@pytest.fixture
def kernel(kernel_session):
    """A kernel whose front end has stdin and no widgets, as a console."""
    kernel_session.run("%autoawait asyncio\nget_ipython().reset(new_session=False)")
    kernel_session.run("%claw new")
    return kernel_session


@pytest.fixture(scope="session")
def lab_session(tmp_path_factory):
    home = tmp_path_factory.mktemp("lab")
    front = FrontEnd(home, JPY_SESSION_NAME=str(home / "book.ipynb"), CLAW_APPROVAL_TIMEOUT="20")
    yield front
    front.close()


@pytest.fixture
def lab(lab_session):
    """A kernel started by a Jupyter server, whose front end shows widgets."""
    if not lab_session.hears_clicks:
        pytest.skip("this ipykernel delivers no click while a cell runs; input() asks there")
    lab_session.run("%claw new")
    return lab_session


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """A plain IPython shell in this process, with claw_nb loaded and a scripted model."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("CLAW_HOME", str(tmp_path / "claw"))
    monkeypatch.setenv("CLAW_PROVIDER", "scripted")
    monkeypatch.setenv("CLAW_SCRIPT", str(tmp_path / "script.yaml"))
    monkeypatch.setenv("CLAW_EMBEDDER", "none")
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.chdir(tmp_path)
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    made.run_line_magic("colors", "nocolor")
    made.run_line_magic("load_ext", "claw_nb")
    yield made
    made.run_line_magic("unload_ext", "claw_nb")
    made.history_manager.end_session()
    InteractiveShell.clear_instance()


@pytest.fixture
def script(tmp_path):
    """Writes the scripted model's turns for ``shell``."""

    def write(*turns):
        (tmp_path / "script.yaml").write_text(json.dumps({"turns": list(turns)}), encoding="utf-8")

    return write
