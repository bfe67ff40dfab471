import pytest

from lastblock.support.lists import refuse_unordered


@pytest.mark.parametrize("value", ["red", b"red", {"red"}, frozenset({"red"}), {"red": 1}])
def test_what_is_no_list_is_refused(value):
    words = f"is a {type(value).__name__}; give a list of labels"
    with pytest.raises(ValueError, match=words) as caught:
        refuse_unordered(value, "arms")
    assert str(caught.value).startswith(f"arms={value!r}")


@pytest.mark.parametrize("value", [["red"], ("red",), range(3), 3, None])
def test_lists_and_other_things_pass(value):
    refuse_unordered(value, "arms")
