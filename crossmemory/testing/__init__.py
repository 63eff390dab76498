"""What the tests of a site can import: `factories` (needs factory-boy) and `agents`, the contract of an agent."""
