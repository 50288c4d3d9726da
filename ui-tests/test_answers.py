"""What a user sees in JupyterLab when the agent answers."""

from playwright.sync_api import expect

SETUP = "%load_ext claw_nb"
PLOT = "print('drawing')\nvalue = 6 * 7\nvalue"
CALL = {"name": "run_python", "arguments": {"code": PLOT}}


def test_an_answer_streams_into_its_cell(lab, open_notebook):
    sentence = "Penguins are birds that fly under water. " * 6
    lab.answers({"text": sentence + "**The end.**", "pause": 0.1})
    lab.write("stream.ipynb", SETUP, "%claw ask what are penguins?")
    notebook = open_notebook("stream.ipynb")
    notebook.run(0)
    notebook.start(1)
    words = notebook.output(1).locator(".claw-words")
    expect(words).to_contain_text("Penguins are birds")
    expect(notebook.output(1).locator(".claw-footer")).to_have_count(0)
    expect(notebook.output(1).locator("[aria-busy=true]")).to_have_count(1)
    expect(words.locator("strong")).to_have_text("The end.", timeout=20_000)
    expect(notebook.output(1).locator(".claw-footer")).to_contain_text("1 turn")
    expect(notebook.output(1).locator("[aria-busy=true]")).to_have_count(0)
    expect(notebook.output(1).locator(".claw")).to_have_count(1)


def ask_with_tool(lab, open_notebook, name):
    lab.answers({"text": "I will run some code.", "calls": [CALL]}, "It printed a number.")
    lab.write(name, SETUP, "%claw ask compute it", "value")
    notebook = open_notebook(name)
    notebook.run(0)
    notebook.start(1)
    expect(notebook.output(1).get_by_role("button", name="Allow once")).to_be_visible()
    return notebook


def test_a_call_is_approved_with_a_button(lab, open_notebook):
    notebook = ask_with_tool(lab, open_notebook, "approve.ipynb")
    expect(notebook.output(1)).to_contain_text("It runs code in your kernel.")
    expect(notebook.output(1)).to_contain_text("value = 6 * 7")
    notebook.output(1).get_by_role("button", name="Allow once").click()
    notebook.ended(1)
    output = notebook.output(1)
    expect(output.get_by_role("button")).to_have_count(0)
    expect(output.locator(".claw-step.claw-done")).to_have_count(1)
    expect(output).to_contain_text("drawing")
    expect(output).to_contain_text("It printed a number.")
    output.locator("summary").click()
    expect(output.locator(".claw-box")).to_contain_text("Allowed once by you.")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("42")


def test_a_denied_call_does_not_run(lab, open_notebook):
    notebook = ask_with_tool(lab, open_notebook, "deny.ipynb")
    notebook.output(1).get_by_placeholder("Why not?").fill("not today")
    notebook.output(1).get_by_role("button", name="Deny").click()
    notebook.ended(1)
    output = notebook.output(1)
    expect(output.locator(".claw-step.claw-denied")).to_have_count(1)
    expect(output.get_by_role("button")).to_have_count(0)
    output.locator("summary").click()
    expect(output.locator(".claw-box")).to_contain_text("not today")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("NameError")


def test_a_session_approval_is_asked_for_once(lab, open_notebook):
    lab.answers({"calls": [CALL]}, "Once.", {"calls": [CALL]}, "Twice.")
    lab.write("session.ipynb", SETUP, "%claw ask compute it", "%claw ask again")
    notebook = open_notebook("session.ipynb")
    notebook.run(0)
    notebook.start(1)
    notebook.output(1).get_by_role("button", name="Allow for this session").click()
    notebook.ended(1)
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("Twice.")
    expect(notebook.output(2).locator(".claw-step.claw-done")).to_have_count(1)


