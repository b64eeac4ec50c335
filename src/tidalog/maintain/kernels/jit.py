"""The compiler of these kernels."""

from __future__ import annotations

from pathlib import Path

from tidalog.engine.jit import compiler

compiled = compiler(Path(__file__).parent)
