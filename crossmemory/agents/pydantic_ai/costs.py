"""What an answer cost, as it is stored with the run."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.usage import RequestUsage


def counted(model: str, messages: Sequence[ModelMessage]) -> dict[str, Any]:
    """Tokens, cost and one entry per request to the model.

    `input_tokens` includes what came from the cache. `cost` is in US dollars, by the price list that ships with
    Pydantic AI; absent where it has no price for the model.
    """
    responses = [message for message in messages if isinstance(message, ModelResponse)]
    total, cost = RequestUsage(), Decimal(0)
    for response in responses:
        total += response.usage
        cost += response.usage.cost or 0
    found: dict[str, Any] = {
        "model": model,
        "requests": len(responses),
        "input_tokens": total.input_tokens,
        "output_tokens": total.output_tokens,
        "cache_read_tokens": total.cache_read_tokens,
        "cache_write_tokens": total.cache_write_tokens,
        "tool_calls": sum(len(response.tool_calls) for response in responses),
        "steps": [_step(response) for response in responses],
    }
    if cost:
        found["cost"] = str(cost)
    return found


def _step(response: ModelResponse) -> dict[str, Any]:
    return {
        "model": response.model_name,
        "input_tokens": response.usage.input_tokens,
        "output_tokens": response.usage.output_tokens,
        "cache_read_tokens": response.usage.cache_read_tokens,
        "finish": response.finish_reason,
        "tools": [part.tool_name for part in response.tool_calls],
    }
