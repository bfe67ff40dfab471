"""What a store says when it cannot do something."""

import pytest

import lastblock as lb


def said(action):
    """The one line of the `StoreError` that an action raises."""
    with pytest.raises(lb.StoreError) as caught:
        action()
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
    return str(caught.value)
