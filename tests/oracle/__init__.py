"""Naive twins of the policies: plain lists and loops, straight from the paper.

Nothing here imports the library. Sums are correctly rounded from all their terms, so that equal sums
compare equal whatever the order of their terms.
"""
