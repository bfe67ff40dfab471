"""Naive twins of the policies: plain lists and loops, straight from the paper.

The twins import nothing of the library. Their sums are correctly rounded from all terms, so that
equal sums compare equal whatever the order of their terms.
"""
