"""All classes that a user may add to: what a scenario file can name."""

from lastblock.families import FAMILIES
from lastblock.protocol import DETECTORS, POLICIES

REGISTRIES = (POLICIES, DETECTORS, FAMILIES)
