"""Language models of OpenAI, Anthropic, Google and every server that speaks like OpenAI's, through Pydantic AI.

Needs the extra `ai`. The SDKs are imported when the first answer is written, not before.
"""

from crossmemory.agents.pydantic_ai.agent import PydanticAIAgent

__all__ = ["PydanticAIAgent"]
