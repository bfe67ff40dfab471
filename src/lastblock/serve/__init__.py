"""The HTTP service: bandits of a store for programs in any language."""
