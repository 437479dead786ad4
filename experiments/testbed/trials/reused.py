"""A network that trials reuse, built anew when nobody knows its state any more."""

from __future__ import annotations

import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Protocol, TypeVar

from emulation.network import EmulatedNetwork
from experiments.campaign.values import Json, TestbedSettings, Trial
from experiments.testbed.runs.parts import require_programs
from experiments.testbed.trials.returning import Return


class HasNetwork(Protocol):
    """A testbed: a network that is up, and what watches it."""

    @property
    def network(self) -> EmulatedNetwork:
        """The network."""


TestbedT = TypeVar("TestbedT", bound=HasNetwork)


class ReusedSession(ABC, Generic[TestbedT]):
    """A network that stays up while trials with one session key run on it; entered and left as a context.

    A network that does not return to its plans after a trial is built anew before the next.

    Parameters
    ----------
    trial
        The first; it says which network is needed.
    """

    def __init__(self, trial: Trial, settings: TestbedSettings) -> None:
        self._first, self._settings = trial, settings
        self._stack = ExitStack()
        self._testbed: TestbedT | None = None

    @abstractmethod
    def _build(self, trial: Trial, folder: Path) -> AbstractContextManager[TestbedT]:
        """What builds the testbed of a trial; `folder` is its own."""

    @abstractmethod
    def _measure(self, testbed: TestbedT, trial: Trial, _folder: Path) -> tuple[Json, Return]:
        """Row of a trial, and how the network returned; the folder goes with the trial."""

    def __enter__(self) -> ReusedSession[TestbedT]:
        """Build the network.

        Raises
        ------
        MissingRequirementError
            Networks cannot be emulated or measured here.
        """
        require_programs()
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Undo everything."""
        self._stack.close()

    def run(self, trial: Trial) -> Json:
        """Row of one trial."""
        testbed = self._testbed or self._open()
        with tempfile.TemporaryDirectory(dir=self._settings.work) as name:
            self._testbed = None  # whatever goes wrong from here on, nobody knows the state of the network
            row, restored = self._measure(testbed, trial, Path(name))
        # A network counts restarts since it was built: each later trial would be judged by them.
        if not restored.wrong and not testbed.network.restarts:
            self._testbed = testbed
        returned = {"seconds": round(restored.seconds, 3), "wrong": restored.wrong or None}
        return {**row, "bfd_interval_ms": testbed.network.bfd_interval_ms, "returned": returned}

    def _open(self) -> TestbedT:
        self._stack.close()
        folder = Path(tempfile.mkdtemp(dir=self._settings.work))
        self._stack.callback(shutil.rmtree, folder)
        testbed = self._stack.enter_context(self._build(self._first, folder))
        self._testbed = testbed
        return testbed


class ReusedRunner:
    """Runs trials on networks that they reuse; a `Runner` of experiments.campaign.act.engine."""

    def __init__(self, session_class: type[ReusedSession[Any]], settings: TestbedSettings) -> None:
        self._session_class, self._settings = session_class, settings

    @contextmanager
    def session(self, trial: Trial) -> Iterator[Callable[[Trial], Json]]:
        """Build the network that `trial` needs; what is given runs it, and others with the same session key."""
        with self._session_class(trial, self._settings) as session:
            yield session.run
