"""Where answers are recorded, and whom a recording says it was."""

from dataclasses import replace

import pytest

from claw_nb import config
from claw_nb.core.messages import Message, Text, user
from claw_nb.core.protocols import ModelRequest, Reply
from claw_nb.providers.replay import RecordingProvider, ReplayProvider
from claw_nb.workspace.models import Models


@pytest.fixture
def models(home, tmp_path):
    return Models(home=home, root=tmp_path, env={})


def settings(home, **given):
    return replace(config.load(home, env={}), **given)


def test_it_is_beside_the_notebook_in_the_run_of_a_task_or_in_the_home(models, home, tmp_path):
    def place(key, env=None):
        return (
            replace(models, env=env or {}).taped(settings(home, replay="record"), key=key).cassette
        )

    assert place(f"{tmp_path}/a/tour.ipynb") == f"{tmp_path}/a/tour.cassette.jsonl"
    assert place("tour.ipynb") == f"{tmp_path}/tour.cassette.jsonl"
    assert place("any", {"CLAW_RUN_ID": "r1"}) == f"{home}/runs/r1/cassette.jsonl"
    assert place("cli:/work").startswith(f"{home}/cassettes/work-")
    assert place("cli:/a/work") != place("cli:/b/work")


def test_a_place_of_ones_own_goes_before(models, home):
    chosen = settings(home, replay="record", cassette="tapes/mine.jsonl")
    assert models.taped(chosen, key="tour.ipynb").cassette == "tapes/mine.jsonl"


def test_nothing_is_recorded_unasked(models, home):
    assert models.taped(settings(home), key="tour.ipynb") == settings(home)
    recording = settings(home, record_tasks=True)
    assert models.taped(recording, key="nb").replay == "off"
    in_a_task = replace(models, env={"CLAW_RUN_ID": "r1"})
    assert in_a_task.taped(recording, key="nb").replay == "record"


async def test_what_is_played_back_goes_by_the_model_that_answered(models, home, tmp_path):
    recording = models.taped(settings(home, replay="record"), key="tour.ipynb")
    recorder = models.make(recording)
    assert isinstance(recorder, RecordingProvider)
    request = ModelRequest(model="claude-x", system="", messages=(user("what can you do?"),))
    replies = [event async for event in recorder.stream(request) if isinstance(event, Reply)]
    playing = models.taped(settings(home, replay="strict", provider="anthropic"), key="tour.ipynb")
    assert playing.model == "claude-x"
    # No key is set, and none is needed.
    player = models.make(playing)
    assert isinstance(player, ReplayProvider)
    again = [event async for event in player.stream(request) if isinstance(event, Reply)]
    assert [r.message.text for r in again] == [r.message.text for r in replies]
    assert isinstance(again[0].message, Message)
    assert isinstance(again[0].message.parts[0], Text)
