"""Runs: one turn of the agent, carried out by the runner behind the RUNNER setting."""

from crossmemory.runs.base import Runner, leave_to_others, runner, wake

__all__ = ["Runner", "leave_to_others", "runner", "wake"]
