"""`State`: what a database replaces as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidalog.analysis import Analysis, EditedProgram, RuleDiff, analyse
from tidalog.api.load import Environment, Witness
from tidalog.api.maintenance import Maintenance
from tidalog.engine.engine import EmbeddedEngine
from tidalog.engine.limits import RunStats
from tidalog.maintain.windows.windows import Windows
from tidalog.model.errors import Diagnostic
from tidalog.model.program import Fact, Program
from tidalog.model.registered import NO_QUERIES, Registered


@dataclass(frozen=True)
class State:
    """Immutable: to roll back is to keep the old one."""

    program: Program = field(default_factory=Program)
    analysis: Analysis = field(default_factory=lambda: analyse(Program()))
    environment: Environment = field(default_factory=Environment)
    warnings: tuple[Diagnostic, ...] | None = None
    """About the program; None: found on demand."""
    witnesses: Mapping[Witness, Fact] = field(default_factory=dict)
    engine: EmbeddedEngine = field(default_factory=EmbeddedEngine)
    rules: EditedProgram | None = None
    """The rules by name; None until they are needed after the program has changed as a whole."""
    admitted: tuple[Fact, ...] = ()
    """Witnesses that came after `rules` was built or edited; its next edit adds them."""
    edit: RuleDiff | None = None
    """The last edit of `rules`."""
    run: RunStats | None = None
    """Figures of the materialisation; None if there is none or it is out of date."""
    maintenance: Maintenance | None = None
    windows: Windows = field(default_factory=Windows)
    """The windows of the program, and their time."""
    violated: frozenset[str] = frozenset()
    """The constraints that are violated: time has done that, which cannot be refused."""
    registered: Registered = NO_QUERIES
    """The continuous queries; their rules and windows are in the program."""
    tabled: bool = True
    """Whether the table has all facts; those of a snapshot enter it before the first change."""
    epoch: int = 0
    """How often everything derived went out of date."""
