"""The compiler of this folder's kernels, whose cache is named by the engine's sources and by theirs."""

from __future__ import annotations

from pathlib import Path

from tidalog.engine.jit import compiler

compiled = compiler(Path(__file__).parent)