def test_stop_ends_a_run_and_the_next_question_works(lab, open_notebook):
    lab.answers({"text": "A very long story " * 200, "pause": 0.1}, "Hello again.")
    lab.write("stop.ipynb", SETUP, "%claw ask tell me a story", "%claw ask hello")
    notebook = open_notebook("stop.ipynb")
    notebook.run(0)
    notebook.start(1)
    expect(notebook.output(1).locator(".claw-words")).to_contain_text("A very long story")
    notebook.stop()
    notebook.ended(1)
    expect(notebook.output(1)).to_contain_text("Stopped.")
    expect(notebook.output(1).locator(".claw-footer")).to_contain_text("stopped")
    notebook.run(2)
    expect(notebook.output(2)).to_contain_text("Hello again.")


def test_a_saved_answer_reads_without_its_kernel(lab, open_notebook):
    notebook = ask_with_tool(lab, open_notebook, "saved.ipynb")
    notebook.output(1).get_by_role("button", name="Allow once").click()
    notebook.ended(1)
    expect(notebook.output(1)).to_contain_text("It printed a number.")
    notebook.save()
    notebook.page.close()
    lab.end_sessions()
    saved = lab.read("saved.ipynb")["cells"][1]["outputs"]
    kinds = {kind for output in saved for kind in output.get("data", {})}
    assert kinds == {"text/html", "text/markdown", "text/plain"}
    again = open_notebook("saved.ipynb")
    expect(again.output(1)).to_contain_text("It printed a number.")
    expect(again.output(1)).not_to_contain_text("Error displaying widget")
    again.output(1).locator("summary").click()
    expect(again.output(1).locator(".claw-box")).to_contain_text("value = 6 * 7")


CONTRAST = """(element) => {
  const lightness = (colour) => {
    const parts = colour.match(/[\\d.]+/g).slice(0, 3).map(Number).map((value) => {
      const share = value / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  let behind = element;
  while (/, 0\\)$|transparent/.test(getComputedStyle(behind).backgroundColor)) behind = behind.parentElement;
  const pair = [lightness(getComputedStyle(element).color),
                lightness(getComputedStyle(behind).backgroundColor)].sort((a, b) => b - a);
  return (pair[0] + 0.05) / (pair[1] + 0.05);
}"""


def test_an_answer_is_readable_in_both_themes(lab, open_notebook):
    lab.answers(
        {"thinking": "A frame has columns.", "text": "# A title\n\nSome `code` and *words*.",
         "calls": [CALL]},
        {"text": "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1  # one\n```\n",
         "usage": {"input": 1200, "output": 90, "cost": 0.0042}},
    )  # fmt: skip
    lab.write("themes.ipynb", SETUP, "%claw ask --allow run_python show me")
    notebook = open_notebook("themes.ipynb")
    notebook.run(0)
    notebook.run(1)
    for theme in ("JupyterLab Dark", "JupyterLab Light", "JupyterLab Dark"):
        notebook.theme(theme)
        for part in (".claw-footer", ".claw-step summary", ".claw-facts", ".claw-words p"):
            element = notebook.output(1).locator(part).first
            assert element.evaluate(CONTRAST) >= 4.5, (theme, part)


def test_what_a_model_writes_runs_no_script(lab, open_notebook):
    lab.answers(
        "<img src=x onerror=\"document.title='owned'\"> <script>document.title='owned'</script> "
        "[link](javascript:alert(1)) ![pixel](https://example.invalid/p.png?secret)"
    )
    lab.write("escape.ipynb", SETUP, "%claw ask attack me")
    notebook = open_notebook("escape.ipynb")
    asked = []
    notebook.page.on("request", lambda request: asked.append(request.url))
    notebook.run(0)
    notebook.run(1)
    expect(notebook.output(1)).to_contain_text("<script>")
    expect(notebook.output(1).locator(".claw img, .claw script")).to_have_count(0)
    expect(notebook.output(1).locator('a[href^="javascript:"]')).to_have_count(0)
    assert "owned" not in notebook.page.title()
    assert not [url for url in asked if "example.invalid" in url]
