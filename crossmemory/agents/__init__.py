"""Agents by alias: `agents["default"]`."""

from crossmemory.agents.base import (
    Agent,
    AgentError,
    Decided,
    NeedsApproval,
    Note,
    Output,
    Request,
    Text,
    ToolDone,
    ToolUse,
    Usage,
)
from crossmemory.agents.searching import search_memory
from crossmemory.agents.tools import Unkept, tool
from crossmemory.backends import Aliases

agents: Aliases[Agent] = Aliases("AGENTS")

__all__ = [
    "Agent",
    "AgentError",
    "Decided",
    "NeedsApproval",
    "Note",
    "Output",
    "Request",
    "Text",
    "ToolDone",
    "ToolUse",
    "Unkept",
    "Usage",
    "agents",
    "search_memory",
    "tool",
]
