"""How a declared endpoint is executed: route, authentication, parameters, errors, idempotency, OpenAPI."""
