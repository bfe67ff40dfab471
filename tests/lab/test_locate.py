"""The line of a key in a TOML document."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastblock.lab.scenario_files.locate import locate

# Every line that ends in a mark, «name», holds the key or element of that name in PATHS.
MARKED = r'''
# horizon = 1
horizon = 10  # seed = 2 «horizon»
title = "[policies] # a = 1"  # «title»
"quoted key" = 'C:\' # «quoted»
"t\u00eate \"#\"" = "\"]#"  # «escaped»
text = """
seed = 3
[arms]
\""" still text """"
seed = 4  # «seed»
raw = \'\'\'
a = 1
\'\'\'\'
empty = ""  # «empty»
blank = """"""
site . "google.com" = true  # «dotted»
numbers = [  # «array»
    1, 2,  # three = 3
    # [4]
    [5,  # «nested»
     6],  # «element»
    { a = 7, b = [  # «pair»
        8,
        9] },  # «deepest»
]
inline = { x = 1, y.z = "}", "w" = { v = 2 } }  # «inline»
when = 1979-05-27 07:32:00  # «when»

[arms]  # «table»
family = "Bernoulli"
mean.centre = 0.5  # «path»

[ arms . "mean" . more ]  # «header»
deep = 1

[[policies]]  # «first»
policy = "A"
  [policies.inner]
  window = 5  # «inner»
  [[policies.rows]]
  n = 1
  [[policies.rows]]  # «row»
  n = 2  # «cell»

[[policies]]  # «second»
policy = "B"
[[policies.rows]]
n = 3  # «other cell»
[policies.inner]
window = 6  # «other inner»
'''.replace(r"\'", "'")

PATHS = {
    "horizon": ("horizon",),
    "title": ("title",),
    "quoted": ("quoted key",),
    "escaped": ('tête "#"',),
    "seed": ("seed",),
    "empty": ("empty",),
    "dotted": ("site", "google.com"),
    "array": ("numbers",),
    "nested": ("numbers", 2, 0),
    "element": ("numbers", 2, 1),
    "pair": ("numbers", 3, "a"),
    "deepest": ("numbers", 3, "b", 1),
    "inline": ("inline", "w", "v"),
    "when": ("when",),
    "table": ("arms",),
    "path": ("arms", "mean", "centre"),
    "header": ("arms", "mean", "more"),
    "first": ("policies", 0),
    "inner": ("policies", 0, "inner", "window"),
    "row": ("policies", 0, "rows", 1),
    "cell": ("policies", 0, "rows", 1, "n"),
    "second": ("policies", 1),
    "other cell": ("policies", 1, "rows", 0, "n"),
    "other inner": ("policies", 1, "inner", "window"),
}


def marked_line(name):
    return 1 + MARKED[: MARKED.index(f"«{name}»")].count("\n")


def value_at(path):
    value = tomllib.loads(MARKED)
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize("name", PATHS)
def test_a_key_is_found_on_its_line(name):
    value_at(PATHS[name])  # such a key exists
    assert locate(MARKED, PATHS[name]) == marked_line(name)


@pytest.mark.parametrize("name", PATHS)
def test_line_ends_of_windows_change_nothing(name):
    assert locate(MARKED.replace("\n", "\r\n"), PATHS[name]) == marked_line(name)


@pytest.mark.parametrize(
    ("path", "enclosing"),
    [
        (("policies", 1, "windw"), "second"),
        (("policies", 1, "inner", "window", "tuning"), "other inner"),
        (("numbers", 3, "c"), "pair"),
        (("arms", "std"), "table"),
    ],
)
def test_what_is_missing_is_where_it_would_be(path, enclosing):
    assert locate(MARKED, path) == marked_line(enclosing)


def test_what_has_no_place_is_on_the_first_line():
    assert locate(MARKED, ("nothing",)) == 1
    assert locate("", ("nothing",)) == 1
    assert locate(MARKED, ()) == 1


def test_a_last_line_without_an_end():
    assert locate("a = 1\nb = 2 # end", ("b",)) == 2
    assert locate("a = [1,\n2]", ("a", 1)) == 2


texts = st.text(alphabet="ab .#=\"'[]{},\\\n\t", max_size=8)
values = st.recursive(
    st.integers() | st.booleans() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=12,
)


def basic(text):
    """A TOML string with whatever it takes."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return '"' + quoted.replace("\n", "\\n") + '"'


def write(value, lines, path, places):
    """A value as TOML on as many lines as it takes, and the line of everything in it."""
    if isinstance(value, bool):
        lines[-1] += str(value).lower()
    elif isinstance(value, int):
        lines[-1] += str(value)
    elif isinstance(value, str):
        lines[-1] += basic(value)
    elif isinstance(value, list):
        lines[-1] += "["
        for i, item in enumerate(value):
            lines.append('  # ] { = quote: "')
            lines.append("")
            places[(*path, i)] = len(lines)
            write(item, lines, (*path, i), places)
            lines[-1] += ","
        lines[-1] += "]"
    else:
        lines[-1] += "{"
        for i, (key, item) in enumerate(value.items()):
            lines[-1] += (", " if i else "") + basic(key) + " = "
            places[(*path, key)] = len(lines)
            write(item, lines, (*path, key), places)
        lines[-1] += "}"


@given(st.dictionaries(texts, values, max_size=4))
def test_any_document_is_walked_to_its_end(document):
    lines, places = [""], {}
    for key, value in document.items():
        lines.append(f"{basic(key)} = ")
        places[(key,)] = len(lines)
        write(value, lines, (key,), places)
    text = "\n".join(lines)
    assert tomllib.loads(text) == document
    assert {path: locate(text, path) for path in places} == places
