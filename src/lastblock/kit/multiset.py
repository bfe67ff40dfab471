"""Every reward of an arm as a multiset: those equal to 0 or 1 are counted, the others are kept.

=====================  ============================================================================
`atoms_dtype`          the type of the field: any number of zeros and ones, so many other rewards
`clear`                forget everything
`append`               add a reward; it must fit
`size`                 how many rewards the arm has had
`held`                 plain Python: what the method ``held`` of a policy returns
`is_full`              whether one more reward might not fit: return it from the method `full`
=====================  ============================================================================
"""

from lastblock.core.multiset import append, atoms_dtype, clear, held, is_full, size

__all__ = ["append", "atoms_dtype", "clear", "held", "is_full", "size"]
