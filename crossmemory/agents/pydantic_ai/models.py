"""From `provider:name` to a model with its client."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.models import Model

#: environment variables where a provider's key is looked for
KEYS: Mapping[str, Sequence[str]] = {
    "openai": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
}


def split(model: str) -> tuple[str, str]:
    """The provider and the model's name. Raises ValueError."""
    provider, colon, name = model.partition(":")
    if not colon or not provider or not name:
        raise ValueError(f"{model!r} is not `provider:name`, such as openai:gpt-5.6-luna.")
    return provider, name


def key_of(provider: str, api_key: str) -> str:
    """The key that will be used: the option, or the environment's."""
    return api_key or next((key for name in KEYS.get(provider, ()) if (key := os.environ.get(name))), "")


def connect(model: str, base_url: str, api_key: str) -> Model:
    """The model with a client of its own. A server at `base_url` may need no key.

    Providers without a class here are found by Pydantic AI itself, which reads their keys from the environment.
    """
    provider, name = split(model)
    options: dict[str, Any] = {"api_key": key_of(provider, api_key) or ("none" if base_url else None)}
    if base_url:
        options["base_url"] = base_url
    match provider:
        case "openai":
            from pydantic_ai.models.openai import OpenAIChatModel
            from pydantic_ai.providers.openai import OpenAIProvider

            return OpenAIChatModel(name, provider=OpenAIProvider(**options))
        case "openai-responses":
            from pydantic_ai.models.openai import OpenAIResponsesModel
            from pydantic_ai.providers.openai import OpenAIProvider

            return OpenAIResponsesModel(name, provider=OpenAIProvider(**options))
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel
            from pydantic_ai.providers.anthropic import AnthropicProvider

            return AnthropicModel(name, provider=AnthropicProvider(**options))
        case "google":
            from pydantic_ai.models.google import GoogleModel
            from pydantic_ai.providers.google import GoogleProvider

            return GoogleModel(name, provider=GoogleProvider(**options))
    from pydantic_ai.models import infer_model

    return infer_model(model)
