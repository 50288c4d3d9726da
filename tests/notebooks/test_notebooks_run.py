"""Every notebook runs in a real kernel with an empty home, no key, and shows what it promises."""

import re
from pathlib import Path

import nbclient
import nbformat
import pytest

from claw_nb.store import Store
from claw_nb.tasks import Tasks

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
GRANT = ("run_python", "remember")
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def run_as_task(path, home):
    """The notebook run in ``home`` as a task with a grant would run it: nobody is there to ask."""
    store = Store.open(home)
    tasks = Tasks(store)
    task = tasks.add(path.stem, notebook=path, at="2100-01-01T00:00:00Z", grant=GRANT)
    run = tasks.run_now(task)
    store.close()
    return run


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """The tour's outputs by cell id."""
    home = tmp_path_factory.mktemp("home")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    path = ROOT / "notebooks" / "00_tour.ipynb"
    run = run_as_task(path, home)
    notebook = nbformat.read(path, as_version=4)
    with pytest.MonkeyPatch.context() as env:
        env.setenv("CLAW_HOME", str(home))
        env.setenv("CLAW_RUN_ID", run.id)
        env.setenv("IPYTHONDIR", str(home / "ipython"))
        for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "CLAW_PROVIDER"):
            env.delenv(name, raising=False)
        nbclient.NotebookClient(
            notebook, timeout=120, resources={"metadata": {"path": str(elsewhere)}}
        ).execute()
    return {cell["id"]: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def shown(outputs, mime="text/plain"):
    """All that a cell shows in one form."""
    parts = [output.get("data", {}).get(mime, "") for output in outputs]
    return "\n".join("".join(part) for part in parts)


def test_there_are_notebooks():
    assert NOTEBOOKS


@each_notebook
def test_a_notebook_is_valid_and_committed_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    ids = [cell["id"] for cell in notebook.cells]
    assert len(ids) == len(set(ids))
    tags = [cell.metadata.get("tags", []) for cell in code]
    assert tags.count(["parameters"]) == 1


def test_the_data_frame_is_described(tour):
    text = shown(tour["describe"], "text/markdown")
    assert "344 rows" in text
    assert "8 columns" in text
    assert "`bill_length_mm`" in text
    assert re.search(r"`sex`.*11", text)


def test_the_plot_is_drawn_and_captioned(tour):
    assert shown(tour["plot"], "image/png").strip()
    text = shown(tour["plot"], "text/markdown")
    assert "`bill_length_mm` against `bill_depth_mm`" in text
    assert "`species`" in text


def test_a_finding_from_the_data_is_remembered_and_comes_back_with_its_source(tour):
    finding = shown(tour["finding"]).strip().strip("'\"")
    assert "-0.24 over all birds" in finding
    assert "+0.64 (Gentoo)" in finding
    kept = shown(tour["remember"], "text/markdown")
    assert finding.replace("\\'", "'") in kept
    recalled = shown(tour["recall"], "text/markdown")
    assert finding.replace("\\'", "'") in recalled
    assert "session" in recalled


def test_a_decision_is_kept_as_one(tour):
    assert "as a decision" in shown(tour["remember-decision"], "text/markdown")


def test_sql_joins_the_agents_tool_calls_with_the_data_frame(tour):
    text = shown(tour["sql"])
    assert re.search(r"bill_length_mm\W+342\W+1\W+run_python", text)
    assert re.search(r"island\W+344\W+0\b", text)
    by_species = shown(tour["sql-memories"])
    assert re.search(r"Gentoo\W+124\W+5076(\.0)?\W+1\b", by_species)


def test_the_chart_is_a_picture(tour):
    assert "<svg" in shown(tour["chart"], "text/html")
    assert "run_python" in shown(tour["chart"], "text/html")


def test_the_conversation_is_listed(tour):
    assert "describe the data frame penguins" in shown(tour["sessions"])


def test_no_cell_shows_an_error(tour):
    kinds = {output.output_type for outputs in tour.values() for output in outputs}
    assert kinds <= {"display_data", "execute_result"}
