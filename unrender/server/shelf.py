"""The models that requests may name: those in the package and the one the server was started with, nothing else."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from unrender import tasks
from unrender.checkpoints.locations import list_models
from unrender.errors import ModelError, suggest
from unrender.reading.reader import Reader
from unrender.tasks import TASKS, Task


@dataclass(frozen=True)
class Offer:
    """One model, as clients see it: no path."""

    name: str
    task: str
    licence: str
    seed: str

    @property
    def usual(self) -> bool:
        """Whether it is the model that reads for its task when none is named."""
        task = TASKS.get(self.task)
        return task is not None and task.default_model == self.name


class Shelf:
    """Opens each model once, when it is first asked for."""

    def __init__(self, default: Reader, offers: Iterable[Offer] = (), *, chooses: bool = False) -> None:
        self.chooses = chooses  # the task of a picture is found out by looking where nobody says it
        own = Offer(default.name, default.config.task, default.config.licence, default.config.seed)
        self.default = default
        others = (offer for offer in offers if offer.name != own.name)
        self.offers = (own, *sorted(others, key=lambda offer: not offer.usual))
        self._readers = {default.name: default}
        self._variants: dict[tuple[str, str], Reader] = {}
        self._lock = threading.Lock()

    @classmethod
    def open(cls, model: str | None = None) -> "Shelf":
        """Open the default model; a ModelError says what is wrong with it."""
        offers = [
            Offer(entry.name, entry.task, entry.licence, entry.seed)
            for entry in list_models()
            if Path(entry.where).is_dir()
        ]
        default = Reader.open(model)
        if default.name not in [offer.name for offer in offers]:
            default = Reader(default.system)  # a folder is known by its model's name, not by its path
        return cls(default, offers, chooses=model is None)

    @property
    def names(self) -> tuple[str, ...]:
        """Every model a request may name: the default first, then those that read when none is named."""
        return tuple(offer.name for offer in self.offers)

    def find(self, model: str | None, task: str | None) -> Reader:
        """Return the reader for a model and a task; one without the other implies it."""
        wanted = tasks.find(task) if task else None
        name = model or self._name_for(wanted)
        with self._lock:
            reader = self._open(name)
            if wanted is None or wanted.name == reader.task.name:
                return reader
            if (name, wanted.name) not in self._variants:
                self._variants[name, wanted.name] = reader.for_task(wanted)
            return self._variants[name, wanted.name]

    def offers_task(self, task: str) -> bool:
        """Say whether there is a model that reads for a task."""
        return task == self.default.task.name or tasks.find(task).default_model in self.names

    def _name_for(self, wanted: Task | None) -> str:
        """Return the model for a task: the one this server was started with, if it reads that."""
        if wanted is None or wanted.name == self.default.task.name or wanted.default_model not in self.names:
            return self.default.name
        return wanted.default_model

    def _open(self, name: str) -> Reader:
        if name not in self.names:
            raise ModelError(f"This server has no model called {name}; {suggest(name, self.names)}")
        if name not in self._readers:
            self._readers[name] = Reader.open(name)
        return self._readers[name]
