"""The first thing a new user does, with the embedded provider; the docs show its pictures.

`CLAW_PICTURES=docs/images pytest ui-tests/test_pictures.py` takes them anew.
"""

import os
from pathlib import Path

from playwright.sync_api import expect

DATA = Path(__file__).resolve().parents[1] / "notebooks/data/penguins.csv"
LOAD = """\
import matplotlib.pyplot as plt
import pandas as pd
%load_ext claw_nb
%config Claw.provider = "offline"
%config InlineBackend.figure_format = "retina"
plt.rcParams["figure.figsize"] = (6.4, 2.9)
plt.rcParams["figure.dpi"] = 80"""


def picture(notebook, name, first, last):
    """A picture of some cells, with a little room around them."""
    folder = os.environ.get("CLAW_PICTURES")
    if not folder:
        return
    cells = notebook.page.locator(".jp-Notebook .jp-Cell")
    top, bottom = cells.nth(first).bounding_box(), cells.nth(last).bounding_box()
    height = bottom["y"] + bottom["height"] - top["y"]
    clip = {"x": top["x"], "y": top["y"], "width": top["width"], "height": height + 6}
    notebook.page.add_style_tag(content=".jp-cell-toolbar { display: none }")
    notebook.page.evaluate("document.activeElement?.blur()")
    Path(folder).mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=f"{folder}/{name}.png", clip=clip, animations="disabled")


def test_the_first_questions_about_a_data_frame(lab, open_notebook):
    (lab.root / "penguins.csv").write_bytes(DATA.read_bytes())
    lab.write(
        "penguins.ipynb",
        LOAD,
        'penguins = pd.read_csv("penguins.csv")',
        "%claw ask describe the data frame penguins",
        "%claw ask plot bill_length_mm against bill_depth_mm by species",
    )
    notebook = open_notebook("penguins.ipynb", height=1500)
    notebook.theme("JupyterLab Light")
    notebook.run(0)
    notebook.run(1)
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("344")
    notebook.start(3)
    allow = notebook.output(3).get_by_role("button", name="Allow once")
    expect(allow).to_be_visible()
    picture(notebook, "approval", 3, 3)
    allow.click()
    notebook.ended(3)
    expect(notebook.output(3).locator("img")).to_have_count(1)
    expect(notebook.output(3).locator(".claw-step.claw-failed")).to_have_count(0)
    picture(notebook, "answer", 1, 3)
