"""Local servers that speak the wire formats of model providers, for real SDKs to talk to."""

from tests.support.providers.server import Answer, Failure, Provider, Received

__all__ = ["Answer", "Failure", "Provider", "Received"]
