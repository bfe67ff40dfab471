"""All classes that a user may add to: what a scenario file can name."""

from lastblock.core.families import FAMILIES
from lastblock.core.registry import DETECTORS, POLICIES

REGISTRIES = (POLICIES, DETECTORS, FAMILIES)
