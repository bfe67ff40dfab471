"""All registries to which a user can add classes, and whose names a scenario file can use."""

from lastblock.core.families import FAMILIES
from lastblock.core.registry import DETECTORS, POLICIES

REGISTRIES = (POLICIES, DETECTORS, FAMILIES)
