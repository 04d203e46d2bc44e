"""The fixtures of these tests; tests/support defines them."""

from tests.support.races.deployments import (
    deployment,
    deployments,
    largest_batch,
    mutant_batch,
    mutant_deployment,
    mutant_deployments,
    mutant_race_studio,
    race_studio,
)

__all__ = [
    "deployment",
    "deployments",
    "largest_batch",
    "mutant_batch",
    "mutant_deployment",
    "mutant_deployments",
    "mutant_race_studio",
    "race_studio",
]
