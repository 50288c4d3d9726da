import pytest

from claw_nb.core.errors import InvalidInput
from claw_nb.core.records import Memory

DAY = 86_400_000_000
NOW = 1_790_000_000_000_000

NOTES = {
    "port": "The staging database lives at db-staging.internal:5433.",
    "user": "The function get_user_by_id returns None for soft-deleted accounts.",
    "pdf": "parseInvoicePdf crashes on password-protected files.",
    "export": "The nightly export job fails when the disk is more than 90 percent full.",
    "lunch": "Ada is allergic to peanuts and asked for a vegetarian lunch.",
    "theme": "用户喜欢用深色主题，并且要求所有图表使用色盲友好的配色。",
    "logs": "生产环境的日志保留三十天。",
    "invoice": "請求書の締め日は毎月二十五日です。",
    "travel": "Frau Müller genehmigt Reisekosten bis 800 Euro.",
    "cache": "La caché se borra cada noche a las tres.",
    "korean": "회의는 매주 화요일에 열린다.",
    "russian": "Отчёт отправляется в понедельник.",
}


@pytest.fixture
def noted(memories):
    memories.add_many([Memory(id=name, text=text) for name, text in NOTES.items()])
    return memories


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("where is the staging database?", "port"),
        ("get_user_by_id", "user"),
        ("get user by id", "user"),
        ("parse invoice", "pdf"),
        ("parseinvoicepdf", "pdf"),
        ("nighly exprot job fials", "export"),
        ("vegatarian lucnh", "lunch"),
        ("allerg", "lunch"),
        ("色盲友好", "theme"),
        ("日志", "logs"),
        ("請求書の締め日はいつですか", "invoice"),
        ("wer genehmigt die Reisekosten", "travel"),
        ("Muller", "travel"),
        ("¿cuándo se borra la cache?", "cache"),
        ("화요일 회의", "korean"),
        ("когда отправляется отчет", "russian"),
    ],
)
def test_a_note_is_found_without_any_model(noted, question, found):
    first = noted.search(question)[0]
    assert (first.id, first.weak) == (found, False)


def test_no_note_is_found_for_what_none_of_them_holds(noted):
    assert noted.search("zzyzx qqq") == ()


def test_a_chance_likeness_is_shown_but_called_weak(noted):
    hits = noted.search("how tall is the Eiffel tower in Paris")
    assert hits
    assert all(hit.weak for hit in hits)


def test_question_words_do_not_outweigh_the_matter(memories):
    memories.add("What is done is done, and who did it when is not the question.")
    memories.add("Penguins were counted on three islands.")
    assert memories.search("who counted what on the islands, and when?")[0].text.startswith("Peng")


def test_every_hit_says_why(noted):
    (hit,) = noted.search("nightly export job", limit=1)
    assert set(hit.why) == {"words", "ngrams", "neighbours"}
    assert sum(hit.why.values()) == pytest.approx(hit.score, abs=0.001)
    assert 0.3 < hit.score <= 1


def test_a_hit_carries_its_source(memories):
    memories.add("Ice is thin.", category="decision", tags=["ice"], source="agent", session_id="s")
    (hit,) = memories.search("ice")
    assert (hit.category, hit.tags, hit.source, hit.session_id, hit.created) == (
        "decision",
        ("ice",),
        "agent",
        "s",
        "2026-09-21T14:13:20+00:00",
    )


def test_filters_narrow_the_search(memories):
    memories.add("Tea at four.", category="preference", tags=["tea"], session_id="a")
    memories.add("Tea at five.", session_id="b")
    found = {
        name: [hit.text for hit in memories.search("tea", **given)]
        for name, given in {
            "category": {"category": "preference"},
            "tag": {"tag": "tea"},
            "session": {"session_id": "b"},
            "limit": {"limit": 1},
        }.items()
    }
    assert found == {
        "category": ["Tea at four."],
        "tag": ["Tea at four."],
        "session": ["Tea at five."],
        "limit": [found["limit"][0]],
    }


def test_a_tag_is_found_like_a_word_of_the_text(memories):
    memories.add("It is 19.9 mm on average.", tags=["flipper"])
    memories.add("It is 20.1 mm on average.", tags=["beak"])
    assert memories.search("flipper")[0].tags == ("flipper",)


def test_as_of_asks_at_an_earlier_moment(memories, clock):
    memories.add("Deploys go out on Fridays.")
    clock.forward(days=30)
    memories.add("Deploys moved to Tuesday.")
    early = memories.search("deploys", as_of=NOW + DAY)
    assert [hit.text for hit in early] == ["Deploys go out on Fridays."]
    assert len(memories.search("deploys")) == 2


def test_age_takes_a_little_from_facts_and_nothing_from_preferences(memories):
    for colour, category, days in (
        ("green", "preference", 400),
        ("black", "fact", 400),
        ("white", "fact", 0),
    ):
        memories.add(f"{colour} tea", category=category, created_at=NOW - days * DAY)
    hits = {hit.text.split()[0]: hit for hit in memories.search("tea")}
    assert {colour: hit.why.get("age", 0) < 0 for colour, hit in hits.items()} == {
        "green": False,
        "black": True,
        "white": False,
    }
    assert 0.85 < hits["black"].score / hits["green"].score < 0.95


def test_the_newer_of_two_notes_comes_first(memories):
    memories.add("The deploy day is Friday.", created_at=NOW - 200 * DAY)
    memories.add("The deploy day is Sunday.", created_at=NOW)
    assert memories.search("deploy day")[0].text == "The deploy day is Sunday."


def test_an_answer_is_found_by_the_question_before_it(memories):
    said = [
        ("Ben", "Nice weather today."),
        ("Ada", "Which island has the most Gentoo penguins?"),
        ("Ben", "Biscoe, by far."),
        ("Ada", "Thanks, see you."),
        ("Ben", "Bye!"),
    ]
    memories.add_many(
        Memory(id=f"t{at}", text=text, speaker=who, session_id="talk", position=at)
        for at, (who, text) in enumerate(said)
    )
    question, answer = memories.search("on which island are most Gentoo penguins", limit=2)
    assert (question.id, answer.id, answer.weak) == ("t1", "t2", False)
    assert answer.why["neighbours"] > answer.why["words"]


def test_the_speaker_who_is_asked_about_comes_first(memories):
    for at, who in enumerate(("Ada", "Ben")):
        memories.add("I went to the ice shelf.", speaker=who, session_id="s", position=2 * at)
    assert "speaker" in memories.search("When did Ben go to the ice shelf?")[0].why


def test_hits_do_not_repeat_each_other(memories):
    memories.add("Penguin colony alpha was counted in March by the east team.")
    memories.add("Penguin colony alpha was counted in March by the east team again.")
    memories.add("Penguin colony beta needs another fence before the winter.")
    texts = [hit.text for hit in memories.search("penguin colony", limit=2)]
    assert "Penguin colony beta needs another fence before the winter." in texts


def test_what_another_process_adds_is_found_at_once(remembering):
    here, there = remembering(), remembering()
    here.add("One penguin.")
    assert len(here.search("penguin")) == 1
    kept = there.add("Two penguins.")
    assert len(here.search("penguin")) == 2
    there.remove(kept.id)
    assert len(here.search("penguin")) == 1


def test_an_empty_question_is_explained(memories):
    with pytest.raises(InvalidInput, match="nothing was asked"):
        memories.search(" ")
    with pytest.raises(InvalidInput, match="above 0"):
        memories.search("x", limit=0)
